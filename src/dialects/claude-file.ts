/**
 * A record of Claude Code's session files (`projects/<folder>/<session>.jsonl`), as versions 1.0.128 to 2.1.325 write
 * them. Only the fields we read are here; key order and everything else differs among versions.
 */
import { isOneOf, isShape, isString, type Shape, shapeOf } from "./shape.ts";

export interface ClaudeFileRecord {
  readonly type: "user" | "assistant" | "system" | "attachment";
  readonly uuid: string;
  readonly parent: string | null;
  readonly sidechain: boolean;
  /** Epoch milliseconds; null where the record has none. */
  readonly at: number | null;
  /** As it is written. */
  readonly native: Shape;
}

/** What one line of the file is. */
export type ClaudeFileLine =
  | { readonly kind: "record"; readonly record: ClaudeFileRecord }
  | { readonly kind: "title"; readonly rank: number; readonly title: string }
  /** On the list of what is not needed. */
  | { readonly kind: "skipped" }
  | { readonly kind: "unknown"; readonly type: string };

const isRecordType = isOneOf(["user", "assistant", "system", "attachment"]);

/**
 * Bookkeeping of the terminal, copies of requests, backups of files: nothing of the conversation that other records do
 * not have. `queue-operation` has no text; `cost-state` is a running total that says nothing of turns.
 */
const skipped: ReadonlySet<string> = new Set([
  "queue-operation",
  "agent-name",
  "mode",
  "permission-mode",
  "last-prompt",
  "tools-used",
  "atis-latch",
  "cost-state",
  "file-history-snapshot",
  "file-history-delta",
  "api-request",
  "api-request-shape",
  "api-request-blob",
  "progress",
  "tag",
  "pr-link",
  "agent-color",
  "agent-setting",
]);

/** A title a person gave wins over one of the model, and that over a summary. */
const titles: Readonly<Record<string, { readonly field: string; readonly rank: number }>> = {
  "custom-title": { field: "customTitle", rank: 3 },
  "ai-title": { field: "aiTitle", rank: 2 },
  summary: { field: "summary", rank: 1 },
};

export function readClaudeFileLine(value: unknown): ClaudeFileLine {
  const native = shapeOf(value);
  const type = isString(native.type) ? native.type : "";
  if (skipped.has(type)) return { kind: "skipped" };
  const named = Object.hasOwn(titles, type) ? titles[type] : undefined;
  if (named !== undefined) {
    const title = native[named.field];
    return isString(title) ? { kind: "title", rank: named.rank, title } : { kind: "skipped" };
  }
  if (!isRecordType(type) || !isString(native.uuid)) return { kind: "unknown", type };
  const parent = native.parentUuid ?? native.logicalParentUuid;
  return {
    kind: "record",
    record: {
      type,
      uuid: native.uuid,
      parent: isString(parent) ? parent : null,
      sidechain: native.isSidechain === true,
      at: isString(native.timestamp) ? instant(native.timestamp) : null,
      native,
    },
  };
}

function instant(text: string): number | null {
  const at = Date.parse(text);
  return Number.isNaN(at) ? null : at;
}

export interface ClaudeFileMessage {
  readonly id: string | null;
  readonly model: string | null;
  readonly stopReason: string | null;
  readonly usage: Shape | null;
  readonly content: string | readonly unknown[];
}

export function messageOf({ native }: ClaudeFileRecord): ClaudeFileMessage {
  const message = shapeOf(native.message);
  const { content } = message;
  return {
    id: isString(message.id) ? message.id : null,
    model: isString(message.model) ? message.model : null,
    stopReason: isString(message.stop_reason) ? message.stop_reason : null,
    usage: isShape(message.usage) ? message.usage : null,
    content: isString(content) || Array.isArray(content) ? content : [],
  };
}

/** What a user record is, by the words it begins with: the file has no field that says so in every version. */
export type ClaudeUserKind =
  | "prompt"
  | "results"
  | "summary"
  | "notification"
  | "interrupted"
  | "command"
  | "command-output"
  | "shell"
  | "shell-output"
  | "machine";

const beginnings: readonly (readonly [string, ClaudeUserKind])[] = [
  ["<command-name>", "command"],
  ["<command-message>", "command"],
  ["<local-command-stdout>", "command-output"],
  ["<local-command-stderr>", "command-output"],
  ["<local-command-", "machine"],
  ["<bash-input>", "shell"],
  ["<bash-stdout>", "shell-output"],
  ["<bash-stderr>", "shell-output"],
  ["<task-notification>", "notification"],
  ["<system-reminder>", "machine"],
  ["[Request interrupted by user", "interrupted"],
  ["Caveat: ", "machine"],
];

export function userKind(record: ClaudeFileRecord): ClaudeUserKind {
  const { content } = messageOf(record);
  if (Array.isArray(content) && content.some((block) => shapeOf(block).type === "tool_result")) return "results";
  if (record.native.isCompactSummary === true) return "summary";
  const text = textOf(content);
  const known = beginnings.find(([beginning]) => text.startsWith(beginning))?.[1];
  if (known !== undefined) return known;
  return record.native.isMeta === true ? "machine" : "prompt";
}

/** The text of a message, without its images and tools. */
export function textOf(content: string | readonly unknown[]): string {
  if (isString(content)) return content;
  return content
    .map(shapeOf)
    .flatMap(({ type, text }) => (type === "text" && isString(text) ? [text] : []))
    .join("\n");
}
