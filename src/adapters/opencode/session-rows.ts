/** OpenCode's stored conversations as documents: rows of its database, or the JSON files of versions before 1.2. */
import { parseJson } from "../../core/json.ts";
import type { AgentFolder, SqlRow } from "../../core/session-files.ts";
import { isNumber, isString, type Shape, shapeOf } from "../../dialects/shape.ts";

export const DATABASE = "opencode.db";
const STORAGE = "storage";
const ID = /^[A-Za-z0-9_-]{1,128}$/;

export interface StoredPart {
  readonly part: Shape;
  readonly at: number | null;
}

export interface StoredMessage {
  readonly info: Shape;
  readonly id: string;
  readonly at: number | null;
  readonly parts: readonly StoredPart[];
}

export interface StoredSession {
  readonly id: string;
  readonly parentId: string | null;
  readonly title: string | null;
  readonly directory: string | null;
  readonly version: string | null;
  /** Messages from this one on are reverted. */
  readonly revertedFrom: string | null;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly bytes: number;
  /** Where it is kept. */
  readonly path: string;
}

const SESSION_COLUMNS = "id, parent_id, title, directory, version, revert, time_created, time_updated";
/** About how much a conversation takes: counting every part's bytes would read them all. */
const SIZES = "(SELECT count(*) FROM message m WHERE m.session_id = session.id) AS messages";
const MESSAGE_BYTES = 4096;

/** All sessions, those of the database first; a file whose session was moved into it is left out. */
export function* storedSessions(folder: AgentFolder): Generator<StoredSession> {
  const known = new Set<string>();
  const rows = folder.rows(DATABASE, `SELECT ${SESSION_COLUMNS}, ${SIZES} FROM session ORDER BY time_updated`) ?? [];
  for (const row of rows) {
    const session = fromRow(row);
    if (session === null) continue;
    known.add(session.id);
    yield session;
  }
  for (const project of folder.list(`${STORAGE}/session`)) {
    if (project.kind !== "folder") continue;
    for (const { name, kind } of folder.list(`${STORAGE}/session/${project.name}`)) {
      const session = kind === "file" ? fromFile(folder, `${STORAGE}/session/${project.name}/${name}`) : null;
      if (session !== null && !known.has(session.id)) yield session;
    }
  }
}

export function storedSession(folder: AgentFolder, id: string): StoredSession | null {
  if (!ID.test(id)) return null;
  const [row] = folder.rows(DATABASE, `SELECT ${SESSION_COLUMNS}, ${SIZES} FROM session WHERE id = ?`, [id]) ?? [];
  const session = row === undefined ? null : fromRow(row);
  if (session !== null) return session;
  for (const one of storedSessions(folder)) if (one.id === id) return one;
  return null;
}

function fromRow(row: SqlRow): StoredSession | null {
  if (!isString(row.id)) return null;
  const revert = isString(row.revert) ? shapeOf(parsed(row.revert)) : {};
  return {
    id: row.id,
    parentId: isString(row.parent_id) ? row.parent_id : null,
    title: isString(row.title) ? row.title : null,
    directory: isString(row.directory) ? row.directory : null,
    version: isString(row.version) ? row.version : null,
    revertedFrom: isString(revert.messageID) ? revert.messageID : null,
    createdAt: timeOf(row.time_created),
    updatedAt: timeOf(row.time_updated),
    bytes: Number(row.messages ?? 0) * MESSAGE_BYTES,
    path: DATABASE,
  };
}

const timeOf = (value: unknown): number => (isNumber(value) ? value : typeof value === "bigint" ? Number(value) : 0);

const DOCUMENT_BYTES = 1024 * 1024;

function fromFile(folder: AgentFolder, path: string): StoredSession | null {
  const document = shapeOf(parsed(folder.head(path, DOCUMENT_BYTES) ?? ""));
  const { id, parentID, title, directory, version } = document;
  if (!isString(id) || !ID.test(id)) return null;
  const time = shapeOf(document.time);
  const { messageID } = shapeOf(document.revert);
  return {
    id,
    parentId: isString(parentID) ? parentID : null,
    title: isString(title) ? title : null,
    directory: isString(directory) ? directory : null,
    version: isString(version) ? version : null,
    revertedFrom: isString(messageID) ? messageID : null,
    createdAt: timeOf(time.created),
    updatedAt: timeOf(time.updated),
    bytes: folder.facts(path)?.size ?? 0,
    path,
  };
}

/** Its messages with their parts, in order. */
export function messagesOf(folder: AgentFolder, session: StoredSession): StoredMessage[] {
  return session.path === DATABASE ? messagesInDatabase(folder, session.id) : messagesInFiles(folder, session.id);
}

function messagesInDatabase(folder: AgentFolder, id: string): StoredMessage[] {
  const messages =
    folder.rows(DATABASE, "SELECT id, time_created, data FROM message WHERE session_id = ? ORDER BY time_created, id", [
      id,
    ]) ?? [];
  const parts =
    folder.rows(DATABASE, "SELECT id, message_id, time_updated, data FROM part WHERE session_id = ? ORDER BY id", [
      id,
    ]) ?? [];
  const byMessage = new Map<string, StoredPart[]>();
  for (const row of parts) {
    if (!isString(row.id) || !isString(row.message_id) || !isString(row.data)) continue;
    const part = { ...shapeOf(parsed(row.data)), id: row.id, messageID: row.message_id, sessionID: id };
    const list = byMessage.get(row.message_id);
    const stored = { part, at: partTime(part) ?? timeOf(row.time_updated) };
    if (list === undefined) byMessage.set(row.message_id, [stored]);
    else list.push(stored);
  }
  return messages.flatMap((row): StoredMessage[] => {
    if (!isString(row.id) || !isString(row.data)) return [];
    const info = { ...shapeOf(parsed(row.data)), id: row.id, sessionID: id };
    return [{ info, id: row.id, at: timeOf(row.time_created), parts: byMessage.get(row.id) ?? [] }];
  });
}

function messagesInFiles(folder: AgentFolder, id: string): StoredMessage[] {
  const documents = (path: string): Shape[] =>
    folder.list(path).flatMap(({ name, kind }) => {
      const text = kind === "file" && name.endsWith(".json") ? folder.text(`${path}/${name}`) : null;
      const document = text === null ? undefined : parsed(text);
      return document === undefined ? [] : [shapeOf(document)];
    });
  const messages = documents(`${STORAGE}/message/${id}`).flatMap((info): StoredMessage[] => {
    if (!isString(info.id) || !ID.test(info.id)) return [];
    const parts = documents(`${STORAGE}/part/${info.id}`).map((part) => ({ part, at: partTime(part) }));
    return [{ info, id: info.id, at: timeOf(shapeOf(info.time).created), parts }];
  });
  return messages.sort((one, other) => (one.at ?? 0) - (other.at ?? 0) || (one.id < other.id ? -1 : 1));
}

/** A part's own time; the row's is the time of the copy in a fork. */
function partTime(part: Shape): number | null {
  const time = shapeOf(part.type === "tool" ? shapeOf(part.state).time : part.time);
  const at = time.end ?? time.start;
  return isNumber(at) ? at : null;
}

function parsed(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}
