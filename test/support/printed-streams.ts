/**
 * Gemini CLI and Qwen Code print another stream than they serve. What they printed beside their session files is put
 * into the form of the served one here, so that their adapters translate it.
 */
import type { Recorded } from "../../src/core/recorded.ts";
import { isString, type Shape, shapeOf } from "../../src/dialects/shape.ts";

export type PrintedStream = (lines: readonly unknown[], prompts: readonly string[]) => readonly Recorded[];

export const printedStreams: Readonly<Record<string, PrintedStream>> = {
  gemini: (lines) => [...lines.map(shapeOf).flatMap(geminiLine), exit],
  qwen: (lines, prompts) => {
    const [first = ""] = prompts;
    return [...lines.map(shapeOf).flatMap((line) => qwenLine(line, first)), exit];
  },
};

const exit: Recorded = { type: "exit", exit: { code: null, signal: null }, at: null };

const said = (from: "agent" | "host", line: Shape): Recorded => ({ type: "line", from, line, at: null });

/** One session, which the printed lines name only at their beginning. */
const SESSION = "live";

const update = (fields: Shape): Recorded =>
  said("agent", { jsonrpc: "2.0", method: "session/update", params: { sessionId: SESSION, update: fields } });

const opened: readonly Recorded[] = [
  said("host", { jsonrpc: "2.0", id: "load", method: "session/load", params: { sessionId: SESSION } }),
  said("agent", { jsonrpc: "2.0", id: "load", result: {} }),
];

const prompted = (text: string): Recorded =>
  said("host", {
    jsonrpc: "2.0",
    id: "prompt",
    method: "session/prompt",
    params: { sessionId: SESSION, prompt: [{ type: "text", text }] },
  });

const answered = (answer: Shape): Recorded => said("agent", { jsonrpc: "2.0", id: "prompt", ...answer });

const chunk = (sessionUpdate: string, text: unknown, _meta: Shape = {}): Recorded =>
  update({ sessionUpdate, content: { type: "text", text }, _meta });

const kinds: Readonly<Record<string, string>> = {
  read_file: "read",
  replace: "edit",
  edit: "edit",
  run_shell_command: "execute",
};

const called = (toolCallId: unknown, name: unknown, rawInput: unknown): Recorded =>
  update({
    sessionUpdate: "tool_call",
    toolCallId,
    name,
    title: name,
    status: "in_progress",
    kind: kinds[String(name)] ?? "other",
    rawInput,
    locations: locationsOf(shapeOf(rawInput)),
    _meta: { toolName: name },
  });

const locationsOf = ({ file_path: path }: Shape): readonly Shape[] => (isString(path) ? [{ path }] : []);

const returned = (toolCallId: unknown, { failed, text }: { failed: boolean; text: string }): Recorded =>
  update({
    sessionUpdate: "tool_call_update",
    toolCallId,
    status: failed ? "failed" : "completed",
    content: text === "" ? [] : [{ type: "content", content: { type: "text", text } }],
  });

const refused = (message: unknown): Shape => ({ error: { code: -32603, message: String(message) } });

function geminiLine(line: Shape): readonly Recorded[] {
  switch (line.type) {
    case "init":
      return opened;
    case "message":
      return [line.role === "user" ? prompted(String(line.content)) : chunk("agent_message_chunk", line.content)];
    case "tool_use":
      return [called(line.tool_id, line.tool_name, line.parameters)];
    case "tool_result":
      return [returned(line.tool_id, { failed: line.status !== "success", text: String(line.output ?? "") })];
    case "result":
      if (line.status !== "success") return [answered(refused(shapeOf(line.error).message))];
      return [answered({ result: { stopReason: "end_turn" } })];
    default:
      throw new Error(`Gemini CLI prints no ${String(line.type)}.`);
  }
}

const blocksOf = (line: Shape): readonly Shape[] => {
  const { content } = shapeOf(line.message);
  return Array.isArray(content) ? content.map(shapeOf) : [];
};

function qwenLine(line: Shape, prompt: string): readonly Recorded[] {
  switch (line.type) {
    case "system":
      return line.subtype === "init" ? [...opened, prompted(prompt)] : [];
    case "stream_event":
      return [];
    case "assistant":
      return [...blocksOf(line).map(qwenBlock), ...qwenUsage(shapeOf(shapeOf(line.message).usage))];
    case "user":
      return line.parent_tool_use_id === null ? blocksOf(line).flatMap(qwenUserBlock) : [];
    case "result": {
      if (line.is_error === true) return [answered(refused(shapeOf(line.error).message))];
      return [answered({ result: { stopReason: "end_turn" } }), ...endedUnasked];
    }
    default:
      throw new Error(`Qwen Code prints no ${String(line.type)}.`);
  }
}

function qwenBlock(block: Shape): Recorded {
  if (block.type === "thinking") return chunk("agent_thought_chunk", block.thinking);
  return block.type === "tool_use"
    ? called(block.id, block.name, block.input)
    : chunk("agent_message_chunk", block.text);
}

function qwenUsage(usage: Shape): readonly Recorded[] {
  if (usage.input_tokens === 0) return [];
  const counted = {
    inputTokens: usage.input_tokens,
    outputTokens: usage.output_tokens,
    cachedReadTokens: usage.cache_read_input_tokens,
  };
  return [chunk("agent_message_chunk", "", { usage: counted })];
}

const own = (method: string): Recorded =>
  said("agent", { jsonrpc: "2.0", method: `_qwencode/${method}`, params: { sessionId: SESSION } });

const endedUnasked = [own("end_turn")];

/** A text that nobody typed: something in the background has ended, and the model hears of it. */
function qwenUserBlock(block: Shape): readonly Recorded[] {
  if (block.type === "tool_result") {
    return [returned(block.tool_use_id, { failed: block.is_error === true, text: String(block.content) })];
  }
  const note = chunk("agent_message_chunk", block.text, { source: "background_notification" });
  return [answered({ result: { stopReason: "end_turn" } }), own("start_turn"), note];
}
