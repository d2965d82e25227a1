/**
 * What a client knows after it has heard OpenCode's events: sessions, messages with their parts, what waits for
 * answers.
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
  info: OpenCodeMessage;
  readonly parts: Map<string, OpenCodePart>;
}

export interface StoredSession {
  info: OpenCodeSession | null;
  status: OpenCodeStatus;
  readonly messages: Map<string, StoredMessage>;
  todos: readonly OpenCodeTodo[];
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
    case "message.removed":
      store.sessions.get(event.properties.sessionID)?.messages.delete(event.properties.messageID);
      return;
    case "message.part.removed": {
      const { sessionID, messageID, partID } = event.properties;
      store.sessions.get(sessionID)?.messages.get(messageID)?.parts.delete(partID);
      return;
    }
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
  const session: StoredSession = { info: null, status: { type: "idle" }, messages: new Map(), todos: [] };
  store.sessions.set(id, session);
  return session;
}

function applyMessage(store: OpenCodeStore, info: OpenCodeMessage): void {
  const { messages } = sessionIn(store, info.sessionID);
  const known = messages.get(info.id);
  if (known === undefined) messages.set(info.id, { info, parts: new Map() });
  else known.info = info;
}

function applyPart(store: OpenCodeStore, part: OpenCodePart): void {
  sessionIn(store, part.sessionID).messages.get(part.messageID)?.parts.set(part.id, part);
}

function applyDelta(
  store: OpenCodeStore,
  { sessionID, messageID, partID, delta }: { sessionID: string; messageID: string; partID: string; delta: string },
): void {
  const parts = store.sessions.get(sessionID)?.messages.get(messageID)?.parts;
  const part = parts?.get(partID);
  if (part?.type === "text" || part?.type === "reasoning") parts?.set(partID, { ...part, text: part.text + delta });
}
