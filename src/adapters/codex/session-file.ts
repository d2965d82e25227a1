/**
 * Codex's own session files: one rollout per thread, or a chain of them where it was forked or reverted, and one per
 * agent that it spawned. An index in SQLite names most of them; it is a cache, so the files themselves decide.
 */
import { readFileLines } from "../../core/file-lines.ts";
import {
  type AgentFolder,
  type Conversation,
  type ConversationName,
  type ConversationUser,
  type FoundConversation,
  isConversationId,
  SessionFileError,
  type SessionFileProblem,
  type SessionFiles,
  type SqlRow,
} from "../../core/session-files.ts";
import { type CodexFileLine, readCodexFileLine } from "../../dialects/codex-file.ts";
import { isNumber, isString, type Shape, shapeOf } from "../../dialects/shape.ts";
import { mergeThreads } from "./session-agents.ts";
import { turnsOf } from "./session-turns.ts";

const UUID = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}";
const NAME = new RegExp(`^rollout-(.{19})-(${UUID})(?:_(${UUID}))?\\.jsonl(?:\\.zst)?$`);

const INDEX = "state_5.sqlite";
const NAMES = "session_index.jsonl";
/** The first line has the model's instructions; the first prompt is within this much. */
const HEAD_BYTES = 128 * 1024;
/** Forks of forks. */
const CHAIN_LIMIT = 64;

export const sessionFiles: SessionFiles = {
  form: "codex-file",
  place: { home: ".codex", variable: { name: "CODEX_HOME", below: "" } },
  tops: ["sessions", "archived_sessions"],
  discover,
  read,
  userOf,
};

interface Rollout {
  readonly path: string;
  readonly thread: string;
  /** The name's time, which sorts. */
  readonly time: string;
}

function* rollouts(folder: AgentFolder): Generator<Rollout> {
  for (const year of foldersIn(folder, "sessions")) {
    for (const month of foldersIn(folder, year)) {
      for (const day of foldersIn(folder, month)) yield* rolloutsIn(folder, day);
    }
  }
  yield* rolloutsIn(folder, "archived_sessions");
}

const foldersIn = (folder: AgentFolder, path: string): string[] =>
  folder.list(path).flatMap(({ name, kind }) => (kind === "folder" ? [`${path}/${name}`] : []));

function* rolloutsIn(folder: AgentFolder, path: string): Generator<Rollout> {
  for (const { name, kind } of folder.list(path)) {
    const [, time, thread] = NAME.exec(name) ?? [];
    if (kind === "file" && time !== undefined && thread !== undefined) yield { path: `${path}/${name}`, thread, time };
  }
}

/** One row per thread: of several files the latest is the current one. */
function* discover(folder: AgentFolder): Generator<FoundConversation | SessionFileProblem> {
  const threads = new Map<string, Rollout[]>();
  for (const rollout of rollouts(folder)) {
    const known = threads.get(rollout.thread);
    if (known === undefined) threads.set(rollout.thread, [rollout]);
    else known.push(rollout);
  }
  const index = indexOf(folder);
  const names = namesOf(folder);
  for (const [nativeId, files] of threads) {
    const found = describe(folder, { nativeId, files, row: index.get(nativeId), name: names.get(nativeId) });
    if (found !== null) yield found;
  }
}

const COLUMNS = "id, cwd, title, name, source, updated_at_ms";

function indexOf(folder: AgentFolder): ReadonlyMap<string, SqlRow> {
  const rows = folder.rows(INDEX, `SELECT ${COLUMNS} FROM threads`) ?? [];
  return new Map(rows.flatMap((row) => (isString(row.id) ? [[row.id, row]] : [])));
}

function namesOf(folder: AgentFolder): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  if (folder.facts(NAMES) === null) return names;
  for (const { value } of readFileLines(folder.text(NAMES) ?? "").lines) {
    const { id, thread_name } = shapeOf(value);
    if (isString(id) && isString(thread_name)) names.set(id, thread_name);
  }
  return names;
}

interface Described {
  readonly nativeId: string;
  readonly files: readonly Rollout[];
  readonly row: SqlRow | undefined;
  readonly name: string | undefined;
}

function describe(folder: AgentFolder, { nativeId, files, row, name }: Described): FoundConversation | null {
  const facts = files.map(({ path }) => folder.facts(path));
  const current = latest(files);
  if (current === undefined) return null;
  const known = row === undefined ? headOf(folder, current.path) : rowOf(row);
  if (known === null || known.isAgent) return null;
  return {
    nativeId,
    title: name ?? known.title,
    directory: known.directory,
    updatedAt: Math.max(0, ...facts.map((one) => one?.modifiedAt ?? 0)),
    size: facts.reduce((total, one) => total + (one?.size ?? 0), 0),
    path: current.path,
  };
}

const latest = (files: readonly Rollout[]): Rollout | undefined =>
  [...files]
    .sort((one, other) => (one.time === other.time ? (one.path < other.path ? -1 : 1) : one.time < other.time ? -1 : 1))
    .at(-1);

interface Known {
  readonly title: string | null;
  readonly directory: string | null;
  /** Spawned by another thread: part of that conversation. */
  readonly isAgent: boolean;
}

const rowOf = ({ title, name, cwd, source }: SqlRow): Known => ({
  title: isString(name) && name !== "" ? name : isString(title) && title !== "" ? title : null,
  directory: isString(cwd) ? cwd : null,
  isAgent: isString(source) && source.includes('"subagent"'),
});

/** Null for a file without a prompt, or one that is compressed and has no row in the index. */
function headOf(folder: AgentFolder, path: string): Known | null {
  const text = path.endsWith(".zst") ? null : folder.head(path, HEAD_BYTES);
  const until = (value: unknown): boolean => firstPrompt([readCodexFileLine(value)]) !== null;
  const lines = readFileLines(text ?? "", { until }).lines.map(({ value }) => readCodexFileLine(value));
  const meta = lines.find(({ kind }) => kind === "session_meta")?.payload;
  if (meta === undefined) return path.endsWith(".zst") ? { title: null, directory: null, isAgent: false } : null;
  return {
    title: firstPrompt(lines),
    directory: isString(meta.cwd) ? meta.cwd : null,
    isAgent: isString(meta.parent_thread_id) || "subagent" in shapeOf(meta.source),
  };
}

function firstPrompt(lines: readonly CodexFileLine[]): string | null {
  for (const { kind, payload } of lines) {
    if (kind === "event_msg/user_message" && isString(payload.message)) return payload.message;
    const item = shapeOf(payload.item);
    const [first] = Array.isArray(item.content) ? item.content.map(shapeOf) : [];
    if (item.type === "UserMessage" && isString(first?.text)) return first.text;
  }
  return null;
}

function read(folder: AgentFolder, { path }: ConversationName): Conversation {
  const [, , thread] = NAME.exec(path.slice(path.lastIndexOf("/") + 1)) ?? [];
  const { lines, unread } = linesOf(folder, path);
  const meta = lines.find(({ kind }) => kind === "session_meta")?.payload;
  const nativeId = thread ?? (isConversationId(meta?.id) ? meta.id : null);
  if (meta === undefined || nativeId === null) throw new SessionFileError(`${path} is no rollout of Codex.`);
  const all = [...rollouts(folder)];
  const chain = withBase(folder, { lines, path, all, depth: 0 });
  const own = turnsOf({ thread: nativeId, isChild: false, lines: chain });
  const children = childrenOf(folder, { lines: chain, all, seen: new Set([nativeId]) });
  const turns = mergeThreads(own.turns, children);
  if (!turns.some(({ entries }) => entries.some(isTurnStart))) {
    throw new SessionFileError(`${path} holds no conversation of Codex.`);
  }
  return {
    nativeId,
    title: namesOf(folder).get(nativeId) ?? titleIn(folder, nativeId) ?? firstPrompt(chain),
    directory: isString(meta.cwd) ? meta.cwd : null,
    model: modelOf(chain),
    turns,
    abandoned: own.abandoned,
    unread: [...unread, ...own.unread],
  };
}

const isTurnStart = (entry: { readonly type: string; readonly line?: unknown }): boolean =>
  entry.type === "line" && shapeOf(entry.line).method === "turn/started";

function titleIn(folder: AgentFolder, id: string): string | null {
  const [row] = folder.rows(INDEX, `SELECT ${COLUMNS} FROM threads WHERE id = ?`, [id]) ?? [];
  return row === undefined ? null : rowOf(row).title;
}

const modelOf = (lines: readonly CodexFileLine[]): string | null => {
  const model = lines.findLast(({ kind }) => kind === "turn_context")?.payload.model;
  return isString(model) ? model : null;
};

interface FileContent {
  readonly lines: readonly CodexFileLine[];
  readonly unread: readonly string[];
}

function linesOf(folder: AgentFolder, path: string): FileContent {
  const text = folder.text(path);
  if (text === null) throw new SessionFileError(`There is no file ${path}.`);
  const { lines, unread } = readFileLines(text);
  return { lines: lines.map(({ value }) => readCodexFileLine(value)), unread };
}

interface Chained {
  readonly lines: readonly CodexFileLine[];
  readonly path: string;
  readonly all: readonly Rollout[];
  readonly depth: number;
}

/** What a fork or a revert refers to in another file comes first; its own meta line stays the first of all. */
function withBase(folder: AgentFolder, { lines, path, all, depth }: Chained): readonly CodexFileLine[] {
  const [meta, ...rest] = lines;
  const base = shapeOf(meta?.payload.history_base);
  const { thread_id, end_ordinal_exclusive: end } = base;
  if (meta === undefined || !isString(thread_id) || !isNumber(end)) return lines;
  if (depth >= CHAIN_LIMIT) throw new SessionFileError(`${path} refers to more than ${CHAIN_LIMIT} other files.`);
  const older = all.filter((one) => one.thread === thread_id && one.path !== path && one.time <= timeOf(path));
  const file = latest(older);
  if (file === undefined) throw new SessionFileError(`${path} continues thread ${thread_id}, whose file is not there.`);
  const before = withBase(folder, { lines: linesOf(folder, file.path).lines, path: file.path, all, depth: depth + 1 });
  const kept = before.filter(({ kind, ordinal }) => kind !== "session_meta" && (ordinal ?? 0) < end);
  return [meta, ...kept, ...rest];
}

const timeOf = (path: string): string => NAME.exec(path.slice(path.lastIndexOf("/") + 1))?.[1] ?? "";

interface Spawned {
  readonly lines: readonly CodexFileLine[];
  readonly all: readonly Rollout[];
  readonly seen: Set<string>;
}

/** Threads that calls of this one have spawned, and theirs. */
function childrenOf(folder: AgentFolder, { lines, all, seen }: Spawned): ReturnType<typeof turnsOf>[] {
  return lines
    .flatMap(({ payload }) => receiversOf(shapeOf(payload.item)))
    .flatMap((thread) => {
      const file = seen.has(thread) ? undefined : latest(all.filter((one) => one.thread === thread));
      seen.add(thread);
      if (file === undefined) return [];
      const { lines: own } = linesOf(folder, file.path);
      return [turnsOf({ thread, isChild: true, lines: own }), ...childrenOf(folder, { lines: own, all, seen })];
    });
}

const receiversOf = ({ type, receiver_thread_ids }: Shape): string[] =>
  type === "CollabAgentToolCall" && Array.isArray(receiver_thread_ids) ? receiver_thread_ids.filter(isString) : [];

/** A process that has the thread holds a lock on a file of its name. */
function userOf(folder: AgentFolder, nativeId: string): ConversationUser | null {
  if (!new RegExp(`^${UUID}$`).test(nativeId)) return null;
  const holder = folder.lockHolder(`thread-writer-locks/${nativeId}.lock`);
  return holder === null ? null : { ...holder, name: "codex" };
}
