/**
 * A line of a Codex rollout (`sessions/…/rollout-<time>-<thread>.jsonl`), as versions 0.50 to 0.166 write them:
 * `{timestamp, type, payload}`. Its items are the app-server's in another spelling; here they are given that of the
 * app-server.
 */
import { isNumber, isString, type Shape, shapeOf } from "./shape.ts";

export interface CodexFileLine {
  /** `event_msg/task_started`, `response_item/message`, `session_meta`, … */
  readonly kind: string;
  readonly payload: Shape;
  /** Epoch milliseconds. */
  readonly at: number | null;
  /** Its number in the thread, where the version counts. */
  readonly ordinal: number | null;
}

export function readCodexFileLine(value: unknown): CodexFileLine {
  const line = shapeOf(value);
  const payload = shapeOf(line.payload);
  const type = isString(line.type) ? line.type : "";
  const nested = (type === "event_msg" || type === "response_item") && isString(payload.type);
  const at = isString(line.timestamp) ? Date.parse(line.timestamp) : Number.NaN;
  return {
    kind: nested ? `${type}/${payload.type}` : type,
    payload,
    at: Number.isNaN(at) ? null : at,
    ordinal: isNumber(line.ordinal) ? line.ordinal : null,
  };
}

/** Kinds that say nothing a conversation needs, or repeat what others say. */
export const skippedKinds: ReadonlySet<string> = new Set([
  "world_state",
  "event_msg/thread_settings_applied",
  "event_msg/context_compacted",
  "event_msg/agent_reasoning_raw_content",
  "event_msg/agent_reasoning_section_break",
  "event_msg/entered_review_mode",
  "event_msg/exited_review_mode",
  "event_msg/undo_completed",
  "event_msg/thread_name_updated",
  "event_msg/web_search_end",
  "event_msg/exec_command_end",
  "event_msg/patch_apply_end",
  "event_msg/mcp_tool_call_end",
  "event_msg/view_image_tool_call",
  "event_msg/plan_delta",
  "event_msg/item_started",
  // Machine texts, and the model's side of what the items above say.
  "response_item/message",
  "response_item/reasoning",
  "response_item/additional_tools",
  "response_item/ghost_snapshot",
  "response_item/compaction",
  "response_item/other",
  "retained_context",
  // Counted by `token_count`, which every version has.
  "token_usage_record",
]);

const camel = (name: string): string => name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());

/** `CommandExecution` → `commandExecution`. */
const uncapitalised = (name: string): string => `${name.slice(0, 1).toLowerCase()}${name.slice(1)}`;

/** Keys in the app-server's spelling; what is inside them stays. */
export const renamed = (shape: Shape): Shape =>
  Object.fromEntries(Object.entries(shape).map(([name, value]) => [camel(name), value]));

/** An item of `item_completed` as the app-server sends it. */
export function itemOf(item: Shape): Shape {
  const type = isString(item.type) ? uncapitalised(item.type) : "";
  const base = { ...renamed(item), type };
  switch (type) {
    case "agentMessage":
      return { ...base, text: textsOf(item.content) };
    case "reasoning":
      return { ...base, summary: listOf(item.summary_text), content: listOf(item.raw_content) };
    case "commandExecution":
      return {
        ...base,
        command: commandLine(item.command),
        cwd: pathOf(item.cwd),
        status: camelText(item.status),
        source: camelText(item.source),
        commandActions: actionsOf(item.parsed_cmd, pathOf(item.cwd)),
      };
    case "fileChange":
      return { ...base, status: camelText(item.status), changes: changesOf(item.changes) };
    case "collabAgentToolCall":
      return {
        ...base,
        tool: camelText(item.tool),
        status: camelText(item.status),
        agentsStates: Object.fromEntries(
          Object.entries(shapeOf(item.agents_states)).map(([id, state]) => [
            id,
            { status: camelText(isString(state) ? state : shapeOf(state).status) },
          ]),
        ),
      };
    default:
      return { ...base, ...(isString(item.status) ? { status: camelText(item.status) } : {}) };
  }
}

const camelText = (value: unknown): unknown => (isString(value) ? camel(value) : value);

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

export const textsOf = (value: unknown): string =>
  listOf(value)
    .map(shapeOf)
    .flatMap(({ text }) => (isString(text) ? [text] : []))
    .join("");

const pathOf = (value: unknown): string => (isString(value) ? value.replace(/^file:\/\//, "") : "");

const PLAIN = /^[A-Za-z0-9_@%+=:,./-]+$/;

/** Words as one line of a shell. */
export function commandLine(value: unknown): string {
  if (isString(value)) return value;
  return listOf(value)
    .filter(isString)
    .map((word) => (PLAIN.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`))
    .join(" ");
}

/** The app-server gives whole paths. */
function actionsOf(value: unknown, cwd: string): Shape[] {
  return listOf(value).map((given) => {
    const { path, ...action } = shapeOf(given);
    const named = {
      ...action,
      type: isString(action.type) ? camel(action.type) : "unknown",
      command: action.cmd ?? "",
    };
    return isString(path) ? { ...named, path: path.startsWith("/") ? path : `${cwd}/${path}` } : named;
  });
}

/** `{path: {type, unified_diff | content}}` → the app-server's list. */
function changesOf(value: unknown): Shape[] {
  return Object.entries(shapeOf(value)).map(([path, given]) => {
    const change = shapeOf(given);
    const { type, unified_diff, content, move_path } = change;
    const diff = isString(unified_diff) ? unified_diff : isString(content) ? content : "";
    return { path, diff, kind: { type, ...(isString(move_path) ? { move_path } : {}) } };
  });
}

const COUNTS = ["input_tokens", "cached_input_tokens", "output_tokens", "reasoning_output_tokens", "total_tokens"];

/** Counts of tokens in the app-server's spelling; what is missing is nothing. */
export function countsOf(value: unknown): Shape {
  const counts = shapeOf(value);
  const known = Object.fromEntries(COUNTS.map((name) => [camel(name), isNumber(counts[name]) ? counts[name] : 0]));
  return isNumber(counts.cache_write_input_tokens)
    ? { ...known, cacheWriteInputTokens: counts.cache_write_input_tokens }
    : known;
}
