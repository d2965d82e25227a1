/** Tools, notes and warnings as Takopi's actions: stable ids, begun and completed once. */
import { defined } from "../../core/defined.ts";
import { parseJson } from "../../core/json.ts";
import type { TakopiKind } from "../../dialects/takopi.ts";
import type { ContentPart, FileRefPart, Item, ToolCallPart, ToolKind, ToolResultPart } from "../../protocol/items.ts";
import { write } from "./lines.ts";
import type { ActionEntry, Rendering, Run } from "./state.ts";

const PREVIEW_LENGTH = 500;
const TITLE_LENGTH = 120;

export function clip(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length - 1)}…`;
}

/** Without case and separators: `WebSearch`, `web_search`. */
const webTools: ReadonlySet<string> = new Set(["websearch", "webfetch"]);

/** A look into the web is a search, however its tool is spelt. OpenCode's own `task` is a tool to Takopi. */
export function kindOf({ agent, name, kind }: { agent: string; name: string; kind: ToolKind }): TakopiKind {
  if (webTools.has(name.toLowerCase().replaceAll(/[^a-z]/g, ""))) return "web_search";
  return agent.startsWith("opencode") && name === "task" ? "tool" : kind;
}

export function beginAction(rendering: Rendering, { item, call }: { item: Item; call: ToolCallPart }): void {
  const { state } = rendering;
  if (state.actions.has(call.call_id)) return;
  const entry: ActionEntry = {
    id: call.call_id,
    kind: kindOf({ agent: state.agent, name: call.name, kind: call.tool_kind }),
    title: clip(call.title === "" ? call.name : call.title, TITLE_LENGTH),
    detail: { name: call.name, input: parsed(call.arguments), ...parentOf(item) },
    failed: item.status === "failed",
  };
  state.actions.set(call.call_id, entry);
  emitAction(rendering, { entry, phase: "started", ok: null });
}

export function endAction(
  rendering: Rendering,
  { item, result, failed }: { item: Item; result: ToolResultPart; failed: boolean },
): void {
  const { state } = rendering;
  const known = state.actions.get(result.call_id);
  state.actions.delete(result.call_id);
  const entry = known ?? {
    id: result.call_id,
    kind: "tool",
    title: "tool result",
    detail: parentOf(item),
    failed: true,
  };
  const detail = {
    ...entry.detail,
    result_preview: clip(result.output, PREVIEW_LENGTH),
    result_len: result.output.length,
    is_error: result.is_error,
    ...defined({ exit_code: result.exit_code }),
    ...changesOf(item.content),
  };
  emitAction(rendering, { entry: { ...entry, detail }, phase: "completed", ok: !(result.is_error || failed) });
}

/** The run ends before the call has a result: it was cut, or it goes on in the background. */
export function leaveActions(rendering: Rendering): void {
  for (const entry of rendering.state.actions.values()) {
    const message = entry.failed ? "It was cut off." : "It goes on in the background.";
    emitAction(rendering, { entry, phase: "completed", ok: !entry.failed, message });
  }
  rendering.state.actions.clear();
}

export function emitAction(
  rendering: Rendering,
  {
    entry,
    phase,
    ok,
    message = null,
    level = null,
  }: {
    entry: ActionEntry;
    phase: "started" | "updated" | "completed";
    ok: boolean | null;
    message?: string | null;
    level?: "info" | "warning" | "error" | null;
  },
): void {
  const { id, kind, title, detail } = entry;
  const { engine } = rendering.state;
  write(rendering, { type: "action", engine, phase, ok, message, level, action: { id, kind, title, detail } });
}

/** Something a person should see: an action that begins and ends in one line. */
export function emitNote(
  rendering: Rendering,
  {
    run,
    kind,
    name,
    title,
    detail = {},
    ok,
    level,
  }: {
    run: Run;
    kind: TakopiKind;
    name: string;
    title: string;
    detail?: Readonly<Record<string, unknown>>;
    ok: boolean;
    level: "info" | "warning" | "error";
  },
): void {
  const count = (run.counts.get(name) ?? 0) + 1;
  run.counts.set(name, count);
  const entry = { id: `franca.${name}.${count}`, kind, title: clip(title, TITLE_LENGTH), detail, failed: !ok };
  emitAction(rendering, { entry, phase: "completed", ok, message: ok ? null : title, level });
}

function changesOf(content: readonly ContentPart[]): { readonly changes?: readonly unknown[] } {
  const files = content.filter((part) => part.type === "file_ref").filter(({ action }) => action !== "read");
  if (files.length === 0) return {};
  return { changes: files.map((file) => ({ path: file.path, kind: changeOf(file) })) };
}

const changeOf = ({ change }: FileRefPart): "add" | "update" | "delete" =>
  change === "add" || change === "delete" ? change : "update";

const parentOf = (item: Item): { readonly parent?: string } =>
  item.subagent === undefined ? {} : { parent: item.subagent.parent_call_id ?? item.subagent.id };

function parsed(text: string): unknown {
  if (text === "") return {};
  try {
    return parseJson(text);
  } catch {
    return text;
  }
}
