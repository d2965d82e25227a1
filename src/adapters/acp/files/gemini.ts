/** Gemini CLI's own session files: what a list shows of one, and the conversation in it. */
import { type FileLinesOptions, readFileLines } from "../../../core/file-lines.ts";
import { parseJson } from "../../../core/json.ts";
import type { Recorded } from "../../../core/recorded.ts";
import {
  type AgentFolder,
  type Conversation,
  type ConversationName,
  type FileTurn,
  type FoundConversation,
  isConversationId,
  SessionFileError,
  type SessionFileProblem,
  type SessionFiles,
} from "../../../core/session-files.ts";
import {
  type GeminiMessage,
  readGeminiFileLine,
  readSet,
  responseText,
  textOfParts,
} from "../../../dialects/gemini-file.ts";
import { isNumber, isString, type Shape, shapeOf } from "../../../dialects/shape.ts";
import { isPrompt, type MessageList, openList } from "./gemini-list.ts";
import {
  callLine,
  type FileEnd,
  type FileResult,
  type Place,
  resultLine,
  textBlock,
  toolKinds,
  turnOfFile,
  updateLine,
} from "./lines.ts";

const NAME = /^session-[\w-]{1,64}\.jsonl?$/;
const TMP = "tmp";

/** The header, the context that begins a conversation, and the first prompt. */
const HEAD_BYTES = 32 * 1024;
/** Documents of version 0.30 that are larger are listed without a title. */
const LISTED_BYTES = 1024 * 1024;

export const sessionFiles: SessionFiles = {
  form: "gemini-file",
  place: { home: ".gemini", variable: { name: "GEMINI_CLI_HOME", below: ".gemini" } },
  tops: [TMP],
  discover,
  read,
};

function* discover(folder: AgentFolder): Generator<FoundConversation | SessionFileProblem> {
  const projects = projectsOf(folder);
  for (const { name: slug, kind } of folder.list(TMP)) {
    if (kind !== "folder") continue;
    const chats = folder.list(`${TMP}/${slug}/chats`).filter((entry) => entry.kind === "file" && NAME.test(entry.name));
    const directory = chats.length === 0 ? null : directoryOf(folder, { slug: `${TMP}/${slug}`, projects });
    for (const { name } of chats) {
      const found = describe(folder, { path: `${TMP}/${slug}/chats/${name}`, directory });
      if (found !== null) yield found;
    }
  }
}

/** Null for what is no conversation: subagents, and files whose only prompt was taken back. */
function describe(
  folder: AgentFolder,
  { path, directory }: { path: string; directory: string | null },
): FoundConversation | SessionFileProblem | null {
  const facts = folder.facts(path);
  if (facts === null || facts.size === 0) return null;
  const isDocument = path.endsWith(".json");
  const text = isDocument && facts.size <= LISTED_BYTES ? folder.text(path) : folder.head(path, HEAD_BYTES);
  const isWhole = facts.size <= (isDocument ? LISTED_BYTES : HEAD_BYTES);
  const until = isPatched(text ?? "") ? {} : { until: isFirst };
  const { id, isMain, title, list } =
    isDocument && !isWhole ? headOfDocument(text ?? "") : readList(path, text ?? "", until);
  if (id === null) return { problem: `${path} is damaged, or no session of Gemini CLI.`, path };
  const first = list.messages().find(isPrompt);
  if (!isMain || (first === undefined && isWhole)) return null;
  const prompt = first === undefined ? null : textOfParts(first.native.content);
  const { size, modifiedAt: updatedAt } = facts;
  return { nativeId: id, title: title ?? prompt, directory, updatedAt, size, path };
}

/** Whether messages may have been taken back: the list that every process begins with is no patch. */
const isPatched = (text: string): boolean =>
  text.includes("$rewindTo") || text.indexOf(LIST) !== text.lastIndexOf(LIST);

const LIST = '{"$set":{"messages":';

function isFirst(value: unknown): boolean {
  const line = readGeminiFileLine(value);
  return line.kind === "message" && isPrompt(line.message);
}

interface ReadList {
  readonly id: string | null;
  readonly isMain: boolean;
  readonly title: string | null;
  readonly list: MessageList;
  readonly unread: readonly string[];
}

function headOfDocument(text: string): ReadList {
  const id = /"sessionId":\s*"([\w-]{1,64})"/.exec(text)?.[1] ?? null;
  return { id, isMain: true, title: null, list: openList(), unread: [] };
}

function readList(path: string, text: string, options: FileLinesOptions = {}): ReadList {
  const list = path.endsWith(".json") ? readDocument(text) : readLines(text, options);
  return isConversationId(list.id) ? list : { ...list, id: null };
}

function readDocument(text: string): ReadList {
  const document = documentOf(text);
  const { messages, title } = readSet(document);
  const list = openList();
  for (const message of messages ?? []) list.add(message);
  const { sessionId, kind } = document;
  const isMain = kind === undefined || kind === "main";
  return { id: isString(sessionId) ? sessionId : null, isMain, title, list, unread: [] };
}

function documentOf(text: string): Shape {
  try {
    return shapeOf(parseJson(text));
  } catch {
    return {};
  }
}

function readLines(text: string, options: FileLinesOptions): ReadList {
  const { lines, unread } = readFileLines(text, options);
  const sentences = [...unread];
  const list = openList();
  let [id, isMain, title]: [string | null, boolean, string | null] = [null, true, null];
  for (const { value, number } of lines) {
    const line = readGeminiFileLine(value);
    switch (line.kind) {
      case "header":
        [id, isMain] = [id ?? line.id, line.isMain];
        break;
      case "message":
        list.add(line.message);
        break;
      case "set":
        title = line.title ?? title;
        if (line.messages !== null) list.replace(line.messages);
        break;
      case "rewind":
        list.rewind(line.to);
        break;
      case "unknown":
        sentences.push(`Line ${number} is no record that we know.`);
    }
  }
  return { id, isMain, title, list, unread: sentences };
}

/** Folders by the names that the agent gave them. */
function projectsOf(folder: AgentFolder): ReadonlyMap<string, string> {
  const text = folder.facts("projects.json") === null ? null : folder.text("projects.json");
  const { projects } = documentOf(text ?? "");
  return new Map(Object.entries(shapeOf(projects)).flatMap(([path, slug]) => (isString(slug) ? [[slug, path]] : [])));
}

function directoryOf(
  folder: AgentFolder,
  { slug, projects }: { slug: string; projects: ReadonlyMap<string, string> },
): string | null {
  const root = folder.head(`${slug}/.project_root`, HEAD_BYTES)?.trim() ?? "";
  return root === "" ? (projects.get(slug.slice(slug.lastIndexOf("/") + 1)) ?? null) : root;
}

function read(folder: AgentFolder, { path }: ConversationName): Conversation {
  const text = folder.text(path);
  if (text === null) throw new SessionFileError(`There is no file ${path}.`);
  const { id: nativeId, title, list, unread } = readList(path, text);
  if (nativeId === null) throw new SessionFileError(`${path} is no session of Gemini CLI.`);
  const slug = path.slice(0, Math.max(0, path.lastIndexOf("/chats/")));
  const directory = directoryOf(folder, { slug, projects: projectsOf(folder) });
  const messages = list.messages();
  const turns = turnsOf(messages, { nativeId, directory, version: null });
  if (turns.length === 0) throw new SessionFileError(`${path} holds no prompt.`);
  const first = messages.find(isPrompt);
  const models = messages.map(({ native }) => native.model).filter(isString);
  return {
    nativeId,
    title: title ?? (first === undefined ? null : textOfParts(first.native.content)),
    directory,
    model: models.at(-1) ?? null,
    turns,
    abandoned: list.abandoned(),
    unread,
  };
}

function turnsOf(messages: readonly GeminiMessage[], place: Place): FileTurn[] {
  const starts = messages.flatMap((message, index) => (isPrompt(message) ? [index] : []));
  return starts.map((start, index) => {
    const mine = messages.slice(start, starts[index + 1]);
    const [prompt, ...rest] = mine;
    const said = rest.filter(({ type }) => type === "gemini");
    const model = said.map(({ native }) => native.model).find(isString) ?? null;
    return turnOfFile(place, {
      key: prompt?.id ?? "",
      at: prompt?.at ?? null,
      model,
      prompt: [textBlock(textOfParts(prompt?.native.content))],
      work: rest.flatMap((message) => workOf(message, { session: place.nativeId, rest })),
      end: endOf(rest),
      endAt: mine.at(-1)?.at ?? null,
    });
  });
}

/** No message ends a turn: the last one does. */
function endOf(rest: readonly GeminiMessage[]): FileEnd {
  let end: FileEnd = { type: "cut" };
  for (const message of rest) {
    if (message.type === "gemini") end = afterMessage(callsOf(message));
    else if (message.type === "info" && isCancelled(message)) end = { type: "aborted" };
    else if (message.type === "error") end = { type: "error", message: textOfParts(message.native.content) };
  }
  return end;
}

function afterMessage(calls: readonly Shape[]): FileEnd {
  if (calls.length === 0) return { type: "completed" };
  return { type: calls.every(({ status }) => status === "cancelled") ? "aborted" : "cut" };
}

const isCancelled = ({ native }: GeminiMessage): boolean => /cancelled/i.test(textOfParts(native.content));

interface Work {
  readonly session: string;
  readonly rest: readonly GeminiMessage[];
}

function workOf(message: GeminiMessage, { session, rest }: Work): Recorded[] {
  if (message.type !== "gemini") return [];
  const { id: messageId, at, native } = message;
  const thoughts = Array.isArray(native.thoughts) ? native.thoughts.map(shapeOf) : [];
  const text = textOfParts(native.content);
  const lines = thoughts.map(({ subject, description }) => {
    const heading = isString(subject) && subject !== "" ? `**${subject}**\n` : "";
    const thought = textBlock(`${heading}${isString(description) ? description : ""}`);
    return updateLine(session, { sessionUpdate: "agent_thought_chunk", content: thought, messageId }, at);
  });
  if (text !== "") {
    lines.push(updateLine(session, { sessionUpdate: "agent_message_chunk", content: textBlock(text), messageId }, at));
  }
  const calls = callsOf(message);
  for (const call of calls) lines.push(callLine(session, { ...callOf(call), at }, toolKinds));
  lines.push(...usageLine(session, message));
  for (const call of calls) {
    const result = resultOf(call, { message, rest });
    if (result !== null) lines.push(resultLine(session, String(call.id), result));
  }
  return lines;
}

/** The calls, with their results; a snapshot has them only as the model wrote them. */
function callsOf({ native }: GeminiMessage): readonly Shape[] {
  if (Array.isArray(native.toolCalls)) return native.toolCalls.map(shapeOf).filter(({ id }) => isString(id));
  const parts = Array.isArray(native.content) ? native.content.map(shapeOf) : [];
  return parts.map(({ functionCall }) => shapeOf(functionCall)).filter(({ id }) => isString(id));
}

function callOf({ id, name, args, description, displayName }: Shape) {
  const tool = isString(name) ? name : "tool";
  // Version 0.30 has the tool's description for the model here.
  const short = isString(description) && description.length < TITLE_LENGTH ? description : "";
  const title = [short, displayName, tool].find((text) => isString(text) && text !== "");
  return { id: String(id), name: tool, input: args ?? {}, title: String(title) };
}

const TITLE_LENGTH = 200;

function resultOf(call: Shape, { message, rest }: { message: GeminiMessage; rest: Work["rest"] }): FileResult | null {
  const { id, status, resultDisplay, result, timestamp } = call;
  const own = Array.isArray(result) ? result.map(shapeOf) : [];
  const sent = [...own, ...rest.flatMap(({ native }) => (Array.isArray(native.content) ? native.content : []))]
    .map((part) => shapeOf(shapeOf(part).functionResponse))
    .find((response) => response.id === id);
  if (sent === undefined && status === undefined) return null;
  const at = isString(timestamp) ? Date.parse(timestamp) : Number.NaN;
  const failed = status === "error" || shapeOf(sent?.response).error !== undefined;
  return {
    status: status === "cancelled" ? "cancelled" : failed ? "failed" : "completed",
    output: isString(resultDisplay) && resultDisplay !== "" ? resultDisplay : responseText(sent?.response),
    display: shapeOf(resultDisplay),
    at: Number.isNaN(at) ? message.at : at,
  };
}

/** In the words of the agent's own answers, which count only input and output. */
function usageLine(session: string, { native, at }: GeminiMessage): Recorded[] {
  const { input, output, cached, thoughts } = shapeOf(native.tokens);
  if (!isNumber(input) || !isNumber(output)) return [];
  const counts = { input_tokens: input, output_tokens: output, cached_tokens: cached, thought_tokens: thoughts };
  const _meta = { quota: { token_count: counts } };
  return [updateLine(session, { sessionUpdate: "agent_message_chunk", content: textBlock(""), _meta }, at)];
}
