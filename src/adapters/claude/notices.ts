/** `system` lines: the session, its state, and what a person may want to read beside the conversation. */

import type { Send } from "../../core/agent-io.ts";
import { defined } from "../../core/defined.ts";
import type { ItemHead, Report } from "../../core/report.ts";
import { statusHead, statusPart, whole } from "../../core/report-builders.ts";
import {
  type ClaudeBoundary,
  type ClaudeHookResponse,
  type ClaudeInit,
  type ClaudeNotice,
  type ClaudeRetry,
  type ClaudeStatus,
  type ClaudeSystem,
  noticeSubtypes,
} from "../../dialects/claude.ts";
import { request } from "./requests.ts";
import { denial } from "./results.ts";
import { madeKey, type State } from "./state.ts";
import { onBackgroundTasks, onTaskNotification, onTaskStarted } from "./tasks.ts";
import { commandOutput } from "./user.ts";

export function onSystem(state: State, line: Exclude<ClaudeSystem, ClaudeInit>): (Report | Send)[] {
  switch (line.subtype) {
    case "status":
      return onStatus(state, line);
    case "api_retry":
      return onRetry(state, line);
    case "permission_denied":
      return denial(state, { call: line.tool_use_id, output: line.message });
    case "compact_boundary":
      return onBoundary(state, line);
    case "task_started":
      return onTaskStarted(state, line);
    case "task_notification":
      return onTaskNotification(state, line);
    case "background_tasks_changed":
      return onBackgroundTasks(state, line);
    case "hook_started":
      return [{ type: "open", item: hookHead(line) }];
    case "hook_response":
      return [onHookResponse(line)];
    case "session_title_changed":
      return [{ type: "session", title: line.title }];
    default:
      // `task_updated` and the quiet ones say nothing that another line does not say (docs/agents/claude.md).
      return isNotice(line) ? onNotice(state, line) : [];
  }
}

/** What the CLI says of itself at the start of every turn: the session's metadata. Only changes are reported. */
export function onInit(state: State, line: ClaudeInit): Report[] {
  return [
    {
      type: "session",
      native_session_id: line.session_id,
      metadata: {
        agent: "claude",
        agent_version: line.claude_code_version ?? null,
        model: line.model,
        directory: line.cwd ?? null,
        permission_mode: permissionModeOf(state, line.permissionMode),
        tools: line.tools ?? [],
        ...defined({ commands: line.slash_commands?.map((name) => ({ name })) }),
      },
    },
  ];
}

/** The CLI's words for permission modes, in ours where they differ. */
function permissionModeOf({ acceptsEdits }: State, mode: string | undefined): string | null {
  if (mode === "default" && acceptsEdits) return "acceptEdits";
  return mode === "bypassPermissions" ? "bypass" : (mode ?? null);
}

function onStatus(state: State, { status, permissionMode }: ClaudeStatus): Report[] {
  const out: Report[] = [];
  if (permissionMode !== undefined) {
    out.push({ type: "session", permission_mode: permissionModeOf(state, permissionMode) ?? permissionMode });
  }
  // `requesting` is sent before every model call: running as before.
  if (status === "compacting") out.push({ type: "state", state: "compacting" });
  else if (status === null && permissionMode === undefined) out.push({ type: "state", state: "running" });
  return out;
}

/** A key that is wrong stays wrong: the CLI would try for three minutes (transcripts/claude/error-401). */
const HOPELESS = [401, 403];
const HOPELESS_ATTEMPTS = 2;

function onRetry(state: State, line: ClaudeRetry): (Report | Send)[] {
  const { attempt, retry_delay_ms, error_status, error = "unknown" } = line;
  const status = error_status ?? null;
  const message = status === null ? `${error}: no answer from the provider` : `${error} (HTTP ${status})`;
  const out: (Report | Send)[] = [{ type: "state", state: "retrying", attempt, message, delayMs: retry_delay_ms }];
  if (status !== null && HOPELESS.includes(status) && attempt >= HOPELESS_ATTEMPTS && state.gaveUp === null) {
    state.gaveUp = `The provider refuses the credentials (HTTP ${status}). Check ANTHROPIC_API_KEY or log in again.`;
    out.push(request(state, { subtype: "interrupt" }));
  }
  return out;
}

function onBoundary(state: State, { uuid, compact_metadata = {} }: ClaudeBoundary): Report[] {
  const { trigger, pre_tokens, post_tokens } = compact_metadata;
  const sizes = pre_tokens === undefined ? "" : `${pre_tokens} tokens before, ${post_tokens ?? "unknown"} after`;
  const detail = [trigger ?? "", sizes].filter((text) => text !== "").join(": ");
  return notice({ label: "compacted", detail, ...namedBy(state, { uuid, name: "compaction" }) });
}

const hookHead = ({ hook_id, hook_name }: { hook_id: string; hook_name: string }): ItemHead =>
  statusHead({ key: `hook/${hook_id}`, native_item_id: hook_id, label: hook_name });

function onHookResponse(line: ClaudeHookResponse): Report {
  const { output = "", outcome } = line;
  const content = [statusPart(line.hook_name, output.trim())];
  const status = outcome === undefined || outcome === "success" ? "completed" : "failed";
  return { type: "close", key: `hook/${line.hook_id}`, status, content, item: hookHead(line) };
}

const noticesWithModel: readonly string[] = ["model_fallback", "model_refusal_fallback", "model_consent_fallback"];

function onNotice(state: State, line: ClaudeNotice): Report[] {
  const named = namedBy(state, { uuid: line.uuid, name: "notice" });
  const detail = line.content ?? line.text ?? "";
  if (line.subtype === "local_command" || line.subtype === "local_command_output") {
    return commandOutput(state, { text: detail, ...named });
  }
  const out = notice({ label: line.subtype, detail, ...named });
  if (noticesWithModel.includes(line.subtype) && line.fallback_model !== undefined) {
    out.push({ type: "session", model: line.fallback_model });
  }
  return out;
}

/** The line's own id, or a key of ours that is never shown as the agent's. */
export const namedBy = (state: State, { uuid, name }: { uuid: string | undefined; name: string }) => ({
  key: uuid ?? madeKey(state, name),
  native_item_id: uuid ?? null,
});

export const notice = (
  status: Pick<ItemHead, "key" | "native_item_id"> & { label: string; detail: string },
): Report[] => whole(statusHead(status));

const noticeNames: ReadonlySet<string> = new Set(noticeSubtypes);

const isNotice = (line: ClaudeSystem): line is ClaudeNotice => noticeNames.has(line.subtype);
