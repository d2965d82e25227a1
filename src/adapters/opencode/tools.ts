/**
 * Tool parts: a call when its arguments are known, a result that grows while the tool runs, and the files it touched.
 */
import { defined } from "../../core/defined.ts";
import type { Report } from "../../core/report.ts";
import {
  closeCall,
  emptyMessage,
  openCall,
  resultHead,
  resultKey,
  statusHead,
  whole,
} from "../../core/report-builders.ts";
import type { OpenCodeToolPart, OpenCodeToolState } from "../../dialects/opencode.ts";
import type { ContentPart, ToolCallPart, ToolKind, ToolResultPart } from "../../protocol/items.ts";
import { headOf, messageFor } from "./parts.ts";
import { finishPart, isDone, type Message, type Part, type State, threadOf } from "./state.ts";

type ToolOpen = Extract<Part, { callId: string }>;

export function onTool(state: State, part: OpenCodeToolPart): Report[] {
  if (isDone(state, part.id)) return [];
  const message = messageFor(state, part);
  const out: Report[] = [];
  const tool = beginTool(state, { part, message, out });
  if (part.state.status === "pending") return out;
  if (!tool.running) out.push(...startResult(state, { part, message, tool }));
  if (part.state.status === "running") out.push(...newOutput(part, tool));
  else out.push(...finishTool(state, { part, message, tool }));
  return out;
}

/** The first sight of a call. Quirk: an unknown tool is renamed `invalid` later on; its first name stays. */
function beginTool(
  state: State,
  { part, message, out }: { part: OpenCodeToolPart; message: Message; out: Report[] },
): ToolOpen {
  const known = state.parts.get(part.id);
  if (known?.type === "tool") return known;
  if (message.latest === null) out.push(...parentFor(state, { part, message }));
  const tool: ToolOpen = { type: "tool", name: part.tool, callId: part.callID, input: {}, running: false, output: "" };
  state.parts.set(part.id, tool);
  message.open.add(part.id);
  const call = { ...headOf(state, { part, message }), parent: message.latest ?? undefined };
  out.push(openCall(call, callPart(tool, { arguments: "", title: part.tool })));
  return tool;
}

/** A message that begins with a call has no words, and the call needs a parent. */
function parentFor(state: State, { part, message }: { part: OpenCodeToolPart; message: Message }): Report[] {
  message.latest = `${part.messageID}/empty`;
  return emptyMessage(
    { ...headOf(state, { part, message }), key: message.latest, native_item_id: null },
    { synthetic: false },
  );
}

const callPart = (tool: ToolOpen, rest: { arguments: string; title: string }): ToolCallPart => ({
  type: "tool_call",
  name: tool.name,
  call_id: tool.callId,
  tool_kind: toolKind(tool.name),
  ...rest,
});

const resultPart = (tool: ToolOpen, rest: Omit<ToolResultPart, "type" | "call_id">): ToolResultPart => ({
  type: "tool_result",
  call_id: tool.callId,
  ...rest,
});

/** The arguments are complete, and the tool is about to run. One that was cut before that never ran. */
function startResult(
  state: State,
  { part, message, tool }: { part: OpenCodeToolPart; message: Message; tool: ToolOpen },
): Report[] {
  tool.running = true;
  const { input } = part.state;
  tool.input = input;
  const cut = part.state.status === "error" && Object.keys(input).length === 0;
  const call = callPart(tool, { arguments: JSON.stringify(input), title: titleOf(part) });
  return [
    { ...closeCall(part.id, call), status: cut ? "failed" : "completed" },
    { type: "open", item: resultHead(headOf(state, { part, message }), tool.callId) },
  ];
}

/** A running command repeats its whole output every time; only what is new is forwarded. */
function newOutput(part: OpenCodeToolPart, tool: ToolOpen): Report[] {
  const output = textIn(metadataOf(part.state), "output");
  if (output === null || output === tool.output) return [];
  const before = tool.output;
  tool.output = output;
  // Long outputs lose their beginning: then the pieces no longer join, and the result will have the whole.
  if (!output.startsWith(before)) return [];
  return [{ type: "delta", key: resultKey(part.id), part: "tool_output", delta: output.slice(before.length) }];
}

function finishTool(
  state: State,
  { part, message, tool }: { part: OpenCodeToolPart; message: Message; tool: ToolOpen },
): Report[] {
  finishPart(state, { part: part.id, message });
  const key = resultKey(part.id);
  const done = part.state;
  if (done.status === "completed") {
    const exit = exitOf(part);
    const failed = part.tool === INVALID_TOOL || (exit !== undefined && exit !== 0);
    const result = resultPart(tool, {
      output: done.output,
      is_error: failed,
      ...defined({ exit_code: exit ?? undefined }),
    });
    const files = filesOf(part);
    for (const file of files) if (file.type === "file_ref") message.files.add(file.path);
    return [{ type: "close", key, status: failed ? "failed" : "completed", content: [result, ...files] }];
  }
  const output = done.status === "error" ? done.error : "";
  const content = [resultPart(tool, { output, is_error: true })];
  const denial = denialOf(output);
  if (denial === null) return [{ type: "close", key, status: "failed", content }];
  if (denial === "person") threadOf(state, message.thread).rejected = true;
  const closed: Report = { type: "close", key, status: "failed", content, denied: true };
  return denial === "rule" ? [closed, ...deniedByRule(state, { part, message, output })] : [closed];
}

const INVALID_TOOL = "invalid";

/**
 * Quirk: only the words of the error show who rejected it (transcripts/opencode/permission-reject, question-reject,
 * denied).
 */
function denialOf(error: string): "person" | "person-with-words" | "abort" | "rule" | null {
  if (error === "Tool execution aborted") return "abort";
  if (/^The user rejected permission .*feedback:/s.test(error)) return "person-with-words";
  if (/^The user (rejected permission|dismissed)/.test(error)) return "person";
  return /^The user has specified a rule which prevents/.test(error) ? "rule" : null;
}

/** Nobody was asked: besides the failed result, a status says so. */
function deniedByRule(
  state: State,
  { part, message, output }: { part: OpenCodeToolPart; message: Message; output: string },
): Report[] {
  const place = { ...headOf(state, { part, message }), native_item_id: null, parent: part.id };
  const detail = output.split("\n", 1)[0] ?? output;
  return whole(statusHead({ ...place, key: `${part.id}/denied`, label: "denied", detail }));
}

function metadataOf(state: OpenCodeToolState): Readonly<Record<string, unknown>> {
  return state.status === "pending" ? {} : (state.metadata ?? {});
}

/** Of a command: its exit code, null when it was cut; undefined for other tools. */
function exitOf(part: OpenCodeToolPart): number | null | undefined {
  const { exit } = metadataOf(part.state);
  return typeof exit === "number" || exit === null ? exit : undefined;
}

function textIn(fields: Readonly<Record<string, unknown>>, name: string): string | null {
  const value = fields[name];
  return typeof value === "string" ? value : null;
}

const TITLE_KEYS = ["command", "filePath", "pattern", "url", "query", "description", "path"] as const;

function titleOf(part: OpenCodeToolPart): string {
  const { state } = part;
  if ("title" in state && state.title !== undefined && state.title !== "") return state.title;
  for (const key of TITLE_KEYS) {
    const value = textIn(state.input, key);
    if (value !== null) return value;
  }
  return part.tool;
}

const toolKinds: ReadonlyMap<string, ToolKind> = new Map<string, ToolKind>([
  ["bash", "command"],
  ["shell", "command"],
  ["edit", "file_change"],
  ["write", "file_change"],
  ["multiedit", "file_change"],
  ["patch", "file_change"],
  ["apply_patch", "file_change"],
  ["webfetch", "web_search"],
  ["websearch", "web_search"],
  ["todowrite", "note"],
  ["todoread", "note"],
  ["question", "note"],
]);

const toolKind = (name: string): ToolKind => toolKinds.get(name) ?? "tool";

/** The files a finished tool read or changed. */
function filesOf(part: OpenCodeToolPart): ContentPart[] {
  const metadata = metadataOf(part.state);
  const path = pathIn(metadata) ?? textIn(part.state.input, "filePath");
  switch (part.tool) {
    case "read":
      return path === null ? [] : [readPart({ part, path })];
    case "write":
      return path === null ? [] : [changed({ path, action: "write", change: existed(metadata), metadata })];
    case "edit":
    case "multiedit":
      return path === null ? [] : [changed({ path, action: "patch", change: "update", metadata })];
    case "patch":
    case "apply_patch":
      return patched(metadata);
    default:
      return [];
  }
}

/** The input may be relative; the path in the tool's metadata is absolute, like the patch part after it. */
function pathIn({ filediff, filepath }: Readonly<Record<string, unknown>>): string | null {
  if (typeof filepath === "string") return filepath;
  if (typeof filediff !== "object" || filediff === null || !("file" in filediff)) return null;
  return typeof filediff.file === "string" ? filediff.file : null;
}

/** An image is shown as one. */
function readPart({ part, path }: { part: OpenCodeToolPart; path: string }): ContentPart {
  const attachments = part.state.status === "completed" ? part.state.attachments : undefined;
  const mime = attachments?.[0]?.mime;
  if (mime?.startsWith("image/")) return { type: "image", path, mime };
  return { type: "file_ref", path, action: "read" };
}

type Change = "add" | "update" | "delete" | "move";

const existed = (metadata: Readonly<Record<string, unknown>>): Change => (metadata.exists === false ? "add" : "update");

function changed({
  path,
  action,
  change,
  metadata,
}: {
  path: string;
  action: "write" | "patch";
  change: Change;
  metadata: Readonly<Record<string, unknown>>;
}): ContentPart {
  const diff = textIn(metadata, "diff");
  return defined({ type: "file_ref", path, action, change, diff: diff ?? undefined });
}

const changes: ReadonlyMap<unknown, Change> = new Map<unknown, Change>([
  ["add", "add"],
  ["update", "update"],
  ["delete", "delete"],
  ["move", "move"],
]);

/** A patch over several files lists each of them in its metadata. */
function patched(metadata: Readonly<Record<string, unknown>>): ContentPart[] {
  const { files } = metadata;
  if (!Array.isArray(files)) return [];
  const out: ContentPart[] = [];
  for (const file of files) {
    if (typeof file !== "object" || file === null) continue;
    const fields: Readonly<Record<string, unknown>> = { ...file };
    const path = textIn(fields, "filePath") ?? textIn(fields, "file");
    const diff = textIn(fields, "diff") ?? textIn(fields, "patch");
    if (path === null) continue;
    const change = changes.get(fields.type) ?? "update";
    out.push(defined({ type: "file_ref", path, action: "patch", change, diff: diff ?? undefined }));
  }
  return out;
}
