/** Getting a session, learning from answers, and closing the gap after the event stream was cut: it has no replay. */

import type { Send } from "../../core/agent-io.ts";
import { defined } from "../../core/defined.ts";
import type { LaunchOptions } from "../../core/launch.ts";
import type { Report } from "../../core/report.ts";
import { failedEnd } from "../../core/report-builders.ts";
import type {
  OpenCodeAssistantMessage,
  OpenCodeMessage,
  OpenCodePart,
  OpenCodePermission,
  OpenCodePermissionRule,
  OpenCodeQuestion,
  OpenCodeSession,
} from "../../dialects/opencode.ts";
import {
  isOpenCodeMessage,
  isOpenCodePart,
  isOpenCodePermission,
  isOpenCodeQuestion,
  isOpenCodeSession,
  isOpenCodeStatus,
} from "../../dialects/opencode-stream.ts";
import { answerTo, onChanged, onRemoval } from "./asks.ts";
import { ask, chosenFrom, encode } from "./encode.ts";
import { onPayload, sessionReport } from "./events.ts";
import { onNoted } from "./notes.ts";
import { addMessage } from "./parts.ts";
import { rulesOf } from "./permission-rules.ts";
import { type Asked, messageOf, type State, threadOf } from "./state.ts";
import { endAborted, endTurn, onStatus, settleAbort } from "./turns.ts";

type Out = (Report | Send)[];

const REREAD_MESSAGES = 100;

export function onConnected(state: State, options: LaunchOptions): Out {
  const again = state.connected;
  state.options = options;
  state.connected = true;
  if (again) return onStreamOpened(state);
  state.chosen = chosenFrom(options);
  const { resume } = options;
  if (resume === null) {
    const permission = rulesOf(options);
    const body = defined({ permission: permission.length === 0 ? undefined : permission });
    return [ask(state, "create", { path: "/session", body, vital: true })];
  }
  if (options.fork) {
    const body = defined({ messageID: options.fork_at ?? undefined });
    return [ask(state, "create", { path: `/session/${resume}/fork`, body, vital: true })];
  }
  return [ask(state, "resume", { method: "GET", path: `/session/${resume}`, vital: true })];
}

/** The first line after the stream opens. If our session is known already, the stream was cut in between. */
export const onStreamOpened = (state: State): Out => (state.connected && state.root !== null ? reread(state) : []);

interface Answer {
  readonly id: string;
  readonly status: number;
  readonly body?: unknown;
  readonly at: number;
}

export function onResponse(state: State, { id, status, body, at }: Answer): Out {
  const about = state.asked.get(id);
  state.asked.delete(id);
  if (about === undefined) return [];
  const said = answerTo(state, { id, status, body });
  if (status < 200 || status >= 300) {
    state.removals.delete(id);
    return [...onRefused(state, { about, status, body }), ...said];
  }
  return [...onAnswer(state, { about, id, body, at }), ...said];
}

function onAnswer(state: State, { about, id, body, at }: { about: Asked; id: string; body: unknown; at: number }): Out {
  switch (about) {
    case "create":
      return isSession(body) ? onCreated(state, body) : [];
    case "resume":
      return isSession(body) ? onResumed(state, body) : [];
    case "past":
      return onPast(state, body);
    case "abort":
      return onAborted(state);
    case "aborted":
      return onAbortWaited(state);
    case "messages":
      return [...onMessages(state, { body, at }), ...askNext(state, "permissions", "/permission")];
    case "permissions":
      return [...onPending(state, { body, at }), ...askNext(state, "questions", "/question")];
    case "questions":
      return [...onPending(state, { body, at }), ...askNext(state, "status", "/session/status")];
    case "status":
      return onStatusRead(state, body);
    case "liveness":
      return onLiveness(state, body);
    case "revert":
    case "unrevert":
    case "share":
    case "unshare":
      return isSession(body) ? onChanged(about, body) : [];
    case "removal":
      return onRemoval(state, id);
    case "note":
      return isReadMessage(body) ? onNoted(state, { ...body, at }) : [];
    case "prompt":
    case "work":
    case "other":
      return [];
  }
}

/** One question after the other; in a recording they are there already. */
const askNext = (state: State, about: Asked, path: string): Send[] =>
  state.connected ? [ask(state, about, { method: "GET", path })] : [];

/** Only a refused prompt ends something; the machine has its own patience with an abort. */
function onRefused(state: State, { about, status, body }: { about: Asked; status: number; body: unknown }): Out {
  if (about === "abort") state.abort = "no";
  // Commands and compactions answer at their end, which may be later than anyone waits for an answer.
  const taken = about === "work" && status === 0;
  if ((about !== "prompt" && about !== "work") || taken || !state.prompted) return [];
  state.prompted = false;
  const said = status === 0 ? "could not be reached" : `answered ${status}`;
  const message = `OpenCode did not take the prompt: it ${said}${reasonIn(body)}.`;
  const code = status === 404 ? "session_not_found" : "prompt_refused";
  const error = { message, code, details: { status, body: body ?? null } };
  return failedEnd(error);
}

function reasonIn(body: unknown): string {
  if (typeof body !== "object" || body === null || !("data" in body)) return "";
  const { data } = body;
  if (typeof data !== "object" || data === null || !("message" in data)) return "";
  return typeof data.message === "string" ? ` (${data.message})` : "";
}

const isSession = (body: unknown): body is OpenCodeSession => isOpenCodeSession(body);

function onCreated(state: State, info: OpenCodeSession): Out {
  // In a recording the client may make several sessions; the one that this fold follows is known by then.
  if (state.root !== null && state.root !== info.id) return [];
  state.root = info.id;
  return [sessionReport(state, info), ...releaseWaiting(state)];
}

/** The session is still there. Rules are added to those it has, unless they are its last ones already. */
function onResumed(state: State, info: OpenCodeSession): Out {
  const out: Out = [sessionReport(state, info)];
  const wanted = state.options === null ? [] : rulesOf(state.options);
  const last = (info.permission ?? []).slice(-wanted.length);
  const isThere = wanted.every((rule, index) => last[index] !== undefined && isSameRule(last[index], rule));
  const permission = isThere ? [] : wanted;
  const path = `/session/${info.id}`;
  if (!state.connected) return out;
  if (permission.length > 0) out.push(ask(state, "other", { method: "PATCH", path, body: { permission } }));
  // The last message marks where the past ends.
  return [...out, ask(state, "past", { method: "GET", path: `${path}/message?limit=1`, vital: true })];
}

const isSameRule = (one: OpenCodePermissionRule, other: OpenCodePermissionRule): boolean =>
  one.permission === other.permission && one.pattern === other.pattern && one.action === other.action;

function onPast(state: State, body: unknown): Out {
  state.root ??= state.options?.resume ?? null;
  for (const { info } of messagesIn(body)) addMessage(state, { ...idsOf(info), role: info.role });
  return releaseWaiting(state);
}

const idsOf = (info: OpenCodeMessage) => ({ messageID: info.id, sessionID: info.sessionID });

function releaseWaiting(state: State): Out {
  const { waiting } = state;
  state.waiting = [];
  return waiting.flatMap((command) => encode(state, command));
}

/** Everything is written when an abort is answered, but the last events may be on their way: one more question. */
function onAborted(state: State): Out {
  if (state.abort !== "sent") return [];
  state.abort = "answered";
  const ended = settleAbort(state);
  return ended.length > 0 ? ended : askNext(state, "aborted", "/session/status");
}

function onAbortWaited(state: State): Out {
  if (state.abort !== "answered") return [];
  state.abort = "waited";
  return settleAbort(state);
}

/** We were away: texts that are being written have a hole, and all else is read again. */
function reread(state: State): Out {
  beginReread(state);
  return askNext(state, "messages", `/session/${state.root}/message?limit=${REREAD_MESSAGES}`);
}

export function beginReread(state: State): void {
  state.rereading = true;
  for (const part of state.parts.values()) if (part.type !== "tool") part.torn = true;
}

interface ReadMessage {
  readonly info: OpenCodeMessage;
  readonly parts: readonly OpenCodePart[];
}

function messagesIn(body: unknown): readonly ReadMessage[] {
  return Array.isArray(body) ? body.filter(isReadMessage) : [];
}

function isReadMessage(value: unknown): value is ReadMessage {
  if (typeof value !== "object" || value === null || !("info" in value) || !("parts" in value)) return false;
  return isOpenCodeMessage(value.info) && Array.isArray(value.parts) && value.parts.every(isOpenCodePart);
}

/** The messages as they are now, read as if their events had come: what is known already is ignored. */
function onMessages(state: State, { body, at }: { body: unknown; at: number }): Out {
  const read = messagesIn(body);
  return read.slice(firstNew(state, read)).flatMap(({ info, parts }) => {
    const sessionID = info.sessionID;
    const early = info.role === "assistant" ? withoutEnd(info) : info;
    return [
      { type: "message.updated" as const, properties: { sessionID, info: early } },
      ...parts.map((part) => ({ type: "message.part.updated" as const, properties: { sessionID, part } })),
      { type: "message.updated" as const, properties: { sessionID, info } },
    ].flatMap((payload) => onPayload(state, { payload, at }));
  });
}

/** As it was before its parts were sent. */
function withoutEnd(info: OpenCodeAssistantMessage): OpenCodeAssistantMessage {
  return info.time === undefined ? info : { ...info, time: { created: info.time.created } };
}

/** Where this turn's messages begin in the list: at the first that it knows, or after the last of the turn before. */
function firstNew(state: State, read: readonly ReadMessage[]): number {
  const known = read.findIndex(({ info }) => state.messages.has(info.id));
  if (known !== -1) return known;
  return read.findLastIndex(({ info }) => messageOf(state, info.id) !== undefined) + 1;
}

/** Requests that were made while we were away. Those of other sessions are not ours to ask. */
function onPending(state: State, { body, at }: { body: unknown; at: number }): Out {
  if (!Array.isArray(body)) return [];
  return body.flatMap((asked): Out => {
    const known = typeof asked === "object" && asked !== null && "sessionID" in asked ? asked.sessionID : null;
    if (typeof known !== "string" || !state.threads.has(known)) return [];
    if (!threadOf(state, known).busy) return [];
    if (isPermission(asked)) return onPayload(state, { payload: { type: "permission.asked", properties: asked }, at });
    if (isQuestion(asked)) return onPayload(state, { payload: { type: "question.asked", properties: asked }, at });
    return [];
  });
}

const isPermission = (asked: object): asked is OpenCodePermission => isOpenCodePermission({ ...asked });
const isQuestion = (asked: object): asked is OpenCodeQuestion => isOpenCodeQuestion({ ...asked });

/** Last of the reread: whether the turn ended while we were away. */
function onStatusRead(state: State, body: unknown): Out {
  state.rereading = false;
  const { root } = state;
  if (root === null) return [];
  const thread = threadOf(state, root);
  const status = statusIn(body, root);
  if (status !== null) {
    // A stale busy must not begin a turn: only one that we were waiting for counts.
    return thread.busy || state.prompted ? onStatus(state, { thread, status }) : [];
  }
  const spoken = thread.latest?.completed === true && state.messages.has(thread.latest.id);
  if (!thread.busy && !(state.prompted && spoken)) return [];
  thread.busy = false;
  return state.abort === "no" ? [endTurn(state, thread)] : endAborted(state);
}

function statusIn(body: unknown, root: string) {
  if (typeof body !== "object" || body === null) return null;
  const status: unknown = Object.entries(body).find(([id]) => id === root)?.[1];
  return isOpenCodeStatus(status) && status.type !== "idle" ? status : null;
}

/** After a silence we ask for the status, ever more seldom: a lost idle must not leave the turn open for ever. */
export function onHeartbeat(state: State): Out {
  const { root } = state;
  state.silence += 1;
  const due = state.silence > 1 && Number.isInteger(Math.log2(state.silence));
  if (root === null || !due || state.rereading) return [];
  if (!threadOf(state, root).busy && !state.prompted) return [];
  return askNext(state, "liveness", "/session/status");
}

function onLiveness(state: State, body: unknown): Out {
  const { root } = state;
  if (root === null || state.silence === 0 || statusIn(body, root) !== null) return [];
  return reread(state);
}
