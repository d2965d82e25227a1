/** The conversation as the loop keeps it: entries that can be cut between, and the model's messages made from them. */
import type { AssistantContent, ModelMessage, ToolResultPart, UserContent } from "ai";

export type AssistantParts = Exclude<AssistantContent, string>;
export type UserParts = Exclude<UserContent, string>;

export interface ToolAnswer {
  readonly call_id: string;
  readonly tool: string;
  readonly output: string;
  readonly is_error: boolean;
}

export type Entry =
  /** `id`: `user:<n>`, the n-th user message of the session: the log counts the same. */
  | { readonly type: "user"; readonly id: string; readonly text: string; readonly parts: UserParts }
  /** One finished model step with the results of its tools. `id` is its message id. */
  | {
      readonly type: "step";
      readonly id: string;
      readonly content: AssistantParts;
      readonly answers: readonly ToolAnswer[];
    }
  /** What stands for everything before it. */
  | { readonly type: "summary"; readonly id: string; readonly text: string };

/** What goes on from step to step, and for a session from turn to turn. */
export interface Conversation {
  entries: Entry[];
  /** Tokens in use after the last step. */
  used: number;
  /** The user's messages that the model has not seen, in order. */
  readonly inbox: Entry[];
  /** A person asked for a compaction. */
  compactWanted: boolean;
}

export const userEntryId = (count: number): string => `user:${count}`;

export function toMessages(entries: readonly Entry[]): ModelMessage[] {
  return entries.flatMap(messagesOf);
}

function messagesOf(entry: Entry): ModelMessage[] {
  switch (entry.type) {
    case "user":
      return [{ role: "user", content: [{ type: "text", text: entry.text }, ...entry.parts] }];
    case "summary":
      return [{ role: "user", content: [{ type: "text", text: entry.text }] }];
    case "step": {
      const out: ModelMessage[] = [];
      if (entry.content.length > 0) out.push({ role: "assistant", content: entry.content });
      if (entry.answers.length > 0) out.push({ role: "tool", content: entry.answers.map(toResult) });
      return out;
    }
  }
}

const toResult = ({ call_id, tool, output, is_error }: ToolAnswer): ToolResultPart => ({
  type: "tool-result",
  toolCallId: call_id,
  toolName: tool,
  output: is_error ? { type: "error-text", value: output } : { type: "text", value: output },
});

/** Characters a token stands for, roughly, over code and prose. */
const CHARACTERS_PER_TOKEN = 4;

export const estimateTokens = (text: string): number => Math.ceil(text.length / CHARACTERS_PER_TOKEN);

/** What an image costs, roughly; its bytes say nothing about it. */
const IMAGE_TOKENS = 1_500;

export function estimateEntry(entry: Entry): number {
  if (entry.type === "summary") return estimateTokens(entry.text);
  if (entry.type === "user") return estimateTokens(entry.text) + entry.parts.length * IMAGE_TOKENS;
  const said = entry.content.reduce((sum, part) => sum + estimateTokens(textOf(part)), 0);
  return said + entry.answers.reduce((sum, { output }) => sum + estimateTokens(output), 0);
}

export function textOf(part: AssistantParts[number]): string {
  if (part.type === "text" || part.type === "reasoning") return part.text;
  return part.type === "tool-call" ? `${part.toolName} ${JSON.stringify(part.input)}` : "";
}
