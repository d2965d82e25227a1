/**
 * Every history of the turn machine up to a depth: the promises hold after each input, and time leads out of every
 * state.
 */
import { expect, test } from "vitest";
import { isToolAtWork } from "../../src/core/background.ts";
import type { MachineState } from "../../src/core/machine-state.ts";
import { stepMachine, wakeAt } from "../../src/core/turn.ts";
import { alphabet, bruteAlphabet, type Driver, type Letter, play, type Start, shapeOf, startDriver } from "./driver.ts";
import { type Observer, observe, startObserver } from "./invariants.ts";

const BREADTH_DEPTH = 7;
const BRUTE_DEPTH = 5;

const lazily: Start = { autoConnect: false, running: false };

interface Walk {
  readonly driver: Driver;
  readonly observer: Observer;
}

/** Plays a history from the start; null when one of its letters cannot happen. */
function walk(history: readonly Letter[], start: Start): Walk | null {
  const driver = startDriver(start);
  const observer = startObserver();
  for (const letter of history) {
    const outputs = play(driver, letter);
    if (outputs === null) return null;
    try {
      observe(observer, outputs);
    } catch (cause) {
      throw new Error(`After ${history.join(" → ")}`, { cause });
    }
  }
  return { driver, observer };
}

test(`breadth first over distinct states to depth ${BREADTH_DEPTH}`, () => {
  const seen = new Map<string, readonly Letter[]>();
  let frontier: (readonly Letter[])[] = [[]];
  let steps = 0;
  for (let depth = 0; depth < BREADTH_DEPTH; depth += 1) {
    const next: (readonly Letter[])[] = [];
    for (const history of frontier) {
      for (const letter of alphabet) {
        const longer = [...history, letter];
        const reached = walk(longer, lazily);
        if (reached === null) continue;
        steps += 1;
        const shape = shapeOf(reached.driver);
        if (seen.has(shape)) continue;
        seen.set(shape, longer);
        next.push(longer);
      }
    }
    frontier = next;
  }
  for (const history of seen.values()) expectWayOut(history);
  console.log(`turn machine: ${seen.size} distinct states, ${steps} transitions to depth ${BREADTH_DEPTH}`);
  expect(seen.size).toBeGreaterThan(300);
});

test.each([
  { how: "from a session whose agent is not there yet", running: false },
  { how: "from a running agent", running: true },
])(`brute force over all sequences to depth ${BRUTE_DEPTH}, $how`, ({ running }) => {
  let sequences = 0;
  const explore = (history: readonly Letter[]): void => {
    if (history.length > 0) {
      if (walk(history, { autoConnect: true, running }) === null) return;
      sequences += 1;
    }
    if (history.length === BRUTE_DEPTH) return;
    for (const letter of bruteAlphabet) explore([...history, letter]);
  };
  explore([]);
  console.log(
    `turn machine: ${sequences} possible sequences of ${bruteAlphabet.length} letters to depth ${BRUTE_DEPTH}`,
  );
  expect(sequences).toBeGreaterThan(10_000);
});

const MANY_TICKS = 200;
const HOUR_MS = 3_600_000;

/** A clock that is set ahead ends nothing, and leaves every wait as long as it was. */
function expectNoEffectOfClock(state: MachineState, history: readonly Letter[]): void {
  const before = wakeAt(state);
  const outputs = stepMachine(state, { type: "clock", aheadMs: 40 * HOUR_MS, at: state.at });
  if (outputs.length > 0 || wakeAt(state) !== before) throw new Error(`Not the same after ${history.join(" → ")}`);
}

/**
 * From here, time alone leads to idle, or to a person's answer with a deadline, or to a live agent whose tool is at
 * work: only that agent, its death or an abort ends the last, because silence is no proof that a tool hangs.
 */
function expectWayOut(history: readonly Letter[]): void {
  const reached = walk(history, lazily);
  if (reached === null) throw new Error("A history that was possible is not");
  const { state } = reached.driver;
  expectNoEffectOfClock(state, history);
  for (let ticks = 0; ticks < MANY_TICKS; ticks += 1) {
    const at = wakeAt(state);
    if (at === null) break;
    observe(reached.observer, stepMachine(state, { type: "tick", at }));
  }
  const idle = state.turn === null && state.requests.size === 0;
  const toolAtWork = state.connection === "open" && isToolAtWork(state) && state.turn?.end === null;
  if (!idle && !toolAtWork) throw new Error(`No way out after ${history.join(" → ")}`);
}
