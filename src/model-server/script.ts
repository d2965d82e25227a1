/**
 * What a scripted model says: turns of blocks and faults, the same for every provider's wire format. No network, no
 * tokens.
 */

/** How a text is cut into stream events: into this many pieces, or exactly as listed. One piece when absent. */
export type Chunking = number | readonly string[];

export type ScriptBlock =
  | { readonly type: "text"; readonly text: string; readonly chunks?: Chunking }
  | { readonly type: "thinking"; readonly text: string; readonly chunks?: Chunking }
  | {
      readonly type: "tool_call";
      /** Made from the turn's and the block's number when absent. */
      readonly id?: string;
      readonly name: string;
      readonly input: unknown;
      readonly chunks?: Chunking;
    };

export type Finish = "stop" | "tool_calls" | "length" | "refusal" | "content_filter";

export interface ScriptUsage {
  /** Without what came from a cache. */
  readonly input: number;
  readonly output: number;
  readonly reasoning?: number;
  readonly cacheRead?: number;
  readonly cacheWrite?: number;
}

/** How an answer breaks off, after this many stream events of content. */
export type StreamFault =
  /** The connection is cut. */
  | { readonly type: "cut"; readonly afterChunks: number }
  /** Nothing more comes; the connection stays open until the caller or the server ends it. */
  | { readonly type: "hang"; readonly afterChunks: number }
  /** An error event of the provider, then the end of the stream. */
  | { readonly type: "error"; readonly afterChunks: number; readonly code: string; readonly message: string };

export type ScriptTurn =
  | {
      readonly type: "answer";
      readonly blocks: readonly ScriptBlock[];
      /** `tool_calls` when a block is a tool call, else `stop`. */
      readonly finish?: Finish;
      readonly usage?: ScriptUsage;
      readonly fault?: StreamFault;
      /** Between stream events of content; a stream that takes its time. */
      readonly chunkDelayMs?: number;
    }
  /** An HTTP answer instead of a stream. */
  | {
      readonly type: "status";
      readonly status: number;
      readonly headers?: Readonly<Record<string, string>>;
      /** The provider's error body with this code and message when absent. */
      readonly body?: unknown;
      readonly code?: string;
      readonly message?: string;
    }
  /** The request is never answered. */
  | { readonly type: "silence" };

/** Which requests belong to a conversation beside the main one (a subagent, a compaction, a title). */
export interface SideMatch {
  /** The system prompt (or instructions) contains this. */
  readonly systemContains?: string;
  /** Some message of the request contains this. */
  readonly messageContains?: string;
  /** The first message of the request contains this: what a subagent was asked, and its parent was not. */
  readonly firstMessageContains?: string;
  /** A tool of this name is offered. */
  readonly offersTool?: string;
  /** No tool of this name is offered. */
  readonly lacksTool?: string;
}

export interface SideConversation {
  readonly name: string;
  readonly match: SideMatch;
  readonly turns: readonly ScriptTurn[];
}

export interface Script {
  /** The main conversation: one turn per request, in order. When they are used up, the last one is played again. */
  readonly turns: readonly ScriptTurn[];
  /** Asked in order, before the main conversation. */
  readonly side?: readonly SideConversation[];
}

/** A request as the server received it. */
export interface ModelRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
  /** The parts that matchers look at, as the provider's server reads them from the body. */
  readonly system: string;
  readonly messages: string;
  readonly firstMessage?: string;
  readonly tools: readonly string[];
  readonly model: string;
}

export interface RecordedRequest extends ModelRequest {
  /** The side conversation's name, or `main`. */
  readonly conversation: string;
  /** Number of the request within its conversation, from 0. */
  readonly index: number;
}

/** A script in play: which turn answers which request, and what was asked. */
export interface Play {
  readonly next: (request: ModelRequest) => { readonly turn: ScriptTurn; readonly recorded: RecordedRequest };
  readonly requests: readonly RecordedRequest[];
}

export const MAIN = "main";

const NOTHING_LEFT: ScriptTurn = { type: "answer", blocks: [{ type: "text", text: "The script is empty." }] };

export function play(script: Script): Play {
  const requests: RecordedRequest[] = [];
  const counts = new Map<string, number>();
  return {
    requests,
    next(request) {
      const side = script.side?.find(({ match }) => matches(match, request));
      const conversation = side?.name ?? MAIN;
      const index = counts.get(conversation) ?? 0;
      counts.set(conversation, index + 1);
      const recorded = { ...request, conversation, index };
      requests.push(recorded);
      const turns = side?.turns ?? script.turns;
      return { turn: turns[Math.min(index, turns.length - 1)] ?? NOTHING_LEFT, recorded };
    },
  };
}

/** The pieces of a text, in the order they are streamed. An empty text has no pieces. */
export function pieces(text: string, chunks: Chunking | undefined): readonly string[] {
  if (typeof chunks === "object") return chunks;
  if (text === "") return [];
  const count = Math.max(1, Math.min(chunks ?? 1, text.length));
  const size = Math.ceil(text.length / count);
  const out: string[] = [];
  for (let start = 0; start < text.length; start += size) out.push(text.slice(start, start + size));
  return out;
}

export const finishOf = (turn: Extract<ScriptTurn, { type: "answer" }>): Finish =>
  turn.finish ?? (turn.blocks.some(({ type }) => type === "tool_call") ? "tool_calls" : "stop");

export const callId = (block: Extract<ScriptBlock, { type: "tool_call" }>, place: string): string =>
  block.id ?? `call_${place}`;

function matches(match: SideMatch, request: ModelRequest): boolean {
  const { systemContains, messageContains, firstMessageContains, offersTool, lacksTool } = match;
  return (
    (systemContains === undefined || request.system.includes(systemContains)) &&
    (messageContains === undefined || request.messages.includes(messageContains)) &&
    (firstMessageContains === undefined || (request.firstMessage ?? "").includes(firstMessageContains)) &&
    (offersTool === undefined || request.tools.includes(offersTool)) &&
    (lacksTool === undefined || !request.tools.includes(lacksTool))
  );
}
