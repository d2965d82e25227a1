/**
 * Turns of session files as lines of the Agent Client Protocol: what an agent that speaks it would have said, and its
 * host, if the conversation had been a live one.
 */
import { lookUp } from "../../../core/look-up.ts";
import type { Recorded } from "../../../core/recorded.ts";
import type { FileTurn } from "../../../core/session-files.ts";
import type { Shape } from "../../../dialects/shape.ts";

/** One conversation. */
export interface Place {
  readonly nativeId: string;
  readonly directory: string | null;
  readonly version: string | null;
}

/** How a turn ended. `cut`: the file does not say. */
export type FileEnd =
  | { readonly type: "completed" }
  | { readonly type: "aborted" }
  | { readonly type: "error"; readonly message: string }
  | { readonly type: "cut" };

export interface TurnOfFile {
  readonly key: string;
  readonly at: number | null;
  readonly model: string | null;
  /** Content blocks of the prompt; null for a turn that nobody asked for. */
  readonly prompt: readonly Shape[] | null;
  readonly work: readonly Recorded[];
  readonly end: FileEnd;
  readonly endAt: number | null;
}

const agentLine = (line: Shape, at: number | null): Recorded => ({
  type: "line",
  from: "agent",
  line: { jsonrpc: "2.0", ...line },
  at,
});

const hostLine = (line: Shape, at: number | null): Recorded => ({
  type: "line",
  from: "host",
  line: { jsonrpc: "2.0", ...line },
  at,
});

/** `session`: that of the conversation, or of a subagent. */
export const updateLine = (session: string, update: Shape, at: number | null): Recorded =>
  agentLine({ method: "session/update", params: { sessionId: session, update } }, at);

export const textBlock = (text: string): Shape => ({ type: "text", text });

export function turnOfFile(place: Place, turn: TurnOfFile): FileTurn {
  const { key, prompt, at, work, end } = turn;
  const sessionId = place.nativeId;
  const begun =
    prompt === null
      ? agentLine({ method: TURN_STARTED, params: { sessionId } }, at)
      : hostLine({ id: key, method: "session/prompt", params: { sessionId, prompt } }, at);
  return { key, entries: [...opening(place, turn), begun, ...work, ...ending(place, turn)], ended: end.type !== "cut" };
}

/** Not of the protocol: a turn begins, or ends, for which there is no prompt. */
export const TURN_STARTED = "_franca/turn_started";
export const TURN_ENDED = "_franca/turn_ended";

/** Every turn opens the session: it may be read by itself. */
function opening({ nativeId, directory, version }: Place, { key, at, model }: TurnOfFile): Recorded[] {
  const [hello, load] = [`${key}/initialize`, `${key}/load`];
  const info = version === null ? {} : { agentInfo: { version } };
  const models = model === null ? {} : { models: { currentModelId: model, availableModels: [] } };
  const capabilities = { loadSession: true, promptCapabilities: { image: true } };
  return [
    hostLine({ id: hello, method: "initialize", params: { protocolVersion: 1 } }, at),
    agentLine({ id: hello, result: { protocolVersion: 1, agentCapabilities: capabilities, ...info } }, at),
    hostLine(
      { id: load, method: "session/load", params: { sessionId: nativeId, cwd: directory ?? "", mcpServers: [] } },
      at,
    ),
    agentLine({ id: load, result: models }, at),
  ];
}

const INTERNAL_ERROR = -32603;

function ending({ nativeId }: Place, { key, end, endAt }: TurnOfFile): Recorded[] {
  const params = { sessionId: nativeId };
  switch (end.type) {
    case "completed":
      return [
        agentLine({ id: key, result: { stopReason: "end_turn" } }, endAt),
        // The rest of a turn whose beginning was imported before has no prompt that this could answer.
        agentLine({ method: TURN_ENDED, params }, endAt),
      ];
    case "aborted":
      return [
        hostLine({ method: "session/cancel", params }, endAt),
        agentLine({ id: key, result: { stopReason: "cancelled" } }, endAt),
      ];
    case "error": {
      const error = { code: INTERNAL_ERROR, message: "Internal error", data: { details: end.message } };
      return [agentLine({ id: key, error }, endAt)];
    }
    case "cut":
      return [{ type: "exit", exit: { code: null, signal: null }, at: endAt }];
  }
}

export interface FileCall {
  readonly id: string;
  readonly name: string;
  readonly input: unknown;
  readonly title: string;
  readonly at: number | null;
}

export interface FileResult {
  readonly status: "completed" | "failed" | "cancelled";
  readonly output: string;
  /** What the agent shows of it: a change of a file among others. */
  readonly display: Shape;
  readonly at: number | null;
}

/** A call in the protocol's words. `kinds`: by the agent's own names of its tools. */
export function callLine(session: string, call: FileCall, kinds: Readonly<Record<string, string>>): Recorded {
  const { id: toolCallId, name, input, title, at } = call;
  const kind = lookUp(kinds, name) ?? "other";
  const tool = { toolCallId, status: "in_progress", name, title, kind, rawInput: input, ...locationsOf(input) };
  return updateLine(session, { sessionUpdate: "tool_call", ...tool, content: [], _meta: { toolName: name } }, at);
}

function locationsOf(input: unknown): Shape {
  const path = typeof input === "object" && input !== null ? Reflect.get(input, "file_path") : undefined;
  return { locations: typeof path === "string" ? [{ path }] : [] };
}

export function resultLine(session: string, toolCallId: string, result: FileResult): Recorded {
  const { status, output, display, at } = result;
  const text = output === "" ? [] : [{ type: "content", content: textBlock(output) }];
  const { filePath: path, originalContent: oldText, newContent: newText, exitCode } = display;
  const isDiff = typeof path === "string" && typeof newText === "string";
  const diff = isDiff ? [{ type: "diff", path, oldText: typeof oldText === "string" ? oldText : null, newText }] : [];
  const code = typeof exitCode === "number" ? { rawOutput: { exitCode } } : {};
  const content = [...text, ...diff];
  return updateLine(session, { sessionUpdate: "tool_call_update", toolCallId, status, content, ...code }, at);
}

/** Kinds of the tools that Gemini CLI has, and Qwen Code, which grew from it. */
export const toolKinds: Readonly<Record<string, string>> = {
  read_file: "read",
  read_many_files: "read",
  list_directory: "search",
  glob: "search",
  grep_search: "search",
  search_file_content: "search",
  google_web_search: "search",
  web_search: "search",
  web_fetch: "fetch",
  replace: "edit",
  edit: "edit",
  write_file: "edit",
  notebook_edit: "edit",
  run_shell_command: "execute",
};
