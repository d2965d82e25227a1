/**
 * OpenCode's own store: a SQLite database (1.2 and later), or JSON files (before). Both may be there: what was moved
 * into the database is read from it.
 */
import {
  type AgentFolder,
  type Conversation,
  type ConversationName,
  type FoundConversation,
  SessionFileError,
  type SessionFileProblem,
  type SessionFiles,
} from "../../core/session-files.ts";
import { isString } from "../../dialects/shape.ts";
import { messagesOf, type StoredSession, storedSession, storedSessions } from "./session-rows.ts";
import { type Stored, turnsOf } from "./session-turns.ts";

/** Subagents of subagents. */
const DEPTH_LIMIT = 8;

export const sessionFiles: SessionFiles = {
  form: "opencode-file",
  place: { home: ".local/share/opencode", variable: { name: "XDG_DATA_HOME", below: "opencode" } },
  tops: ["opencode.db", "storage"],
  discover,
  read,
};

function* discover(folder: AgentFolder): Generator<FoundConversation | SessionFileProblem> {
  for (const session of storedSessions(folder)) {
    if (session.parentId !== null) continue;
    const { id, title, directory, updatedAt, bytes, path } = session;
    yield { nativeId: id, title, directory, updatedAt, size: bytes, path };
  }
}

function read(folder: AgentFolder, { path, nativeId }: ConversationName): Conversation {
  const session = nativeId === null ? onlySession(folder, path) : storedSession(folder, nativeId);
  if (session === null) throw new SessionFileError(`There is no session ${nativeId} in ${path}.`);
  const stored = load(folder, session, 0);
  const { turns, abandoned } = turnsOf(stored);
  if (turns.length === 0) throw new SessionFileError(`Session ${session.id} of OpenCode has no prompt.`);
  const models = stored.messages.map(({ info }) => info.modelID).filter(isString);
  return {
    nativeId: session.id,
    title: session.title,
    directory: session.directory,
    model: models.at(-1) ?? null,
    turns,
    abandoned,
    unread: [],
  };
}

function onlySession(folder: AgentFolder, path: string): StoredSession {
  const roots = [...storedSessions(folder)].filter(({ parentId }) => parentId === null);
  const [first, ...others] = roots;
  if (first === undefined) throw new SessionFileError(`${path} holds no session of OpenCode.`);
  if (others.length === 0) return first;
  const ids = roots.slice(0, 5).map(({ id }) => id);
  throw new SessionFileError(
    `${path} holds ${roots.length} sessions: choose one with --session, such as ${ids.join(", ")}.`,
  );
}

function load(folder: AgentFolder, session: StoredSession, depth: number): Stored {
  return {
    session,
    messages: messagesOf(folder, session),
    childOf(id) {
      const child = depth >= DEPTH_LIMIT ? null : storedSession(folder, id);
      return child === null || child.parentId !== session.id ? null : load(folder, child, depth + 1);
    },
  };
}
