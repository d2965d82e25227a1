/**
 * OpenCode's events → reports. They name their session and message, so nearly all state is about which parts are open;
 * what began and ended is in turns.ts, parts in parts.ts and tools.ts, child sessions in subagents.ts.
 */

import type { Send } from "../../core/agent-io.ts";
import { defined } from "../../core/defined.ts";
import { unreachable } from "../../core/fold.ts";
import type { Report } from "../../core/report.ts";
import { itemHead, statusHead, stepUsage, whole } from "../../core/report-builders.ts";
import type {
  OpenCodeEventOf,
  OpenCodePart,
  OpenCodePermission,
  OpenCodeQuestion,
  OpenCodeSession,
  OpenCodeSessionEvent,
  OpenCodeStepFinishPart,
  OpenCodeTodo,
} from "../../dialects/opencode.ts";
import type { OpenCodePayload } from "../../dialects/opencode-stream.ts";
import type { Todo } from "../../protocol/events.ts";
import { onRemoved, revertOf, shareOf } from "./asks.ts";
import { addMessage, byUser, headOf, isPast, isRoot, messageFor, onDelta, onFile, onPatch, onWords } from "./parts.ts";
import { isQuiet } from "./quiet.ts";
import { requestedBy } from "./requested.ts";
import { finishPart, isDone, messageOf, type Part, type State, type Thread, threadOf } from "./state.ts";
import { childOf, hold, link, onChildCreated, openSubagent } from "./subagents.ts";
import { onTool } from "./tools.ts";
import { onAssistantMessage, onError, onIdle, onStatus } from "./turns.ts";

type Out = (Report | Send)[];

export function onPayload(state: State, { payload, at }: { payload: OpenCodePayload; at: number }): Out {
  if (isQuiet(payload)) return [];
  const session = sessionIn(payload.properties);
  if (session === null) return onUnaddressed(payload);
  state.silence = 0;
  // A recording, or a conversation that began outside: the first session that speaks is ours.
  state.root ??= session;
  if (hold(state, { child: session, event: payload })) return [];
  if (!state.unlinked.has(session)) return onEvent(state, { event: payload, session, at });
  return [
    ...linkChild(state, { child: session, callId: null, name: null, at }),
    ...onEvent(state, { event: payload, session, at }),
  ];
}

function onEvent(
  state: State,
  { event, session, at }: { event: OpenCodeSessionEvent; session: string; at: number },
): Out {
  const thread = threadOf(state, session);
  if (state.unannounced.size > 0)
    return [...announce(state, { event, at }), ...onAnnounced(state, { event, thread, at })];
  return onAnnounced(state, { event, thread, at });
}

/**
 * A part may come before its message: it waits until the message shows its role. What goes on as if it were known
 * is the assistant's.
 */
function announce(state: State, { event, at }: { event: OpenCodeSessionEvent; at: number }): Out {
  switch (event.type) {
    case "message.updated": {
      const { info } = event.properties;
      if (!state.unannounced.has(info.id)) return [];
      const out = onMessage(state, event);
      return [...out, ...release(state, { messageID: info.id, at })];
    }
    case "message.part.delta":
      return release(state, { messageID: event.properties.messageID, at });
    case "session.status":
      return event.properties.status.type === "idle" ? releaseAll(state, at) : [];
    case "session.idle":
      return releaseAll(state, at);
    default:
      return [];
  }
}

const releaseAll = (state: State, at: number): Out =>
  [...state.unannounced.keys()].flatMap((messageID) => release(state, { messageID, at }));

function release(state: State, { messageID, at }: { messageID: string; at: number }): Out {
  const parts = state.unannounced.get(messageID) ?? [];
  state.unannounced.delete(messageID);
  const [first] = parts;
  if (first !== undefined) messageFor(state, first);
  return parts.flatMap((part) => onPart(state, { part, at }));
}

/** Assistants say when they began to write; what has no time is the user's, or of a message yet to come. */
function waitForMessage(state: State, part: OpenCodePart, delta: string | undefined): boolean {
  if (messageOf(state, part.messageID) !== undefined || delta !== undefined) return false;
  if (part.type !== "file" && (part.type !== "text" || part.time !== undefined)) return false;
  const waiting = state.unannounced.get(part.messageID) ?? [];
  waiting.push(part);
  state.unannounced.set(part.messageID, waiting);
  return true;
}

function onAnnounced(
  state: State,
  { event, thread, at }: { event: OpenCodeSessionEvent; thread: Thread; at: number },
): Out {
  switch (event.type) {
    case "session.created":
    case "session.updated":
      return onSession(state, event.properties.info);
    case "session.deleted":
      return onDeleted(state, event.properties.info);
    case "session.status":
      return onStatus(state, { thread, status: event.properties.status });
    case "session.idle":
      // It follows the status idle, which has said the same.
      return state.statusSeen && !thread.busy ? [] : onIdle(state, thread);
    case "session.compacted":
      return isRoot(state, thread) ? [{ type: "state", state: "running" }] : [];
    case "session.error":
      return event.properties.error === undefined ? [] : onError(state, { thread, error: event.properties.error });
    case "message.updated":
      return onMessage(state, event);
    case "message.part.updated": {
      const { part, delta } = event.properties;
      return waitForMessage(state, part, delta) ? [] : onPart(state, { part, delta, at });
    }
    case "message.part.delta":
      return onDelta(state, event.properties);
    case "permission.asked":
      return [onPermission(state, event.properties)];
    case "permission.replied":
      if (event.properties.reply === "reject") thread.rejected = true;
      return [{ type: "permission.answered", key: event.properties.requestID, reply: event.properties.reply }];
    case "question.asked":
      return [onQuestion(event.properties)];
    case "question.replied":
      return [{ type: "question.answered", key: event.properties.requestID, answers: event.properties.answers }];
    case "question.rejected":
      thread.rejected = true;
      return [{ type: "question.answered", key: event.properties.requestID, answers: null }];
    case "todo.updated":
      return isRoot(state, thread) ? [{ type: "todo", todos: event.properties.todos.map(todoOf) }] : [];
    case "message.removed":
      return isRoot(state, thread) ? onRemoved(state, { message_id: event.properties.messageID }) : [];
    case "message.part.removed": {
      const { messageID: message_id, partID: native_item_id } = event.properties;
      return isRoot(state, thread) ? onRemoved(state, { message_id, native_item_id }) : [];
    }
    case "session.diff":
    case "command.executed":
      return [];
    default:
      return unreachable(event);
  }
}

/** An error that names no session concerns them all. */
function onUnaddressed(event: OpenCodeSessionEvent): Out {
  if (event.type !== "session.error" || event.properties.error === undefined) return [];
  const { name, data } = event.properties.error;
  return [{ type: "error", message: data?.message ?? name, code: null, details: data, fatal: false }];
}

/** The session an event speaks of; null for those about the server. */
export function sessionIn(properties: object): string | null {
  if ("sessionID" in properties && typeof properties.sessionID === "string") return properties.sessionID;
  if ("part" in properties && typeof properties.part === "object" && properties.part !== null) {
    return sessionIn(properties.part);
  }
  if ("info" in properties && typeof properties.info === "object" && properties.info !== null) {
    const { info } = properties;
    // A message names its session, a session is named by its id.
    return sessionIn(info) ?? ("id" in info && typeof info.id === "string" ? info.id : null);
  }
  return null;
}

function onSession(state: State, info: OpenCodeSession): Out {
  const { id, parentID } = info;
  if (id !== state.root) {
    if (parentID !== undefined) onChildCreated(state, { ...info, parentID });
    return [];
  }
  return [sessionReport(state, info)];
}

export function sessionReport(state: State, info: OpenCodeSession): Report {
  state.born = info.time?.created ?? state.born;
  const { id, title, agent, model, version, directory } = info;
  const named = model === undefined ? undefined : `${model.providerID}/${model.id}`;
  return {
    type: "session",
    native_session_id: id,
    metadata: defined({ agent: "opencode", agent_version: version, directory, model: named }),
    title: title === undefined || isPlaceholder(title) ? undefined : title,
    mode: agent,
    revert: revertOf(info),
    share: shareOf(info),
  };
}

/** OpenCode calls a session so until its model has found a title: it would stand in the way of a better one. */
const isPlaceholder = (title: string): boolean => /^New session - \d{4}-\d\d-\d\dT/.test(title);

function onDeleted(state: State, info: OpenCodeSession): Out {
  if (info.id !== state.root) return [];
  const named = { key: `deleted/${info.id}`, native_item_id: info.id };
  return whole(statusHead({ ...named, label: "deleted", detail: "OpenCode has deleted this session." }));
}

function onMessage(state: State, { properties }: OpenCodeEventOf<"message.updated">): Out {
  const { info } = properties;
  if (info.role === "assistant") return onAssistantMessage(state, info);
  if (messageOf(state, info.id) === undefined) {
    const past = isPast(state, info);
    addMessage(state, { messageID: info.id, sessionID: info.sessionID, role: "user", past });
  }
  return [];
}

export function onPart(
  state: State,
  { part, delta, at }: { part: OpenCodePart; delta?: string | undefined; at: number },
): Out {
  if (messageOf(state, part.messageID)?.past === true) return [];
  switch (part.type) {
    case "text":
    case "reasoning":
      return onWords(state, part, delta);
    case "file":
      return onFile(state, part);
    case "tool": {
      const out: Out = onTool(state, part);
      const child = childOf(part);
      if (child === null) return out;
      const name = part.state.input.subagent_type;
      const known = typeof name === "string" ? name : null;
      return [...out, ...linkChild(state, { child, callId: part.callID, name: known, at })];
    }
    case "step-finish":
      return onStepFinish(state, part);
    case "patch":
      return onPatch(state, part);
    case "compaction":
      return onCompaction(state, part);
    case "subtask":
      return onSubtask(state, part);
    case "step-start":
    case "snapshot":
    case "agent":
    case "retry":
      return [];
    default:
      return unreachable(part);
  }
}

/** The child begins, and what it had said before its call was known comes now. */
function linkChild(
  state: State,
  { at, ...child }: { child: string; callId: string | null; name: string | null; at: number },
): Out {
  const fresh = state.unlinked.has(child.child);
  const held = link(state, child);
  const out: Out = fresh ? openSubagent(state, threadOf(state, child.child)) : [];
  return [...out, ...held.flatMap((event) => onEvent(state, { event, session: child.child, at }))];
}

/** One model call is over. OpenCode's `input` excludes the cache and its `output` the reasoning, as ours do. */
function onStepFinish(state: State, part: OpenCodeStepFinishPart): Out {
  if (isDone(state, part.id)) return [];
  finishPart(state, { part: part.id, message: messageFor(state, part) });
  const { input, output, reasoning, cache } = part.tokens;
  const tokens = { input, output, reasoning, cache_read: cache.read, cache_write: cache.write };
  const message_id = state.made.has(part.messageID) ? undefined : part.messageID;
  return [stepUsage({ tokens, cost_usd: part.cost, finish: part.reason === "" ? undefined : part.reason, message_id })];
}

/** The conversation is being summarised; the summary itself comes as an assistant message of its own. */
function onCompaction(state: State, part: Extract<OpenCodePart, { type: "compaction" }>): Out {
  if (isDone(state, part.id) || part.sessionID !== state.root) return [];
  finishPart(state, { part: part.id, message: messageFor(state, part) });
  return [
    { type: "begin", origin: "agent" },
    { type: "state", state: "compacting" },
  ];
}

/** Work for a subagent: its prompt is what the person asked for, and who is to do it is kept beside it. */
function onSubtask(state: State, part: Extract<OpenCodePart, { type: "subtask" }>): Out {
  if (isDone(state, part.id)) return [];
  const message = messageFor(state, part);
  finishPart(state, { part: part.id, message });
  const { prompt, description, agent, command } = part;
  const subtask = defined({ prompt, description, agent, command });
  const content = [
    { type: "text" as const, text: prompt },
    { type: "json" as const, json: { subtask } },
  ];
  const reports = whole(itemHead("message", { ...headOf(state, { part, message }), role: "user", content }));
  return byUser(state, { message, reports });
}

function onPermission(state: State, asked: OpenCodePermission): Report {
  const { metadata = {}, tool, permission } = asked;
  const call = tool === undefined ? undefined : findCall(state, tool.callID);
  const named = metadata.tool;
  return {
    type: "permission",
    key: asked.id,
    action: permission,
    tool: call?.name ?? (typeof named === "string" ? named : null),
    call_id: tool?.callID ?? null,
    input: metadata.input ?? metadata,
    requested: requestedBy({ permission, metadata, input: call?.input ?? {} }),
  };
}

function findCall(state: State, callId: string): Extract<Part, { type: "tool" }> | undefined {
  for (const part of state.parts.values()) if (part.type === "tool" && part.callId === callId) return part;
  return undefined;
}

function onQuestion(asked: OpenCodeQuestion): Report {
  return {
    type: "question",
    key: asked.id,
    call_id: asked.tool?.callID ?? null,
    questions: asked.questions.map((one, index) => ({
      id: `${asked.id}/${index}`,
      ...defined({ header: one.header }),
      question: one.question,
      options: one.options.map(({ label, description }) => defined({ label, description })),
      multiple: one.multiple ?? false,
      // OpenCode takes an answer in one's own words unless it says otherwise.
      custom: one.custom ?? true,
    })),
  };
}

const todoStates: ReadonlyMap<string, Todo["status"]> = new Map<string, Todo["status"]>([
  ["pending", "pending"],
  ["in_progress", "in_progress"],
  ["completed", "completed"],
  ["cancelled", "cancelled"],
]);

const todoOf = ({ id, content, status, priority }: OpenCodeTodo, index: number): Todo =>
  defined({ id: id ?? String(index + 1), content, status: todoStates.get(status) ?? "pending", priority });
