/** What a comparison shows of one session: its first turn, in words and numbers, and how it does beside the others. */
import type { UniversalEvent } from "../../src/protocol/events.ts";
import { foldConversation } from "./conversation.ts";
import type { Conversation } from "./conversation-state.ts";
import type { Entry, TextEntry, Turn } from "./entries.ts";
import { allTokens } from "./words.ts";

/** How the first turn began: it may be long before the events that are loaded. */
export interface Beginning {
  readonly startedAt: number;
  readonly prompt: string;
}

/** From the first events of a session; null while there is no turn. */
export function beginningOf(events: readonly UniversalEvent[]): Beginning | null {
  const { turns, entries } = foldConversation(events);
  const [turn] = turns;
  const prompt = entries.find((entry): entry is TextEntry => entry.type === "prompt");
  return turn === undefined ? null : { startedAt: turn.startedAt, prompt: prompt?.text ?? "" };
}

export interface Numbers {
  /** Only those that completed are measured against each other. */
  readonly completed: boolean;
  readonly ms: number | null;
  readonly tokens: number | null;
  readonly cost: number | null;
}

export const firstTurn = ({ turns }: Conversation): Turn | null => turns.find(({ number }) => number === 1) ?? null;

/** Of a turn that is over; what is not known is null. */
export function numbersOf(turn: Turn | null, beginning: Beginning | null): Numbers {
  const end = turn?.end ?? null;
  const usage = turn?.usage ?? null;
  return {
    completed: end?.reason === "completed",
    ms: end === null || beginning === null ? null : end.at - beginning.startedAt,
    tokens: usage === null ? null : allTokens(usage.tokens),
    cost: usage?.cost_usd ?? null,
  };
}

/** The last words of the first turn. */
export function lastWords({ entries }: Conversation): TextEntry | null {
  const end = entries.findIndex((entry) => entry.type === "end" && entry.turn.number === 1);
  const own = end === -1 ? entries : entries.slice(0, end);
  return own.findLast((entry: Entry): entry is TextEntry => entry.type === "text" && entry.text !== "") ?? null;
}

/** Whether one is better than every other; nobody is when two are equal, or only one is known. */
export function isBest(of: readonly Numbers[], at: number, key: "ms" | "tokens" | "cost"): boolean {
  const mine = of[at];
  const value = mine?.completed === true ? mine[key] : null;
  const others = of.filter((one, index) => index !== at && one.completed && one[key] !== null);
  return value !== null && others.length > 0 && others.every((one) => (one[key] ?? 0) > value);
}

/** The parts of a unified diff, by the file that each is about. */
export function diffByFile(diff: string): ReadonlyMap<string, string> {
  const parts = diff.split(/^(?=diff --git )/m).filter((part) => part.startsWith("diff --git "));
  return new Map(
    parts.flatMap((part): [string, string][] => {
      const path = /^\+\+\+ b\/(.*)$/m.exec(part)?.[1] ?? /^--- a\/(.*)$/m.exec(part)?.[1];
      return path === undefined ? [] : [[path, part]];
    }),
  );
}
