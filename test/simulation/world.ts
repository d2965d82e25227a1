/**
 * The simulated machine: its clock, its timers, and which of the things that are due happens first. Everything follows
 * from the random numbers it is given.
 */
import type { System } from "../../src/runtime/system.ts";
import type { Random } from "../faults/random.ts";

interface Due {
  readonly at: number;
  readonly regular: boolean;
  readonly run: () => void;
}

export interface World {
  readonly random: Random;
  /** Milliseconds since the beginning. */
  readonly now: () => number;
  /** `regular`: it comes again and again, and says nothing about whether all is at rest. */
  readonly later: (
    ms: number,
    run: () => void,
    options?: { readonly regular?: boolean },
  ) => { readonly cancel: () => void };
  readonly pause: (ms: number) => Promise<void>;
  /** Sets the wall clock; the time that has passed stays as it is. */
  readonly setClock: (offsetMs: number) => void;
  /** `counted`: timers count the time of the sleep, and those that were due then fire late. */
  readonly sleep: (options: { readonly ms: number; readonly counted: boolean }) => void;
  readonly wall: () => number;
  /** Like `now`, without the time of sleep, except for the little of it that a daemon cannot notice. */
  readonly awake: () => number;
  /** Lets things happen until nothing is due any more: true; or false after so many. */
  readonly runOut: (limit: number) => Promise<boolean>;
}

const BEGINNING = Date.UTC(2026, 0, 1);
/** All is at rest when nothing else was due so many times when something regular came. */
const QUIET = 3;
/** Something regular comes ever more rarely, up to this: a machine that was busy, or asleep, is late. */
const RAREST_MS = 600_000;
/** Things due within this time of each other happen in any order. */
const SLACK_MS = 2;

/** The longest timer of a session, and what it may be late. */
const UNNOTICED_MS = 61_000;

export function openWorld(random: Random): World {
  let now = 0;
  let offset = 0;
  let slept = 0;
  const due: Due[] = [];
  const later: World["later"] = (ms, run, { regular = false } = {}) => {
    const one = { at: now + ms, run, regular };
    due.push(one);
    return {
      cancel() {
        const index = due.indexOf(one);
        if (index >= 0) due.splice(index, 1);
      },
    };
  };
  const takeNext = (): Due | undefined => {
    let first = Number.POSITIVE_INFINITY;
    for (const { at } of due) first = Math.min(first, at);
    const ready = due.filter(({ at }) => at <= first + SLACK_MS);
    const next = ready[random.integer(ready.length)];
    if (next !== undefined) due.splice(due.indexOf(next), 1);
    return next;
  };
  return {
    random,
    now: () => now,
    later,
    pause: (ms) => new Promise((resolve) => later(ms, resolve)),
    setClock(offsetMs) {
      offset = offsetMs;
    },
    sleep({ ms, counted }) {
      if (!counted) offset += ms;
      else {
        now += ms;
        slept += Math.max(0, ms - UNNOTICED_MS);
      }
    },
    awake: () => now - slept,
    wall: () => BEGINNING + offset + now,
    async runOut(limit) {
      await allSettled();
      let quiet = 0;
      for (let count = 0; count < limit; count += 1) {
        const next = takeNext();
        if (next === undefined) return true;
        if (next.regular && due.every(({ regular }) => regular)) quiet += 1;
        if (quiet > QUIET) {
          due.push(next);
          return true;
        }
        now = Math.max(now, next.at);
        next.run();
        await allSettled();
      }
      return false;
    },
  };
}

/** Resolves when no promise has anything left to do: none of them waits for anything but this world. */
const allSettled = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

/** One life of the daemon's process: from its start to its crash or its end, after which it does nothing any more. */
export interface Life {
  readonly number: number;
  readonly isAlive: () => boolean;
  /** Counts an effect on the world outside. False when the process is dead by then: it must not take place. */
  readonly act: () => boolean;
  readonly die: () => void;
  /** Resolves at its death. */
  readonly died: Promise<{ readonly type: "lost" }>;
  /** It dies before its n-th effect from now. */
  readonly dieBefore: (effects: number) => void;
  /** It does not die any more. */
  readonly spare: () => void;
  readonly system: System;
}

export interface LifeOptions {
  readonly world: World;
  readonly number: number;
  readonly onDeath: () => void;
}

export function startLife({ world, number, onDeath }: LifeOptions): Life {
  let alive = true;
  let left = Number.POSITIVE_INFINITY;
  let ids = 0;
  let announce = (): void => {};
  const died = new Promise<{ readonly type: "lost" }>((resolve) => {
    announce = () => resolve({ type: "lost" });
  });
  const die = (): void => {
    if (!alive) return;
    alive = false;
    announce();
    onDeath();
  };
  const whileAlive = (run: () => void) => (): void => {
    if (alive) run();
  };
  return {
    number,
    isAlive: () => alive,
    act() {
      left -= 1;
      if (left <= 0) die();
      return alive;
    },
    die,
    died,
    dieBefore(effects) {
      left = Math.min(left, effects);
    },
    spare() {
      left = Number.POSITIVE_INFINITY;
    },
    system: {
      wall: world.wall,
      elapsed: world.now,
      after: (ms, run) => world.later(ms, whileAlive(run)),
      every(ms, run) {
        let timer = { cancel: (): void => {} };
        const again = (gap: number): void => {
          timer = world.later(
            gap,
            () => {
              if (!alive) return;
              run();
              again(Math.min(gap * 2, RAREST_MS));
            },
            { regular: true },
          );
        };
        again(ms);
        return { cancel: () => timer.cancel() };
      },
      soon: (run) => void world.later(0, whileAlive(run)),
      newId() {
        ids += 1;
        return `id-${number}-${ids}`;
      },
    },
  };
}

/** What a dead process waits for. */
export const never = (): Promise<never> => new Promise(() => {});
