/** `codex exec --json` → reports. A reduced form of the app-server's stream: no deltas, no requests, no call ids. */
import type { AdapterInput, Send } from "../../core/agent-io.ts";
import { type Fold, unreachable } from "../../core/fold.ts";
import type { EndReport, Report } from "../../core/report.ts";
import {
  closeCall,
  emptyMessage,
  itemHead,
  openCall,
  resultHead,
  resultKey,
  statusHead,
  whole,
} from "../../core/report-builders.ts";
import type { ExecItem, ExecItemOf, ExecLine, ExecUsage } from "../../dialects/codex-exec.ts";
import type { EndReason } from "../../protocol/events.ts";
import type { ContentPart } from "../../protocol/items.ts";
import { callPart, isTool, resultParts, type ToolItem } from "./tools.ts";

export interface State {
  thread: string | null;
  /** Item ids begin again in every process, so the turn's number is part of the key. */
  turns: number;
  /** Tools at work, by key. */
  readonly running: Set<string>;
  /** The message item that tool calls belong to, and how many model calls were seen: a message begins one. */
  parent: string | null;
}

export const adapter: Fold<AdapterInput<ExecLine>, Report | Send, State> = {
  start: () => ({ thread: null, turns: 0, running: new Set(), parent: null }),
  step(state, input) {
    return input.type === "line" && input.from === "agent" ? onLine(state, input.line) : [];
  },
};

function onLine(state: State, line: ExecLine): Report[] {
  switch (line.type) {
    case "thread.started":
      state.thread = line.thread_id;
      return [{ type: "session", native_session_id: line.thread_id, metadata: { agent: "codex" } }];
    case "turn.started":
      state.turns += 1;
      state.parent = null;
      state.running.clear();
      return [{ type: "begin", origin: "agent" }];
    case "turn.completed":
      return [usage(line.usage), { type: "end", reason: "completed" }];
    case "turn.failed":
      return [failed(line.error.message)];
    case "item.started":
    case "item.updated":
    case "item.completed":
      return onItem(state, line);
    case "error":
      return onError(line.message);
    default:
      return unreachable(line);
  }
}

/** The thread's own total, also of turns before this process (transcripts/codex-exec/resume). */
function usage(counts: ExecUsage): Report {
  const reasoning = counts.reasoning_output_tokens ?? 0;
  const cacheWrite = counts.cache_write_input_tokens ?? 0;
  const tokens = {
    input: Math.max(0, counts.input_tokens - counts.cached_input_tokens - cacheWrite),
    output: Math.max(0, counts.output_tokens - reasoning),
    reasoning,
    cache_read: counts.cached_input_tokens,
    cache_write: cacheWrite,
  };
  return { type: "usage", scope: "session", mode: "total", tokens };
}

const cut: ReadonlyMap<string, EndReason> = new Map([
  ["max_output_tokens", "length"],
  ["content_filter", "content_filter"],
]);

function failed(message: string): EndReport {
  const [, why] = /^Incomplete response returned, reason: (\w+)/.exec(message) ?? [];
  const reason = cut.get(why ?? "") ?? "error";
  return { type: "end", reason, error: { message, code: why ?? "agent_error", details: null } };
}

function onError(message: string): Report[] {
  const [, attempt] = /^Reconnecting\D*(\d+)\s*\/\s*\d+/.exec(message) ?? [];
  if (attempt === undefined) {
    const { reason, error } = failed(message);
    return [{ type: "error", message, code: error?.code ?? null, fatal: reason === "error" }];
  }
  return [{ type: "state", state: "retrying", attempt: Number(attempt), message, delayMs: 0 }];
}

type ItemLine = Extract<ExecLine, { item: ExecItem }>;

function onItem(state: State, { type, item }: ItemLine): Report[] {
  const key = `${state.turns}/${item.id}`;
  if (isTool(item)) return onTool(state, { key, item, done: type === "item.completed" });
  switch (item.type) {
    case "agent_message":
    case "reasoning":
      return type === "item.completed" ? onBlock(state, { key, item }) : [];
    case "todo_list":
      return [{ type: "todo", todos: item.items.map(asTodo) }];
    case "error":
      return whole(statusHead({ key, native_item_id: item.id, label: "Warning", detail: item.message }));
    default:
      return unreachable(item);
  }
}

const asTodo = ({ text, completed }: { text: string; completed: boolean }, index: number) => ({
  id: String(index + 1),
  content: text,
  status: completed ? ("completed" as const) : ("pending" as const),
});

function onBlock(
  state: State,
  { key, item }: { key: string; item: ExecItemOf<"agent_message" | "reasoning"> },
): Report[] {
  state.parent = key;
  const { id, text } = item;
  const part: ContentPart =
    item.type === "reasoning" ? { type: "reasoning", text, visibility: "public" } : { type: "text", text };
  return whole(itemHead("message", { key, native_item_id: id, message_id: key, content: [part] }));
}

function onTool(state: State, { key, item, done }: { key: string; item: ToolItem; done: boolean }): Report[] {
  const out = state.running.has(key) ? [] : openTool(state, { key, item });
  if (!done) return out;
  state.running.delete(key);
  const { content, isError, denied } = resultParts(item);
  return [...out, { type: "close", key: resultKey(key), status: isError ? "failed" : "completed", content, denied }];
}

/** A turn that begins with a tool gets an empty message, so that the call has a parent. */
function openTool(state: State, { key, item }: { key: string; item: ToolItem }): Report[] {
  state.running.add(key);
  const out: Report[] = [];
  if (state.parent === null) {
    state.parent = `${key}/empty`;
    out.push(...emptyMessage({ key: state.parent, message_id: state.parent }, { synthetic: true }));
  }
  const part = callPart(item);
  const call = { key, native_item_id: item.id };
  out.push(openCall({ ...call, message_id: state.parent, parent: state.parent }, part), closeCall(key, part));
  out.push({ type: "open", item: resultHead(call, item.id) });
  return out;
}
