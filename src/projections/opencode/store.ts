/**
 * What a client knows after it has heard OpenCode's events: sessions, messages with their parts, what waits for
 * answers. Messages can be saved (records.ts): then only those that changed since are here.
 */
import type {
  OpenCodeEvent,
  OpenCodeMessage,
  OpenCodePart,
  OpenCodePermission,
  OpenCodeQuestion,
  OpenCodeSession,
  OpenCodeStatus,
  OpenCodeTodo,
} from "../../dialects/opencode.ts";

export interface StoredMessage {
  /** Null when only parts have changed since the message was saved. */
  info: OpenCodeMessage | null;
  readonly parts: Map<string, OpenCodePart>;
}

export interface StoredSession {
  info: OpenCodeSession | null;
  status: OpenCodeStatus;
  readonly messages: Map<string, StoredMessage>;
  /** Messages and parts that were saved and have been removed since; parts by message. */
  readonly removed: Removed;
  todos: readonly OpenCodeTodo[];
}

export interface Removed {
  readonly messages: Set<string>;
  readonly parts: Map<string, Set<string>>;
}

export interface OpenCodeStore {
  readonly sessions: Map<string, StoredSession>;
  readonly permissions: Map<string, OpenCodePermission>;
  readonly questions: Map<string, OpenCodeQuestion>;
}

export const emptyStore = (): OpenCodeStore => ({ sessions: new Map(), permissions: new Map(), questions: new Map() });

export function applyOpenCode(store: OpenCodeStore, event: OpenCodeEvent): void {
  switch (event.type) {
    case "session.created":
    case "session.updated":
      sessionIn(store, event.properties.info.id).info = event.properties.info;
      return;
    case "session.deleted":
      store.sessions.delete(event.properties.info.id);
      return;
    case "session.status":
      sessionIn(store, event.properties.sessionID).status = event.properties.status;
      return;
    case "message.updated":
      return applyMessage(store, event.properties.info);
    case "message.part.updated":
      return applyPart(store, event.properties.part);
    case "message.part.delta":
      return applyDelta(store, event.properties);
    case "message.part.removed":
      return removePart(sessionIn(store, event.properties.sessionID), event.properties);
    case "message.removed":
      return removeMessage(sessionIn(store, event.properties.sessionID), event.properties.messageID);
    case "todo.updated":
      sessionIn(store, event.properties.sessionID).todos = event.properties.todos;
      return;
    case "permission.asked":
      store.permissions.set(event.properties.id, event.properties);
      return;
    case "permission.replied":
      store.permissions.delete(event.properties.requestID);
      return;
    case "question.asked":
      store.questions.set(event.properties.id, event.properties);
      return;
    case "question.replied":
    case "question.rejected":
      store.questions.delete(event.properties.requestID);
      return;
    default:
      return;
  }
}

function sessionIn(store: OpenCodeStore, id: string): StoredSession {
  const known = store.sessions.get(id);
  if (known !== undefined) return known;
  const session = emptySession();
  store.sessions.set(id, session);
  return session;
}

export const emptySession = (): StoredSession => ({
  info: null,
  status: { type: "idle" },
  messages: new Map(),
  removed: { messages: new Set(), parts: new Map() },
  todos: [],
});

function applyMessage(store: OpenCodeStore, info: OpenCodeMessage): void {
  const { messages } = sessionIn(store, info.sessionID);
  const known = messages.get(info.id);
  if (known === undefined) messages.set(info.id, { info, parts: new Map() });
  else known.info = info;
}

function applyPart(store: OpenCodeStore, part: OpenCodePart): void {
  const { messages } = sessionIn(store, part.sessionID);
  const known = messages.get(part.messageID);
  if (known === undefined) messages.set(part.messageID, { info: null, parts: new Map([[part.id, part]]) });
  else known.parts.set(part.id, part);
}

function applyDelta(
  store: OpenCodeStore,
  { sessionID, messageID, partID, delta }: { sessionID: string; messageID: string; partID: string; delta: string },
): void {
  const parts = store.sessions.get(sessionID)?.messages.get(messageID)?.parts;
  const part = parts?.get(partID);
  if (part?.type === "text" || part?.type === "reasoning") parts?.set(partID, { ...part, text: part.text + delta });
}

function removeMessage({ messages, removed }: StoredSession, id: string): void {
  messages.delete(id);
  removed.messages.add(id);
  removed.parts.delete(id);
}

function removePart(
  { messages, removed }: StoredSession,
  { messageID, partID }: { messageID: string; partID: string },
): void {
  messages.get(messageID)?.parts.delete(partID);
  const parts = removed.parts.get(messageID) ?? new Set();
  parts.add(partID);
  removed.parts.set(messageID, parts);
}
