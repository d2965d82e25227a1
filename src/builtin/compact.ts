/** When a conversation is too long for its model, what of it is kept, and what the summary is asked for. Pure. */
import { type Entry, estimateEntry, textOf } from "./conversation.ts";

export interface Limits {
  readonly context: number;
  /** Where the provider bounds the input by itself. */
  readonly input?: number | undefined;
  readonly output: number;
}

export interface CompactionPolicy {
  readonly auto: boolean;
  /** Tokens kept free for the answer; the model's output limit (bounded) when absent. */
  readonly reserved?: number | undefined;
  /** Tokens of the newest conversation kept as they are. */
  readonly tail?: number | undefined;
}

const RESERVED_MAX = 32_000;
/** Beside an input limit the answer has its own room, so less is kept free. */
const RESERVED_INPUT_MAX = 20_000;
const TAIL_SHARE = 0.25;
const TAIL_MIN = 2_000;
const TAIL_MAX = 15_000;

/** Tokens the conversation may use; null when the model's limits are not known. */
export function usableTokens(limits: Limits | null, { reserved }: CompactionPolicy): number | null {
  if (limits === null) return null;
  const room = limits.input ?? limits.context;
  const kept = reserved ?? Math.min(limits.output, limits.input === undefined ? RESERVED_MAX : RESERVED_INPUT_MAX);
  return Math.max(0, room - kept);
}

export interface UsedTokens {
  readonly used: number;
  readonly limits: Limits | null;
  readonly policy: CompactionPolicy;
}

export function isOverflow({ used, limits, policy }: UsedTokens): boolean {
  const usable = usableTokens(limits, policy);
  return policy.auto && usable !== null && used > 0 && used >= usable;
}

export interface Cut {
  /** What the summary will stand for. */
  readonly head: readonly Entry[];
  /** What is kept as it is. */
  readonly tail: readonly Entry[];
}

/**
 * Keeps the newest entries that fit into the tail's budget, and a question the model has not seen yet, whatever its
 * size. When everything would fit, the cut moves forward, because nothing would be won. Null: there is nothing to cut.
 */
export function chooseCut(entries: readonly Entry[], budget: number): Cut | null {
  const unseen = entries.length - countUnseen(entries);
  let start = unseen;
  let left = budget;
  while (start > 0) {
    const entry = entries[start - 1];
    if (entry === undefined || entry.type === "summary") break;
    left -= estimateEntry(entry);
    if (left < 0) break;
    start -= 1;
  }
  if (start === 0) start = unseen;
  const head = entries.slice(0, start);
  if (head.length === 0 || head.every(({ type }) => type === "summary")) return null;
  return { head, tail: entries.slice(start) };
}

/** User messages at the end, which no step has answered. */
function countUnseen(entries: readonly Entry[]): number {
  let count = 0;
  while (entries.at(-1 - count)?.type === "user") count += 1;
  return count;
}

export function tailBudget(limits: Limits | null, policy: CompactionPolicy): number {
  if (policy.tail !== undefined) return policy.tail;
  const usable = usableTokens(limits, policy);
  if (usable === null) return TAIL_MAX;
  return Math.min(TAIL_MAX, Math.max(TAIL_MIN, Math.floor(usable * TAIL_SHARE)));
}

const TOOL_OUTPUT_SHOWN = 2_000;
const REQUEST_SHOWN = 4_000;

export const SUMMARY_SYSTEM =
  "You condense the history of a coding session so that the work can go on without it. Write plain text under the " +
  "headings Goal, Done, Files, Findings, Open. Keep names, paths, commands, numbers and decisions exact. Do not " +
  "answer the user, do not invent anything and do not go on with the work.";

export interface SummaryRequest {
  readonly head: readonly Entry[];
  /** What plugins want the summary to consider. */
  readonly context: readonly string[];
  /** A plugin's own wording instead of ours. */
  readonly prompt: string | null;
  /** Characters the request may have. */
  readonly limit: number;
}

export function summaryPrompt({ head, context, prompt, limit }: SummaryRequest): string {
  const ask = prompt ?? "Condense the history above as instructed.";
  const extra = context.length === 0 ? "" : `\n\nConsider also:\n${context.join("\n\n")}`;
  const history = shorten(head.map(describe).join("\n\n"), Math.max(0, limit - ask.length - extra.length));
  return `<history>\n${history}\n</history>${extra}\n\n${ask}`;
}

/**
 * The text that stands for the head from now on. A request that is still being worked on is kept in the user's own
 * words; one that was answered is in the summary and nowhere else, or the model would answer it again.
 */
export function summaryEntry({ id, cut, summary }: { id: string; cut: Cut; summary: string }): Entry {
  const request = openRequest(cut);
  const asked =
    request === null ? "" : `\n\nThe user's latest request in it, word for word:\n${shorten(request, REQUEST_SHOWN)}`;
  const text =
    `The earlier conversation was condensed to this summary:\n\n${summary}${asked}\n\n` +
    "Go on with the work that is open. If nothing is open, say so in a sentence.";
  return { type: "summary", id, text };
}

/** The head's last request, unless a step after it called no tools: that step was its answer. */
function openRequest({ head, tail }: Cut): string | null {
  const entries = [...head, ...tail];
  const at = head.findLastIndex(({ type }) => type === "user");
  const asked = head[at];
  const answered = entries.slice(at + 1).some((entry) => entry.type === "step" && entry.answers.length === 0);
  return asked?.type !== "user" || answered ? null : asked.text;
}

function describe(entry: Entry): string {
  if (entry.type === "user") return `User:\n${entry.text}`;
  if (entry.type === "summary") return entry.text;
  const said = entry.content.filter(({ type }) => type !== "reasoning").map((part) => `Assistant: ${textOf(part)}`);
  const results = entry.answers.map(
    ({ tool, output, is_error }) => `${tool} ${is_error ? "failed" : "gave"}: ${shorten(output, TOOL_OUTPUT_SHOWN)}`,
  );
  return [...said, ...results].join("\n");
}

/** Cuts the middle out: how it began and where it stands matter most. */
function shorten(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const half = Math.floor(limit / 2);
  return `${text.slice(0, half)}\n[… ${text.length - 2 * half} characters left out …]\n${text.slice(text.length - half)}`;
}
