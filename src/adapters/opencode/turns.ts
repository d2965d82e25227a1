/**
 * When OpenCode is busy and when it is done. Busy comes several times per model step and idle up to twice, so both are
 * edges here: the first idle after a busy is the end, and the last assistant message shows its reason.
 */
import type { Send } from "../../core/agent-io.ts";
import type { EndReport, Report } from "../../core/report.ts";
import { itemHead, whole } from "../../core/report-builders.ts";
import type { OpenCodeAssistantMessage, OpenCodeError, OpenCodeStatus } from "../../dialects/opencode.ts";
import { sendAbort } from "./encode.ts";
import { addMessage, closeWords, headOf, isPast, isRoot } from "./parts.ts";
import { finishPart, isDone, type Message, messageOf, type State, type Thread, threadOf, turnPage } from "./state.ts";
import { closeSubagent, openSubagent } from "./subagents.ts";

export function onStatus(
  state: State,
  { thread, status }: { thread: Thread; status: OpenCodeStatus },
): (Report | Send)[] {
  state.statusSeen = true;
  switch (status.type) {
    case "busy":
      return onBusy(state, thread);
    case "retry": {
      const out = [...onBusy(state, thread), ...breakOff(state, thread)];
      thread.retrying = true;
      if (!isRoot(state, thread)) return out;
      const { attempt, message, next } = status;
      return [...out, { type: "state", state: "retrying", attempt, message, nextAt: next }];
    }
    case "idle":
      return onIdle(state, thread);
  }
}

export function onBusy(state: State, thread: Thread): (Report | Send)[] {
  const out: (Report | Send)[] = [];
  if (thread.retrying && isRoot(state, thread)) out.push({ type: "state", state: "running" });
  thread.retrying = false;
  if (thread.busy) return out;
  thread.busy = true;
  thread.error = null;
  thread.rejected = false;
  if (!isRoot(state, thread)) return [...out, ...openSubagent(state, thread)];
  state.lastError = null;
  out.push(...beginUnasked(state));
  if (state.abort === "wanted") out.push(...sendAbort(state));
  return out;
}

/** Work that we did not ask for: another client's prompt, or OpenCode's own idea. */
function beginUnasked(state: State): Report[] {
  if (state.prompted) return [{ type: "begin", origin: "agent" }];
  const { foreign } = state;
  state.foreign = [];
  // The other client's prompt is of this turn already.
  if (foreign.length > 0) return [{ type: "begin", origin: "user" }, ...foreign];
  turnPage(state);
  return [{ type: "begin", origin: "agent" }];
}

/** The stream broke and will be tried again: what was said so far stands as it is. */
function breakOff(state: State, thread: Thread): Report[] {
  const message = thread.latest === null ? undefined : messageOf(state, thread.latest.id);
  return message === undefined ? [] : closeWords(state, { message, failed: true });
}

/** An idle without a busy before it says nothing: OpenCode repeats it after errors and aborts, also when idle. */
export function onIdle(state: State, thread: Thread): Report[] {
  const aborting = isRoot(state, thread) && state.abort !== "no" && state.abort !== "wanted";
  if (!thread.busy && !aborting) return [];
  thread.busy = false;
  if (!isRoot(state, thread)) return closeSubagent({ thread, failed: outcome(thread).reason !== "completed" });
  if (!aborting) return [endTurn(state, thread)];
  state.abortIdles += 1;
  return settleAbort(state);
}

/**
 * An abort is over when OpenCode has answered it and its last words have come: they are the aborted message's, or a
 * second idle. Both may come after the answer (transcripts/opencode/permission-abort-pending).
 */
export function settleAbort(state: State): Report[] {
  const { abort, abortIdles, root } = state;
  if (root === null || abortIdles === 0) return [];
  const said = abortIdles > 1 || threadOf(state, root).latest?.completed !== false;
  return abort === "waited" || (abort === "answered" && said) ? endAborted(state) : [];
}

export function endTurn(state: State, thread: Thread): EndReport {
  state.prompted = false;
  state.abort = "no";
  state.abortIdles = 0;
  const end = outcome(thread);
  thread.retrying = false;
  return end;
}

export function endAborted(state: State): Report[] {
  state.prompted = false;
  state.abort = "no";
  state.abortIdles = 0;
  if (state.root !== null) threadOf(state, state.root).busy = false;
  return [{ type: "end", reason: "aborted" }];
}

const endOfError: ReadonlyMap<string, EndReport["reason"]> = new Map<string, EndReport["reason"]>([
  ["MessageAbortedError", "aborted"],
  ["ContentFilterError", "content_filter"],
  ["MessageOutputLengthError", "length"],
]);

const endOfFinish: ReadonlyMap<string, EndReport["reason"]> = new Map<string, EndReport["reason"]>([
  ["length", "length"],
  ["content-filter", "content_filter"],
  ["error", "error"],
]);

function outcome(thread: Thread): EndReport {
  const { error, latest } = thread;
  if (error !== null) {
    const reason = endOfError.get(error.name) ?? "error";
    return reason === "aborted" ? { type: "end", reason } : { type: "end", reason, error: errorInfo(error) };
  }
  if (thread.rejected) return { type: "end", reason: "rejected" };
  // Quirk: an abort while a retry is awaited leaves no error anywhere (transcripts/opencode/retry-429-abort).
  if (thread.retrying) return { type: "end", reason: "aborted" };
  return { type: "end", reason: endOfFinish.get(latest?.finish ?? "") ?? "completed" };
}

/** An error of the session. Only the idle after it ends the turn: a context overflow is followed by a compaction. */
export function onError(state: State, { thread, error }: { thread: Thread; error: OpenCodeError }): Report[] {
  thread.error = error;
  if (error.name === "MessageAbortedError") return [];
  const info = errorInfo(error);
  // Quirk: an unknown model is reported twice, the second time with a stack (transcripts/opencode/error-unknown-model).
  const summary = info.message.split("\n", 1)[0] ?? "";
  if (isRoot(state, thread)) {
    if (state.lastError !== null && summary.includes(state.lastError)) return [];
    state.lastError = summary;
  }
  const ends = !endOfError.has(error.name) && error.name !== "ContextOverflowError";
  const fatal = isRoot(state, thread) && ends;
  return [{ type: "error", message: info.message, code: info.code, details: info.details, fatal }];
}

const codes: ReadonlyMap<string, string> = new Map([
  ["ContextOverflowError", "context_overflow"],
  ["ContentFilterError", "content_filter"],
  ["MessageOutputLengthError", "output_limit"],
  ["ProviderAuthError", "authentication_failed"],
  ["StructuredOutputError", "structured_output"],
]);

function errorInfo(error: OpenCodeError): { message: string; code: string; details: unknown } {
  const { message, statusCode } = error.data ?? {};
  return {
    message: message ?? error.name,
    code: codes.get(error.name) ?? codeOfStatus(statusCode),
    details: error,
  };
}

function codeOfStatus(status: number | undefined): string {
  if (status === 401 || status === 403) return "authentication_failed";
  if (status === 429) return "rate_limited";
  return status === undefined ? "agent_error" : "provider_error";
}

/** A model step begins, goes on, or is over. */
export function onAssistantMessage(state: State, info: OpenCodeAssistantMessage): (Report | Send)[] {
  const { id, sessionID } = info;
  const out: (Report | Send)[] = [];
  const thread = threadOf(state, sessionID);
  let message = messageOf(state, id);
  if (message === undefined) {
    const past = isPast(state, info);
    message = addMessage(state, { messageID: id, sessionID, role: "assistant", summary: info.summary === true, past });
    if (past) return [];
    thread.latest = { id, finish: null, completed: false };
    thread.error = null;
    thread.rejected = false;
    if (!state.statusSeen) out.push(...onBusy(state, thread));
  }
  if (message.past) return [];
  const completed = info.time?.completed !== undefined;
  // Late words about an earlier message must not change how the present one ends.
  if (thread.latest === null || thread.latest.id === id) {
    thread.latest = { id, finish: info.finish ?? null, completed };
    if (info.error !== undefined) thread.error = info.error;
  }
  if (info.providerID !== undefined && info.modelID !== undefined && isRoot(state, thread)) {
    state.usedModel = { providerID: info.providerID, modelID: info.modelID };
    out.push({ type: "session", model: `${info.providerID}/${info.modelID}` });
  }
  if (info.structured !== undefined) out.push(...onStructured(state, { id, message, json: info.structured }));
  if (completed) out.push(...closeWords(state, { message, failed: info.error !== undefined }), ...settleAbort(state));
  return out;
}

/** The answer in the shape that was asked for comes with the message, not in a part of it. */
function onStructured(
  state: State,
  { id, message, json }: { id: string; message: Message; json: unknown },
): readonly Report[] {
  const key = `${id}/structured`;
  if (isDone(state, key)) return [];
  finishPart(state, { part: key, message });
  const head = headOf(state, { part: { id: key, messageID: id }, message });
  return whole(itemHead("message", { ...head, native_item_id: null, content: [{ type: "json", json }] }));
}
