/** What scenarios are made of: beats, which the player performs, and the phrases that several scenarios share. */
import type { Exit } from "../core/agent-io.ts";
import { defined } from "../core/defined.ts";
import type { MockSays, MockSaysOf } from "../dialects/mock.ts";

export type Beat =
  | { readonly type: "say"; readonly line: MockSays }
  /** Says something that is no line of the mock's language. */
  | { readonly type: "garble"; readonly line: unknown }
  /** Says the line and waits for the host's answer, which is what the `yield` gives. */
  | { readonly type: "wait"; readonly line: MockSaysOf<"ask" | "question"> }
  | { readonly type: "pause"; readonly ms: number }
  /** Numbered deltas of one block, as fast as the host takes them. */
  | { readonly type: "flood"; readonly id: string; readonly count: number }
  /** Says nothing more until it is aborted. */
  | { readonly type: "hang" }
  | { readonly type: "exit"; readonly exit: Exit };

export type Answer =
  | { readonly type: "reply"; readonly reply: "once" | "always" | "reject"; readonly message: string | null }
  /** Null when the question was rejected. */
  | { readonly type: "answers"; readonly answers: readonly (readonly string[])[] | null };

/** A scenario in motion. Only a `wait` is answered. */
export type Script<Result = void> = Generator<Beat, Result, Answer | undefined>;

/** What a scenario knows of its turn. Ids are made from the prompt's, so they stay unique when the mock is resumed. */
export interface Turn {
  readonly id: string;
  readonly prompt: string;
  /** The prompt without its first word. */
  readonly rest: string;
  readonly directory: string;
  readonly permissionMode: string;
  /** Requests that were answered with "always" in this session. */
  readonly always: Set<string>;
  /** The todos of a scenario that stopped too early; the next prompt goes on with them. */
  readonly unfinished: Unfinished;
  messages: number;
  calls: number;
}

export interface Unfinished {
  /** Null when there is no such list. */
  done: number | null;
  /** It never closes a todo, however often it is asked. */
  stubborn: boolean;
}

export const say = (line: MockSays): Beat => ({ type: "say", line });
export const pause = (ms: number): Beat => ({ type: "pause", ms });

/** The next message of the agent: one model step. */
export function nextMessage(turn: Turn): string {
  turn.messages += 1;
  return `${turn.id}.m${turn.messages}`;
}

interface BlockOptions {
  readonly message: string;
  readonly kind?: "text" | "reasoning";
  readonly subagent?: string;
}

/** One block, streamed. */
export function* speak(text: string, { message, kind = "text", subagent }: BlockOptions): Script {
  const id = `${message}.${kind}`;
  yield say({ type: "block", id, message, kind, ...defined({ subagent }) });
  for (const piece of pieces(text)) yield say({ type: "delta", id, text: piece });
  yield say({ type: "block.end", id, text });
}

export interface Tool {
  readonly tool: string;
  readonly kind: MockSaysOf<"call">["kind"];
  readonly title: string;
  readonly input: Readonly<Record<string, unknown>>;
}

interface CallOptions {
  readonly message: string;
  readonly subagent?: string;
}

/** Announces a tool call and gives its id. */
export function* call(turn: Turn, tool: Tool, { message, subagent }: CallOptions): Script<string> {
  turn.calls += 1;
  const id = `${turn.id}.c${turn.calls}`;
  yield say({
    type: "call",
    id,
    message,
    tool: tool.tool,
    kind: tool.kind,
    title: tool.title,
    input: { ...tool.input },
    ...defined({ subagent }),
  });
  return id;
}

export interface Outcome {
  readonly output: string;
  readonly error?: boolean;
  readonly files?: MockSaysOf<"result">["files"];
}

/** The tool works: what it prints comes in pieces, then its result. */
export function* work(id: string, { output, error = false, files }: Outcome): Script {
  yield say({ type: "run", id });
  for (const piece of pieces(output)) yield say({ type: "output", id, text: piece });
  yield say({ type: "result", id, output, error, ...defined({ files }) });
}

/** The model step is over. Tokens are counted in words, so they are the same every time. */
export const usage = (
  turn: Turn,
  { finish, words }: { readonly finish: "stop" | "tool-calls"; readonly words: number },
): Beat => {
  const tokens = { input: countWords(turn.prompt) + turn.messages, output: words, reasoning: 0 };
  return say({ type: "usage", finish, tokens, cost_usd: (tokens.input + tokens.output) / 1_000_000 });
};

export const end = (reason: "completed" | "error"): Beat => say({ type: "end", reason });

/** A last text, the usage of its model step, and the end. */
export function* conclude(turn: Turn, text: string): Script {
  yield* speak(text, { message: nextMessage(turn) });
  yield usage(turn, { finish: "stop", words: countWords(text) });
  yield end("completed");
}

export const countWords = (text: string): number => text.split(/\s+/).filter((word) => word !== "").length;

const MAX_PIECES = 64;

/** Cuts between words. A long text has longer pieces, so that any prompt comes back in bounded time. */
export function pieces(text: string): string[] {
  const words = text.match(/\s*\S+|\s+$/g) ?? [];
  const size = Math.ceil(words.length / MAX_PIECES);
  const out: string[] = [];
  for (let start = 0; start < words.length; start += size) out.push(words.slice(start, start + size).join(""));
  return out;
}
