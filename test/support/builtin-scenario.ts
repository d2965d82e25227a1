/** What a recorded scenario of the builtin agent is made of. */
import type { LaunchOptions } from "../../src/core/launch.ts";
import type { BuiltinHears, BuiltinSays } from "../../src/dialects/builtin.ts";
import type { Script, ScriptBlock, ScriptTurn } from "../../src/model-server/script.ts";
import type { About } from "./transcripts.ts";

export type Reaction = (line: BuiltinSays) => readonly BuiltinHears[];

export interface BuiltinRecording {
  readonly name: string;
  readonly about: Pick<About, "what" | "turns">;
  readonly script: Script;
  /** Prompts, or what is asked between them, one after the other. */
  readonly prompts: readonly (string | Extract<BuiltinHears, { type: "compact" | "set" }>)[];
  readonly provider?: "anthropic" | "openai";
  readonly mode?: LaunchOptions["permission_mode"];
  readonly config?: Record<string, unknown>;
  /** What the person does about a line. */
  readonly react?: Reaction;
  /** Waits for a retry never end. */
  readonly stuck?: boolean;
}

export const text = (words: string, chunks = 2): ScriptBlock => ({ type: "text", text: words, chunks });
export const call = (name: string, input: unknown, id: string): ScriptBlock => ({ type: "tool_call", name, input, id });
export const answer = (...blocks: ScriptBlock[]): ScriptTurn => ({ type: "answer", blocks });
export const failing = (status: number, headers = {}): ScriptTurn => ({
  type: "status",
  status,
  headers,
  message: "Scripted failure",
});
export const tooLong: ScriptTurn = {
  type: "status",
  status: 400,
  message: "prompt is too long: 210000 tokens > 200000 maximum",
};
export const summaries = (turn: ScriptTurn) => [
  { name: "summary", match: { systemContains: "condense the history" }, turns: [turn] },
];

export const ended = (reason: About["turns"][number]["reason"]) => ({ reason, evidence: "signal" }) as const;
export const replies =
  (reply: "once" | "always" | "reject", message?: string): Reaction =>
  (line) =>
    line.type === "permission.asked"
      ? [{ type: "permission.reply", id: line.id, reply, ...(message === undefined ? {} : { message }) }]
      : [];
export const onFirst = (type: BuiltinSays["type"], hears: BuiltinHears): Reaction => {
  let done = false;
  return (line) => {
    if (line.type !== type || done) return [];
    done = true;
    return [hears];
  };
};
