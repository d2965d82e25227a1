/** Qwen Code's own session files: what a list shows of one, and the conversation in it. */
import { type FileLinesOptions, readFileLines } from "../../../core/file-lines.ts";
import { parseJson } from "../../../core/json.ts";
import {
  type AgentFolder,
  type Conversation,
  type ConversationName,
  type FoundConversation,
  isConversationId,
  SessionFileError,
  type SessionFileProblem,
  type SessionFiles,
} from "../../../core/session-files.ts";
import { textOfParts } from "../../../dialects/gemini-file.ts";
import { type QwenFileRecord, readQwenFileLine } from "../../../dialects/qwen-file.ts";
import { isString, type Shape, shapeOf } from "../../../dialects/shape.ts";
import { isPrompt, type QwenSubagent, turnsOf } from "./qwen-turns.ts";

const UUID = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}";
const NAME = new RegExp(`^(${UUID})\\.jsonl$`);
const SUBAGENT = /^agent-[\w.-]{1,200}\.jsonl$/;
const PROJECTS = "projects";

/** The first prompt is within the first bytes, the latest title within the last ones. */
const HEAD_BYTES = 16 * 1024;
const TAIL_BYTES = 64 * 1024;

export const sessionFiles: SessionFiles = {
  form: "qwen-file",
  place: { home: ".qwen", variable: { name: "QWEN_HOME", below: "" } },
  tops: [PROJECTS],
  discover,
  read,
};

function* discover(folder: AgentFolder): Generator<FoundConversation | SessionFileProblem> {
  for (const project of folder.list(PROJECTS)) {
    if (project.kind !== "folder") continue;
    const place = `${PROJECTS}/${project.name}`;
    const parents = new Set(folder.list(`${place}/subagents`).map(({ name }) => name));
    for (const { name, kind } of folder.list(`${place}/chats`)) {
      const nativeId = NAME.exec(name)?.[1];
      if (kind !== "file" || nativeId === undefined) continue;
      const found = describe(folder, { nativeId, path: `${place}/chats/${name}` });
      if (found === null) continue;
      const beside = parents.has(nativeId) ? sizeIn(folder, `${place}/subagents/${nativeId}`) : 0;
      yield { ...found, size: found.size + beside };
    }
  }
}

/** Null for what is no conversation: a file without a prompt. */
function describe(folder: AgentFolder, { nativeId, path }: { nativeId: string; path: string }) {
  const facts = folder.facts(path);
  if (facts === null || facts.size === 0) return null;
  const { size, modifiedAt: updatedAt } = facts;
  const beginning = folder.head(path, HEAD_BYTES) ?? "";
  const { records } = readRecords(beginning, { until: isFirst });
  const first = records.find(isPrompt);
  const directory = records.map(({ native }) => native.cwd).find(isString) ?? null;
  if (first === undefined && (size <= HEAD_BYTES || directory === null)) return null;
  const end = size > HEAD_BYTES ? (folder.tail(path, TAIL_BYTES) ?? "") : beginning;
  const named = readRecords(end, { skips: (line) => !line.includes('"custom_title"') }).records;
  const title = titleIn(named) ?? (first === undefined ? null : promptOf(first));
  return { nativeId, title, directory, updatedAt, size, path };
}

function isFirst(value: unknown): boolean {
  const record = readQwenFileLine(value);
  return record !== null && isPrompt(record);
}

function sizeIn(folder: AgentFolder, place: string): number {
  return folder.list(place).reduce((sum, { name }) => sum + (folder.facts(`${place}/${name}`)?.size ?? 0), 0);
}

const promptOf = ({ native }: QwenFileRecord): string => textOfParts(shapeOf(native.message).parts);

function titleIn(records: readonly QwenFileRecord[]): string | null {
  const named = records.findLast(({ type, subtype }) => type === "system" && subtype === "custom_title");
  const { customTitle } = shapeOf(named?.native.systemPayload);
  return isString(customTitle) && customTitle !== "" ? customTitle : null;
}

function readRecords(
  text: string,
  options: FileLinesOptions = {},
): {
  readonly records: readonly QwenFileRecord[];
  readonly unread: readonly string[];
} {
  const { lines, unread } = readFileLines(text, options);
  const sentences = [...unread];
  const records = lines.flatMap(({ value, number }) => {
    const record = readQwenFileLine(value);
    if (record === null) sentences.push(`Line ${number} is no record that we know.`);
    return record ?? [];
  });
  return { records, unread: sentences };
}

function read(folder: AgentFolder, { path }: ConversationName): Conversation {
  const text = folder.text(path);
  if (text === null) throw new SessionFileError(`There is no file ${path}.`);
  const { records, unread } = readRecords(text);
  const nativeId = records.map(({ native }) => native.sessionId).find(isConversationId);
  if (nativeId === undefined) throw new SessionFileError(`${path} is no session of Qwen Code.`);
  const active = activeRecords(records);
  const directory = records.map(({ native }) => native.cwd).find(isString) ?? null;
  const version = records.map(({ native }) => native.version).findLast(isString) ?? null;
  const place = { nativeId, directory, version };
  const turns = turnsOf(active, { place, subagents: subagentsOf(folder, { path, nativeId }) });
  if (turns.length === 0) throw new SessionFileError(`${path} holds no prompt.`);
  const first = active.find(isPrompt);
  return {
    nativeId,
    title: titleIn(records) ?? (first === undefined ? null : promptOf(first)),
    directory,
    model: active.map(({ native }) => native.model).findLast(isString) ?? null,
    turns,
    abandoned: records.filter(isPrompt).length - active.filter(isPrompt).length,
    unread,
  };
}

/** The last record and those above it: a rewind goes on from an earlier one. Titles are not in the chain. */
function activeRecords(records: readonly QwenFileRecord[]): readonly QwenFileRecord[] {
  const byId = new Map(records.map((record) => [record.uuid, record]));
  const active = new Set<string>();
  let at = records.findLast(({ subtype }) => subtype !== "custom_title" && subtype !== "session_source");
  while (at !== undefined && !active.has(at.uuid)) {
    active.add(at.uuid);
    at = at.parent === null ? undefined : byId.get(at.parent);
  }
  return records.filter(({ uuid }) => active.has(uuid));
}

function subagentsOf(folder: AgentFolder, { path, nativeId }: { path: string; nativeId: string }): QwenSubagent[] {
  const place = `${path.slice(0, Math.max(0, path.lastIndexOf("/chats/")))}/subagents/${nativeId}`;
  return folder.list(place).flatMap(({ name, kind }): QwenSubagent[] => {
    if (kind !== "file" || !SUBAGENT.test(name)) return [];
    const meta = metaOf(folder, `${place}/${name.replace(/\.jsonl$/, ".meta.json")}`);
    const { records } = readRecords(folder.text(`${place}/${name}`) ?? "");
    const { agentId, toolUseId, description } = meta;
    if (!isString(agentId) || !isString(toolUseId) || records.length === 0) return [];
    const failed = meta.status !== undefined && meta.status !== "completed";
    return [{ id: agentId, callId: toolUseId, title: isString(description) ? description : null, failed, records }];
  });
}

function metaOf(folder: AgentFolder, path: string): Shape {
  const text = folder.facts(path) === null ? null : folder.text(path);
  try {
    return shapeOf(parseJson(text ?? "{}"));
  } catch {
    return {};
  }
}
