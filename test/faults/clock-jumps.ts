/** The clock is set while an agent is talking: drawn here, and what must hold then. */
import type { UniversalEvent } from "../../src/protocol/events.ts";
import type { Violation } from "./checks.ts";
import type { Random } from "./random.ts";

export interface ClockJumps {
  readonly type: "jumps";
  readonly session: number;
  /** How many words the agent says meanwhile. */
  readonly size: number;
  /** How far the clock is from the real time, one after the other while the agent talks; the last one stays. */
  readonly offsetsMs: readonly number[];
}

const HOUR_MS = 3_600_000;

export function drawJumps(random: Random, sessions: number): ClockJumps {
  let hours = 0;
  const offsetsMs = Array.from({ length: random.between(10, 40) }, () => {
    // Mostly ahead of every time before: a clock that is set back and forth is ahead only once.
    hours += random.between(1, 12);
    return (random.chance(0.25) ? hours - random.between(1, 48) : hours) * HOUR_MS;
  });
  return { type: "jumps", session: random.integer(sessions), size: 40, offsetsMs };
}

/** No plan lasts as long as the watchdog waits: an agent whose turn it ends was not silent for so long. */
export const checkWatchdog = (session: string, events: readonly UniversalEvent[]): Violation[] =>
  events.flatMap((event) =>
    event.type === "error" && event.data.code === "watchdog"
      ? [{ promise: "clock", what: `${session}: the turn at ${event.sequence} was ended as if its agent were silent` }]
      : [],
  );
