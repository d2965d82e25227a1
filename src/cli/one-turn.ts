/** One turn by rule, nobody at the terminal: for commands that run a turn to look at what was said. */
import type { EventOf, UniversalEvent } from "../protocol/events.ts";
import type { NativeLine } from "../protocol/resources.ts";
import { type AnswerRule, openAnswering } from "./answering.ts";
import type { Door } from "./door.ts";
import type { Output } from "./output.ts";
import { onSignals } from "./signals.ts";

const PAGE = 1_000;
/** What is read back at the most. */
const MAX_LINES = 100_000;

export interface OneTurn {
  readonly door: Door;
  readonly id: string;
  readonly prompt: string;
  readonly rule: AnswerRule;
  readonly onEvent?: (event: UniversalEvent) => void;
  /** Fires when nobody waits for the turn any longer. */
  readonly signal: AbortSignal;
}

/** How the turn ended; null when that was not heard. Ctrl-C aborts the turn. */
export async function runTurn(turn: OneTurn): Promise<EventOf<"turn.ended"> | null> {
  const { door, id, prompt, rule, signal, onEvent } = turn;
  const stop = new AbortController();
  const output: Output = {
    event: () => {},
    say: (text) => void process.stderr.write(`franca: ${text}\n`),
    pause: () => {},
    resume: () => {},
    end: () => false,
  };
  const abort = (): void => void door.abort(id).catch(() => stop.abort());
  const release = onSignals({ interrupt: abort, terminate: abort });
  const answering = openAnswering({ door, session: id, rule, output, onCancel: abort });
  try {
    const { sequence } = await door.prompt(id, prompt);
    const until = AbortSignal.any([stop.signal, signal]);
    for await (const event of door.follow(id, { after: sequence, signal: until })) {
      answering.see(event);
      onEvent?.(event);
      if (event.type === "turn.ended") return event;
    }
    return null;
  } finally {
    answering.stop();
    release();
  }
}

export async function nativeLines(door: Door, id: string): Promise<NativeLine[]> {
  const lines: NativeLine[] = [];
  for (let hasMore = true; hasMore && lines.length < MAX_LINES; ) {
    const page = await door.native(id, { offset: lines.at(-1)?.line ?? 0, limit: PAGE });
    lines.push(...page.lines);
    hasMore = page.hasMore;
  }
  return lines;
}
