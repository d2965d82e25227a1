/**
 * What both sides of the Agent Client Protocol share: the adapter that drives its agents, and the projection by which
 * editors drive ours. Words and numbers of the protocol, and how ours correspond to them.
 */
import type { PermissionReply } from "../protocol/commands.ts";
import type { EndReason } from "../protocol/events.ts";
import type { ToolKind } from "../protocol/items.ts";
import type { AgentReply } from "./agent-io.ts";

export const ACP_VERSION = 1;

export const INTERNAL_ERROR = -32603;
export const AUTH_REQUIRED = -32000;
export const RESOURCE_NOT_FOUND = -32002;
export const REQUEST_CANCELLED = -32800;

export type StopReason = "end_turn" | "max_tokens" | "max_turn_requests" | "refusal" | "cancelled";

/** How a turn ended by its stop reason. `end_turn` may hide a failure, `cancelled` a refusal: the caller looks. */
export const endReasons: Readonly<Record<StopReason, EndReason>> = {
  end_turn: "completed",
  max_tokens: "length",
  max_turn_requests: "max_steps",
  refusal: "refusal",
  cancelled: "aborted",
};

export const isStopReason = (value: unknown): value is StopReason => typeof value === "string" && value in endReasons;

/** The stop reason that says how a turn ended; null: it is said by an error. */
export const stopReasons: Readonly<Record<EndReason, StopReason | null>> = {
  completed: "end_turn",
  rejected: "end_turn",
  aborted: "cancelled",
  length: "max_tokens",
  max_steps: "max_turn_requests",
  refusal: "refusal",
  content_filter: "refusal",
  interrupted: null,
  error: null,
  budget: null,
};

export type AcpToolKind =
  | "read"
  | "edit"
  | "delete"
  | "move"
  | "search"
  | "execute"
  | "think"
  | "fetch"
  | "switch_mode"
  | "other";

const noteNames = /^(todo|set \d+ todo|update_?plan|write_?todos|askuser|ask_user)/i;
const subagentNames = /^(task|agent|subagent|spawn_?agent|launch_?agent|delegate)/i;

/** Our kind of a tool. The protocol's kinds are few, so names of todo tools and subagents count too. */
export function toolKindOf({ kind, name }: { readonly kind: string; readonly name: string }): ToolKind {
  const plain = name.replaceAll(/[-\s]/g, "_");
  if (noteNames.test(plain) || /_?todos?(_|$)/i.test(plain)) return "note";
  switch (kind) {
    case "execute":
      return "command";
    case "edit":
    case "delete":
    case "move":
      return "file_change";
    case "fetch":
      return "web_search";
    case "think":
    case "other":
      return subagentNames.test(plain) ? "subagent" : "tool";
    default:
      return "tool";
  }
}

/** The protocol's kind of one of our tools. */
export function acpKindOf({ tool_kind, name }: { readonly tool_kind: ToolKind; readonly name: string }): AcpToolKind {
  switch (tool_kind) {
    case "command":
      return "execute";
    case "file_change":
      return "edit";
    case "web_search":
      return "fetch";
    case "subagent":
    case "note":
      return "think";
    case "tool":
      if (/^(read|view|cat)/i.test(name)) return "read";
      if (/^(glob|grep|list|ls|search|find)/i.test(name)) return "search";
      return "other";
  }
}

export interface PermissionOption {
  readonly optionId: string;
  readonly name: string;
  readonly kind: string;
}

/** Returns the option for a reply, by its kind: ids and order have no meaning. Null if there is none. */
export function optionFor(options: readonly PermissionOption[], reply: AgentReply): PermissionOption | null {
  const of = (kind: string): PermissionOption[] => options.filter((option) => option.kind === kind);
  switch (reply) {
    case "once":
      return of("allow_once")[0] ?? null;
    case "reject":
      return of("reject_once")[0] ?? of("reject_always")[0] ?? null;
  }
}

/** What the choice of an option means. */
export function replyOf(option: Pick<PermissionOption, "kind"> | undefined): PermissionReply {
  if (option?.kind === "allow_once") return "once";
  return option?.kind === "allow_always" ? "always" : "reject";
}
