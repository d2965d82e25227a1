/** Stored messages and parts as the events that OpenCode's server sends while they are made. */
import type { Recorded } from "../../core/recorded.ts";
import type { FileTurn } from "../../core/session-files.ts";
import { isNumber, isString, type Shape, shapeOf } from "../../dialects/shape.ts";
import type { StoredMessage, StoredPart, StoredSession } from "./session-rows.ts";

/** A session with its messages, and how the sessions of its subagents are found. */
export interface Stored {
  readonly session: StoredSession;
  readonly messages: readonly StoredMessage[];
  readonly childOf: (id: string) => Stored | null;
}

export interface StoredTurns {
  readonly turns: readonly FileTurn[];
  readonly abandoned: number;
}

interface Group {
  readonly prompt: StoredMessage;
  readonly messages: StoredMessage[];
}

export function turnsOf(stored: Stored): StoredTurns {
  const { session } = stored;
  const groups = groupsOf(stored.messages);
  const cut = groups.findIndex(({ prompt, messages }) =>
    [prompt, ...messages].some(({ id }) => id === session.revertedFrom),
  );
  const active = cut < 0 ? groups : groups.slice(0, cut);
  const turns = active.map((group, index) => {
    const entries = turnEntries(stored, group);
    return {
      key: group.prompt.id,
      entries: index === 0 ? [created(session, group.prompt.at), ...entries] : entries,
      ended: entries.at(-1)?.type !== "exit",
    };
  });
  return { turns, abandoned: groups.length - active.length };
}

/** A turn is a prompt and all answers to it; a synthetic prompt after a compaction continues the turn before. */
function groupsOf(messages: readonly StoredMessage[]): Group[] {
  const groups: Group[] = [];
  for (const message of messages) {
    const last = groups.at(-1);
    const isPrompt = message.info.role === "user" && !(last !== undefined && isContinuation(message));
    if (isPrompt) groups.push({ prompt: message, messages: [] });
    else last?.messages.push(message);
  }
  return groups;
}

const isContinuation = ({ parts }: StoredMessage): boolean =>
  parts.length > 0 && parts.every(({ part }) => part.type === "text" && part.synthetic === true);

const event = (type: string, properties: Shape, at: number | null): Recorded => ({
  type: "line",
  from: "agent",
  line: { type, properties },
  at,
});

function created(
  { id, parentId, title, directory, version, createdAt, updatedAt }: StoredSession,
  at: number | null,
): Recorded {
  const info = {
    id,
    title: title ?? "",
    directory: directory ?? "",
    version: version ?? "",
    projectID: "",
    // The messages of a fork are older than it.
    time: { created: Math.min(createdAt, at ?? createdAt), updated: updatedAt },
    ...(parentId === null ? {} : { parentID: parentId }),
  };
  return event("session.created", { sessionID: id, info }, at);
}

function turnEntries(stored: Stored, { prompt, messages }: Group): Recorded[] {
  const sessionID = stored.session.id;
  const out: Recorded[] = [];
  out.push(event("message.updated", { sessionID, info: prompt.info }, prompt.at));
  for (const { part } of prompt.parts) out.push(event("message.part.updated", { sessionID, part }, prompt.at));
  out.push(event("session.status", { sessionID, status: { type: "busy" } }, prompt.at));
  for (const message of messages) out.push(...messageEntries(stored, message));
  const last = messages.at(-1);
  out.push(...endOf(stored, last, latestOf(out)));
  return out;
}

const latestOf = (entries: readonly Recorded[]): number =>
  entries.reduce((latest, { at }) => Math.max(latest, at ?? 0), 0);

/** The message while it is made, its parts, the message when it is complete. */
function messageEntries(stored: Stored, message: StoredMessage): Recorded[] {
  const sessionID = stored.session.id;
  const { info, at, parts } = message;
  if (info.role === "user") {
    return [
      event("message.updated", { sessionID, info }, at),
      ...parts.map((one) => event("message.part.updated", { sessionID, part: one.part }, one.at ?? at)),
    ];
  }
  const { finish: _finish, error: _error, ...begun } = info;
  const { created: start, completed } = shapeOf(info.time);
  const out = [event("message.updated", { sessionID, info: { ...begun, time: { created: start } } }, at)];
  for (const one of parts) out.push(...partEntries(stored, one));
  const end = isNumber(completed) ? completed : latestOf(out);
  out.push(event("message.updated", { sessionID, info }, end));
  return out;
}

function partEntries(stored: Stored, { part, at }: StoredPart): Recorded[] {
  const sessionID = stored.session.id;
  const update = (changed: Shape, when: number | null): Recorded =>
    event("message.part.updated", { sessionID, part: changed }, when);
  if (part.type === "text" || part.type === "reasoning") {
    const { start } = shapeOf(part.time);
    const begun = { ...part, text: "", ...(isNumber(start) ? { time: { start } } : {}) };
    return [update(begun, isNumber(start) ? start : at), update(part, at)];
  }
  if (part.type !== "tool") return [update(part, at)];
  const state = shapeOf(part.state);
  const start = shapeOf(state.time).start;
  const begun = isNumber(start) ? start : at;
  const pending = { ...part, state: { status: "pending", input: {}, raw: "" } };
  const { metadata } = state;
  const running = {
    ...part,
    // The metadata names a subagent's session, which must be known before its first word.
    state: {
      status: "running",
      input: state.input ?? {},
      time: { start: begun },
      ...(childIdOf(shapeOf(metadata)) === null ? {} : { metadata, title: state.title }),
    },
  };
  const out = [update(pending, begun)];
  if (state.status === "pending") return out;
  out.push(update(running, begun), ...childEntries(stored, shapeOf(state.metadata)));
  if (state.status === "running") return out;
  out.push(update(part, at), ...todos(stored, { part, state, at }));
  return out;
}

/** A subagent is a session of its own, which the tool's metadata names. */
function childEntries(stored: Stored, metadata: Shape): Recorded[] {
  const id = childIdOf(metadata);
  const child = id === null ? null : stored.childOf(id);
  if (child === null) return [];
  return turnsOf(child).turns.flatMap(({ entries }) => entries.filter(({ type }) => type !== "exit"));
}

const childIdOf = ({ sessionId, sessionID }: Shape): string | null =>
  isString(sessionId) ? sessionId : isString(sessionID) ? sessionID : null;

function todos(stored: Stored, { part, state, at }: { part: Shape; state: Shape; at: number | null }): Recorded[] {
  if (part.tool !== "todowrite" || state.status !== "completed") return [];
  const list = shapeOf(state.metadata).todos ?? shapeOf(state.input).todos;
  return Array.isArray(list) ? [event("todo.updated", { sessionID: stored.session.id, todos: list }, at)] : [];
}

/** No end is stored: the last answer shows it. */
function endOf({ session }: Stored, last: StoredMessage | undefined, at: number): Recorded[] {
  const sessionID = session.id;
  const idle = [
    event("session.status", { sessionID, status: { type: "idle" } }, at),
    event("session.idle", { sessionID }, at),
  ];
  const { error, time } = last?.info ?? {};
  if (error !== undefined && error !== null) return [event("session.error", { sessionID, error }, at), ...idle];
  if (last === undefined || !isNumber(shapeOf(time).completed)) {
    return [{ type: "exit", exit: { code: null, signal: null }, at }];
  }
  return idle;
}
