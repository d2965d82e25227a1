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

export const drawJumps = (random: Random, sessions: number): ClockJumps => ({
  type: "jumps",
  session: random.integer(sessions),
  size: random.between(20, 40),
  offsetsMs: Array.from({ length: random.between(2, 8) }, () => random.between(-30 * 24, 30 * 24) * HOUR_MS),
});

/** No plan lasts as long as the watchdog waits: an agent whose turn it ends was not silent for so long. */
export const checkWatchdog = (session: string, events: readonly UniversalEvent[]): Violation[] =>
  events.flatMap((event) =>
    event.type === "error" && event.data.code === "watchdog"
      ? [{ promise: "clock", what: `${session}: the turn at ${event.sequence} was ended as if its agent were silent` }]
      : [],
  );
