/** Claude Code → reports, in both directions: lines of the CLI, lines of a recorded host, and our commands. */
import type { AdapterInput, Exit, Send } from "../../core/agent-io.ts";
import { type Fold, unreachable } from "../../core/fold.ts";
import type { Report } from "../../core/report.ts";
import type { ClaudeAssistant, ClaudeInit, ClaudeLine, ClaudeResultLine, ClaudeUser } from "../../dialects/claude.ts";
import { readBlock, readResult } from "../../dialects/claude-guard.ts";
import { isString } from "../../dialects/shape.ts";
import { onAssistant, onStream, SYNTHETIC } from "./blocks.ts";
import { encode, onAttached } from "./encode.ts";
import { onResult } from "./end.ts";
import { explainExit } from "./exit.ts";
import { onLegacyResult, onLegacyUse } from "./legacy.ts";
import { namedBy, notice, onInit, onSystem } from "./notices.ts";
import { onControlCancel, onControlRequest, onHostAnswer } from "./permissions.ts";
import { onControlResponse } from "./requests.ts";
import { forgetProcess, isRepeat, type State, start } from "./state.ts";
import { clearTodos } from "./todos.ts";
import { onUser, sayWaiting } from "./user.ts";

export const adapter: Fold<AdapterInput<ClaudeLine>, Report | Send, State> = {
  start,
  step(state, input) {
    switch (input.type) {
      case "line":
        return input.from === "host" ? onHostLine(state, input) : onLine(state, input.line);
      case "command":
        return encode(state, input.command);
      case "disconnected":
        return onDisconnected(state, input.exit);
      case "connected":
        state.acceptsEdits = input.options.permission_mode === "acceptEdits";
        return [];
      case "response":
        return onAttached(state, input);
      case "tick":
        return [];
      default:
        return unreachable(input);
    }
  },
};

function onLine(state: State, line: ClaudeLine): readonly (Report | Send)[] {
  const { uuid }: { readonly type: string; readonly uuid?: string } = line;
  const streamed = line.type === "stream_event" || line.type === "stream";
  if (isRepeat(state, { uuid, streamed })) return [];
  switch (line.type) {
    case "system":
      if (line.subtype === "init") return onTurnStart(state, line);
      return line.subtype === "status" || line.subtype === "api_retry"
        ? after(wake(state), onSystem(state, line))
        : onSystem(state, line);
    case "assistant":
      return after(wake(state), line.message.model === SYNTHETIC ? onSynthetic(state, line) : onAssistant(state, line));
    case "user":
      return onUser(state, line);
    case "stream_event":
    case "stream":
      return after(wake(state), onStream(state, line));
    case "result":
      return onTurnEnd(state, line);
    case "tool_use":
      return onLegacyUse(state, line);
    case "tool_result":
      return onLegacyResult(state, line);
    case "command_lifecycle":
      return line.state === "started" && state.working ? sayWaiting(state, line.command_uuid) : [];
    case "conversation_reset":
      return [
        ...clearTodos(state.todos),
        ...notice({ label: "conversation_reset", detail: "", ...namedBy(state, { uuid, name: "reset" }) }),
      ];
    case "control_request":
      return onControlRequest(state, line);
    case "control_response":
      return onControlResponse(state, line);
    case "control_cancel_request":
      return onControlCancel(state, line.request_id);
    default:
      // The quiet ones: they are ignored (docs/agents/claude.md).
      return [];
  }
}

/** One after the other. Mostly nothing comes before, and lists are not copied for nothing. */
const after = <One, Other>(first: readonly One[], then: readonly Other[]): readonly (One | Other)[] =>
  first.length === 0 ? then : [...first, ...then];

/** `init` comes at the start of every turn, also of one that the CLI begins by itself. */
function onTurnStart(state: State, line: ClaudeInit): Report[] {
  const out = onInit(state, line);
  if (line.user_message_uuids !== undefined) state.namesMessages = true;
  if (!state.working && isForWaiting(state, line)) return [...out, ...wake(state)];
  const ours = state.working || (state.sent.size > 0 && state.waiting.length === 0);
  state.working = true;
  return [...out, { type: "begin", origin: ours ? "user" : "background" }];
}

/** Recordings only: whether the turn that begins answers a message of the host, and is not one of the CLI's own. */
function isForWaiting({ waiting, namesMessages }: State, { user_message_uuids = [] }: ClaudeInit): boolean {
  const [first] = waiting;
  if (first === undefined) return false;
  return first.uuid === null || !namesMessages || user_message_uuids.includes(first.uuid);
}

function onTurnEnd(state: State, printed: ClaudeResultLine): Report[] {
  const line = readResult(printed);
  const out = wake(state);
  for (const uuid of line.user_message_uuids ?? []) out.push(...sayWaiting(state, uuid));
  // With --output-format json no other line has the session's id.
  if (!line.is_error && line.session_id !== undefined)
    out.push({ type: "session", native_session_id: line.session_id });
  out.push(...onResult(state, line));
  return out;
}

/** Recordings only: the CLI begins to work on a message that the host has sent. */
function wake(state: State): Report[] {
  if (state.working || state.waiting.length === 0) return [];
  state.working = true;
  return [{ type: "begin", origin: "user" }, ...sayWaiting(state, null)];
}

/** What ends a turn with a reason of its own, or is followed by a compaction. */
const LIMITS = ["max_output_tokens", "refusal", "prompt_too_long"];

const FILLERS = ["No response requested.", "(no content)"];

/** Written by the CLI in the model's place: an error, or what a slash command printed. */
function onSynthetic(state: State, line: ClaudeAssistant): Report[] {
  const text = line.message.content
    .map(readBlock)
    .flatMap((block) => (block.type === "text" ? [block.text] : []))
    .join("\n");
  if (line.is_api_error_message === true || line.error !== undefined) {
    const refused = line.message.stop_reason === "refusal" ? "refusal" : undefined;
    const named = refused ?? line.api_error_type ?? line.api_error ?? line.error ?? null;
    const code = named === "unknown" ? "agent_error" : named;
    const status = line.api_error_status ?? null;
    if (line.parent_tool_use_id === null) state.lastError = line.error ?? null;
    // The CLI writes it when it gives up: its result follows, as an error unless a limit or a refusal was reached.
    const fatal = line.parent_tool_use_id === null && !LIMITS.includes(code ?? "");
    return [{ type: "error", message: text, code, details: { status }, fatal }];
  }
  return FILLERS.includes(text) ? [] : onAssistant(state, line);
}

function onHostLine(state: State, { line, place }: { readonly line: ClaudeLine; readonly place?: number }): Report[] {
  switch (line.type) {
    case "user":
      return onHostMessage(state, line, place);
    case "control_request":
      state.requested.set(line.request_id, line.request.subtype);
      if (line.request.subtype === "interrupt" && state.working) state.interrupting = true;
      return [];
    case "control_response":
      return onHostAnswer(state, line);
    default:
      return [];
  }
}

/** Said when the CLI takes it up: a message sent while it works may join the turn or begin the next one. */
function onHostMessage(state: State, { uuid, message }: ClaudeUser, place: number | undefined): Report[] {
  state.waiting.push({ host: place, uuid: isString(uuid) ? uuid : null, content: message.content });
  if (isString(uuid)) state.sent.add(uuid);
  return [];
}

function onDisconnected(state: State, exit: Exit): Report[] {
  const out = wake(state);
  while (state.waiting.length > 0) out.push(...sayWaiting(state, null));
  const error = explainExit(exit);
  if (error !== null && state.working) out.push({ type: "end", reason: "error", error });
  forgetProcess(state);
  return out;
}
