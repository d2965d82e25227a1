/** The same promises over long arbitrary histories, over restarts at any point, and over clones of the state. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { replay } from "../../src/core/fold.ts";
import { defaultPolicy, type SessionInput } from "../../src/core/input.ts";
import { openSession, type Session } from "../../src/core/session.ts";
import { emptySnapshot, snapshotFold } from "../../src/core/snapshot.ts";
import type { MachineInput } from "../../src/core/turn.ts";
import { stepMachine } from "../../src/core/turn.ts";
import type { UniversalEvent } from "../../src/protocol/events.ts";
import { UniversalEvent as EventSchema } from "../../src/protocol/events.ts";
import { promptId, sessionId } from "../../src/protocol/ids.ts";
import { plainOptions as options } from "../support/launch-options.ts";
import { transparent } from "../support/transparent.ts";
import { alphabet, inputFor, type Letter, play, startDriver } from "./driver.ts";
import { observe, startObserver } from "./invariants.ts";

const history = fc.array(fc.constantFrom<Letter>(...alphabet), { maxLength: 60, size: "max" });

describe("arbitrary histories", () => {
  test("keep every promise, and nothing stays open when the agent is gone", () => {
    fc.assert(
      fc.property(history, fc.boolean(), (letters, autoConnect) => {
        const driver = startDriver({ autoConnect, running: false });
        const observer = startObserver();
        for (const letter of letters) observe(observer, play(driver, letter) ?? []);
        driver.state.queue = [];
        observe(observer, stepMachine(driver.state, { type: "restarted", at: driver.state.at + 1 }));
        expect(observer.openTurn).toBeNull();
        expect(observer.openItems.size).toBe(0);
        expect(observer.openRequests.size).toBe(0);
      }),
      { numRuns: 500 },
    );
  });

  test("the state is plain data: a clone goes on like the original", () => {
    fc.assert(
      fc.property(history, history, (before, after) => {
        const driver = startDriver({ autoConnect: true, running: true });
        for (const letter of before) play(driver, letter);
        const clone = structuredClone(driver);
        for (const letter of after) expect(play(clone, letter)).toEqual(play(driver, letter));
      }),
      { numRuns: 100 },
    );
  });
});

/** The driver's inputs as a whole session would get them. */
function asSessionInput(input: MachineInput): SessionInput {
  if (input.type === "heard") return { type: "line", from: "agent", line: { reports: input.reports }, at: input.at };
  if (input.type === "connected") return { type: "connected", first: true, options, at: input.at };
  return input.type === "proposals" ? { type: "tick", at: input.at } : input;
}

/** Plays letters on a session; a shadow driver chooses the keys. */
function playSession(session: Session, letters: readonly Letter[]): UniversalEvent[] {
  const shadow = startDriver({ autoConnect: true, running: true });
  const events: UniversalEvent[] = [];
  for (const letter of letters) {
    const input = inputFor(shadow, letter, shadow.state.at + 1);
    if (input === null) continue;
    stepMachine(shadow.state, input);
    const output = session.step(asSessionInput(input));
    events.push(...output.events);
    if (!output.effects.some((effect) => effect.type === "connect")) continue;
    stepMachine(shadow.state, { type: "connected", folder: null, at: shadow.state.at });
    events.push(...session.step({ type: "connected", first: true, options, at: shadow.state.at }).events);
  }
  return events;
}

const open = (snapshot?: ReturnType<Session["snapshot"]>): Session =>
  openSession({
    sessionId: sessionId("s"),
    adapter: transparent,
    policy: defaultPolicy,
    connected: true,
    ...(snapshot === undefined ? {} : { snapshot }),
  });

describe("sessions", () => {
  test("events are gapless, valid and never go back in time; the snapshot is the fold of the events", () => {
    fc.assert(
      fc.property(history, (letters) => {
        const session = open();
        const events = playSession(session, letters);
        events.forEach((event, index) => {
          expect(event.sequence).toBe(index + 1);
          expect(event.event_id).toBe(`s:${index + 1}`);
          if (index > 0) expect(event.time >= (events[index - 1]?.time ?? "")).toBe(true);
          EventSchema.parse(event);
        });
        const folded = emptySnapshot();
        for (const event of events) snapshotFold.step(folded, event);
        expect(folded).toEqual(session.snapshot());
        expect(replay(snapshotFold, events)).toEqual([]);
      }),
      { numRuns: 100 },
    );
  });

  test("restarted at any point: one end per start, nothing open, sequence and ids go on", () => {
    fc.assert(
      fc.property(history, (letters) => {
        const first = open();
        const before = playSession(first, letters);
        const again = open(structuredClone(first.snapshot()));
        const at = Date.parse(before.at(-1)?.time ?? "1970-01-01T00:00:00.000Z") + 1;
        const prompt = { prompt_id: promptId("next"), text: "next", attachments: [] };
        const after = [
          ...again.step({ type: "restarted", at }).events,
          ...again.step({ type: "command", command: { type: "prompt", prompt, delivery: "queue" }, at }).events,
        ];
        const events = [...before, ...after];
        expect(events.map((event) => event.sequence)).toEqual(events.map((_, index) => index + 1));
        expect(count(events, "turn.started")).toBe(count(events, "turn.ended") + 1);
        expect(count(events, "item.started")).toBe(count(events, "item.completed"));
        const ids = events.flatMap((event) => (event.type === "item.started" ? [event.data.item.item_id] : []));
        expect(new Set(ids).size).toBe(ids.length);
        expect(again.snapshot().permissions.size).toBe(0);
      }),
      { numRuns: 200 },
    );
  });

  test("same input, same bytes", () => {
    fc.assert(
      fc.property(history, (letters) => {
        expect(JSON.stringify(playSession(open(), letters))).toBe(JSON.stringify(playSession(open(), letters)));
      }),
      { numRuns: 50 },
    );
  });
});

const count = (events: readonly UniversalEvent[], type: UniversalEvent["type"]): number =>
  events.filter((event) => event.type === type).length;
