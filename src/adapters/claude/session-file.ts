/** Claude Code's own session files: what a list shows of one, and the conversation in it. */
import { type FileLinesOptions, readFileLines } from "../../core/file-lines.ts";
import {
  type AgentFolder,
  type Conversation,
  type ConversationName,
  type ConversationUser,
  type FoundConversation,
  SessionFileError,
  type SessionFileProblem,
  type SessionFiles,
} from "../../core/session-files.ts";
import { type ClaudeFileRecord, messageOf, readClaudeFileLine, textOf, userKind } from "../../dialects/claude-file.ts";
import { isNumber, isString, type Shape, shapeOf } from "../../dialects/shape.ts";
import { SYNTHETIC } from "./blocks.ts";
import {
  type AgentCall,
  agentCalls,
  matchSubagents,
  type SubagentFile,
  sidechains,
  subagentLines,
} from "./session-subagents.ts";
import { type RecordedTurn, turnsOf } from "./session-tree.ts";
import { turnOf } from "./session-turns.ts";

const NAME = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\.jsonl$/;
const SUBAGENT = /^agent-([0-9a-zA-Z]{1,64})\.jsonl$/;
const PROJECTS = "projects";

/** The first prompt is within the first bytes, the latest title within the last ones. */
const HEAD_BYTES = 16 * 1024;
const TAIL_BYTES = 64 * 1024;

export const sessionFiles: SessionFiles = {
  form: "claude-file",
  place: { home: ".claude", variable: { name: "CLAUDE_CONFIG_DIR", below: "" } },
  tops: ["projects", "sessions"],
  discover,
  read,
  userOf,
};

function* discover(folder: AgentFolder): Generator<FoundConversation | SessionFileProblem> {
  for (const project of folder.list(PROJECTS)) {
    if (project.kind !== "folder") continue;
    const inside = folder.list(`${PROJECTS}/${project.name}`);
    const folders = new Set(inside.filter(({ kind }) => kind === "folder").map(({ name }) => name));
    for (const { name, kind } of inside) {
      if (kind !== "file" || !NAME.test(name)) continue;
      const found = describe(folder, { path: `${PROJECTS}/${project.name}/${name}`, folders });
      if (found !== null) yield found;
    }
  }
}

/** Null for what is no conversation: empty files, files with nothing but a summary. */
function describe(
  folder: AgentFolder,
  { path, folders }: { path: string; folders: ReadonlySet<string> },
): FoundConversation | null {
  const facts = folder.facts(path);
  if (facts === null || facts.size === 0) return null;
  const nativeId = idOf(path);
  const beginning = folder.head(path, HEAD_BYTES) ?? "";
  const { records } = readRecords(beginning, { skips: isCopy, until: (value) => isFirst(recordOf(value)) });
  const first = records.find(isFirst);
  const any = records.find(({ native }) => isString(native.cwd));
  if (any === undefined) return null;
  if (first === undefined && facts.size <= HEAD_BYTES) return null;
  const end = facts.size > HEAD_BYTES ? (folder.tail(path, TAIL_BYTES) ?? "") : "";
  const title = titleIn(end) ?? titleIn(beginning) ?? (first === undefined ? null : textOf(messageOf(first).content));
  return {
    nativeId,
    title,
    directory: isString(any.native.cwd) ? any.native.cwd : null,
    updatedAt: facts.modifiedAt,
    size: facts.size + (folders.has(nativeId) ? besideSize(folder, path.slice(0, -".jsonl".length)) : 0),
    path,
  };
}

const isPrompt = (record: ClaudeFileRecord): boolean => ["prompt", "shell"].includes(userKind(record));

const isFirst = (record: ClaudeFileRecord | null): boolean =>
  record?.type === "user" && !record.sidechain && isPrompt(record);

function recordOf(value: unknown): ClaudeFileRecord | null {
  const line = readClaudeFileLine(value);
  return line.kind === "record" ? line.record : null;
}

/** Every other line is left unparsed: a list reads thousands of files. */
const titleIn = (text: string): string | null =>
  readRecords(text, { skips: (line) => !/"(?:customTitle|aiTitle|summary)"/.test(line) }).title;

function besideSize(folder: AgentFolder, path: string): number {
  let size = 0;
  for (const below of ["subagents", "tool-results"]) {
    for (const { name } of folder.list(`${path}/${below}`)) size += folder.facts(`${path}/${below}/${name}`)?.size ?? 0;
  }
  return size;
}

const idOf = (path: string): string => path.slice(path.lastIndexOf("/") + 1).replace(/\.jsonl$/, "");

interface FileRecords {
  readonly records: readonly ClaudeFileRecord[];
  readonly title: string | null;
  readonly unread: readonly string[];
}

/** Copies of requests are most of a file: they are not parsed. */
const isCopy = (line: string): boolean => line.startsWith('{"type":"api-request');

function readRecords(text: string, options: FileLinesOptions = { skips: isCopy }): FileRecords {
  const { lines, unread } = readFileLines(text, options);
  const records: ClaudeFileRecord[] = [];
  const sentences = [...unread];
  let title: { readonly rank: number; readonly title: string } | null = null;
  for (const { value, number } of lines) {
    const line = readClaudeFileLine(value);
    if (line.kind === "record") records.push(line.record);
    else if (line.kind === "title" && line.rank >= (title?.rank ?? 0)) title = line;
    else if (line.kind === "unknown") sentences.push(`Line ${number} has a type we do not know: ${line.type}.`);
  }
  return { records, title: title?.title ?? null, unread: sentences };
}

function read(folder: AgentFolder, { path }: ConversationName): Conversation {
  const text = folder.text(path);
  if (text === null) throw new SessionFileError(`There is no file ${path}.`);
  const { records, title, unread } = readRecords(text);
  const nativeId = idOf(path);
  const { turns: recorded, abandoned } = turnsOf(records);
  if (recorded.length === 0) throw new SessionFileError(`${path} holds no conversation of Claude Code.`);
  const calls = agentCalls(records);
  const files = [...subagentFiles(folder, { path, nativeId, calls }), ...sidechains(records)];
  const matched = matchSubagents(calls, files);
  const turns = recorded.flatMap((turn) => {
    const mine = matched.filter(({ call }) => isCalledIn(turn, call));
    const lines = mine.flatMap(subagentLines).sort((one, other) => (one.at ?? 0) - (other.at ?? 0));
    const made = turnOf(turn, { nativeId, subagents: lines, subagentFiles: mine.map(({ file }) => file) });
    return made === null ? [] : [made];
  });
  const prompt = recorded.find(({ first }) => first.type === "user" && isPrompt(first));
  const cwd = records.find(({ native }) => isString(native.cwd))?.native.cwd;
  return {
    nativeId,
    title: title ?? (prompt === undefined ? null : textOf(messageOf(prompt.first).content)),
    directory: isString(cwd) ? cwd : null,
    model:
      records.map((record) => messageOf(record).model).findLast((model) => model !== null && model !== SYNTHETIC) ??
      null,
    turns,
    abandoned,
    unread,
  };
}

const isCalledIn = ({ records }: RecordedTurn, call: AgentCall): boolean =>
  agentCalls(records).some(({ id }) => id === call.id);

interface Beside {
  readonly path: string;
  readonly nativeId: string;
  readonly calls: readonly AgentCall[];
}

/** In a folder of the session's name; version 2.0 keeps them in the project's folder. */
function subagentFiles(folder: AgentFolder, { path, calls }: Beside): SubagentFile[] {
  if (calls.length === 0) return [];
  const own = `${path.slice(0, -".jsonl".length)}/subagents`;
  const project = path.slice(0, path.lastIndexOf("/"));
  const wanted = new Set(calls.map(({ agentId }) => agentId));
  return [own, project].flatMap((place) =>
    folder.list(place).flatMap(({ name, kind }): SubagentFile[] => {
      const agentId = SUBAGENT.exec(name)?.[1];
      if (kind !== "file" || agentId === undefined || (place === project && !wanted.has(agentId))) return [];
      const { records } = readRecords(folder.text(`${place}/${name}`) ?? "");
      return [{ agentId, meta: metaOf(folder, `${place}/agent-${agentId}.meta.json`), records }];
    }),
  );
}

function metaOf(folder: AgentFolder, path: string): Shape {
  const text = folder.facts(path) === null ? null : folder.text(path);
  return text === null ? {} : shapeOf(readFileLines(`${text}\n`).lines[0]?.value);
}

/** A running process leaves a note of its session; a note of a dead one is ignored. */
function userOf(folder: AgentFolder, nativeId: string): ConversationUser | null {
  for (const { name, kind } of folder.list("sessions")) {
    if (kind !== "file" || !/^\d{1,10}\.json$/.test(name)) continue;
    const note = shapeOf(readFileLines(`${folder.head(`sessions/${name}`, HEAD_BYTES) ?? ""}\n`).lines[0]?.value);
    if (note.sessionId !== nativeId || !isNumber(note.pid)) continue;
    const started = isString(note.procStart) ? note.procStart : undefined;
    if (folder.isAlive(note.pid, started)) return { pid: note.pid, name: "claude" };
  }
  return null;
}
