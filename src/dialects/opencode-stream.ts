/**
 * What travels between OpenCode and us: events bare (`/event`) or wrapped (`/global/event`), their twins, and HTTP
 * exchanges. The guard looks at the tag and at the fields we read, and at nothing else.
 */
import {
  type OpenCodeEvent,
  type OpenCodeServerEventName,
  type OpenCodeSessionEvent,
  type OpenCodeStatus,
  openCodeServerEventNames,
} from "./opencode.ts";
import { type Shape as Fields, isShape as isFields, isNumber, isString as isText } from "./shape.ts";

/** Every persisted event comes a second time on `/global/event`, in this form. */
export interface OpenCodeTwin {
  readonly type: "sync";
  readonly syncEvent: { readonly aggregateID?: string };
}

/** The same conversation in the words of OpenCode's next protocol, sent beside the old ones when it is switched on. */
export interface OpenCodeNextEvent {
  readonly type: `session.next.${string}` | `permission.v2.${string}` | `question.v2.${string}`;
  readonly properties: { readonly sessionID?: string };
}

export type OpenCodePayload = OpenCodeEvent | OpenCodeTwin | OpenCodeNextEvent;

/** One message of `GET /global/event`, which carries all directories. */
export interface OpenCodeGlobalEvent {
  readonly directory?: string;
  readonly project?: string;
  readonly payload: OpenCodePayload;
}

export interface OpenCodeRequestLine {
  readonly request: { readonly id: string; readonly method: string; readonly path: string; readonly body?: unknown };
}

export interface OpenCodeResponseLine {
  readonly response: { readonly id: string; readonly status: number; readonly body?: unknown };
}

export type OpenCodeLine = OpenCodePayload | OpenCodeGlobalEvent | OpenCodeRequestLine | OpenCodeResponseLine;

export function isOpenCodeLine(value: unknown): value is OpenCodeLine {
  if (!isFields(value)) return false;
  if ("payload" in value) return isPayload(value.payload) && isTextOrAbsent(value.directory);
  if ("request" in value) return isRequest(value.request);
  if ("response" in value) return isResponse(value.response);
  return isPayload(value);
}

export function isOpenCodeEvent(value: unknown): value is OpenCodeEvent {
  if (!isFields(value) || typeof value.type !== "string" || !isFields(value.properties)) return false;
  const check = sessionEvents.get(value.type);
  return check === undefined ? serverEvents.has(value.type) : check(value.properties);
}

/** What a line of the stream says, without its wrapper. */
export const payloadOf = (line: OpenCodePayload | OpenCodeGlobalEvent): OpenCodePayload =>
  "payload" in line ? line.payload : line;

function isPayload(value: unknown): value is OpenCodePayload {
  if (!isFields(value) || typeof value.type !== "string") return false;
  if (value.type === "sync") return isFields(value.syncEvent) && isTextOrAbsent(value.syncEvent.aggregateID);
  if (nextEvent.test(value.type)) return isFields(value.properties) && isTextOrAbsent(value.properties.sessionID);
  return isOpenCodeEvent(value);
}

const nextEvent = /^(session\.next|permission\.v2|question\.v2)\./;
const serverEvents: ReadonlySet<string> = new Set<OpenCodeServerEventName>(openCodeServerEventNames);

const isTextOrAbsent = (value: unknown): boolean => value === undefined || typeof value === "string";
const isFieldsOrAbsent = (value: unknown): boolean => value === undefined || isFields(value);
const isTexts = (value: unknown): boolean => Array.isArray(value) && value.every(isText);

const isRequest = (value: unknown): boolean =>
  isFields(value) && isText(value.id) && isText(value.method) && isText(value.path);
const isResponse = (value: unknown): boolean => isFields(value) && isText(value.id) && isNumber(value.status);

const ofSession = (properties: Fields): boolean => isText(properties.sessionID);
const ofMaybeSession = (properties: Fields): boolean => isTextOrAbsent(properties.sessionID);

const isTime = (time: unknown): boolean => time === undefined || (isFields(time) && isNumber(time.created));

export function isOpenCodeSession(info: unknown): boolean {
  if (!isFields(info) || !isText(info.id)) return false;
  const { parentID, title, directory, version, agent, model, share, revert } = info;
  return (
    isTime(info.time) &&
    (share === undefined || (isFields(share) && isText(share.url))) &&
    (revert === undefined || isRevert(revert)) &&
    [parentID, title, directory, version, agent].every(isTextOrAbsent) &&
    (model === undefined || (isFields(model) && isText(model.id) && isText(model.providerID)))
  );
}

const isRevert = (revert: unknown): boolean =>
  isFields(revert) && isText(revert.messageID) && [revert.partID, revert.snapshot, revert.diff].every(isTextOrAbsent);

export function isOpenCodeMessage(info: unknown): boolean {
  if (!isFields(info) || !isText(info.id) || !isText(info.sessionID)) return false;
  if (!isTime(info.time)) return false;
  if (info.role === "user") return isFieldsOrAbsent(info.model);
  if (info.role !== "assistant") return false;
  const { error, finish, modelID, providerID, summary } = info;
  return (
    (error === undefined || isOpenCodeError(error)) &&
    [finish, modelID, providerID].every(isTextOrAbsent) &&
    (summary === undefined || typeof summary === "boolean")
  );
}

export const isOpenCodeError = (error: unknown): boolean =>
  isFields(error) &&
  isText(error.name) &&
  (error.data === undefined || (isFields(error.data) && isTextOrAbsent(error.data.message)));

function isTokens(tokens: unknown): boolean {
  if (!isFields(tokens) || !isFields(tokens.cache)) return false;
  const { input, output, reasoning, cache } = tokens;
  return [input, output, reasoning, cache.read, cache.write].every(isNumber);
}

function isToolState(state: unknown): boolean {
  if (!isFields(state) || !isFields(state.input) || !isFieldsOrAbsent(state.metadata)) return false;
  switch (state.status) {
    case "pending":
    case "running":
      return isTextOrAbsent(state.title);
    case "completed":
      return isText(state.output) && isTextOrAbsent(state.title);
    case "error":
      return isText(state.error);
    default:
      return false;
  }
}

const parts: ReadonlyMap<string, (part: Fields) => boolean> = new Map<string, (part: Fields) => boolean>([
  ["text", (part) => isText(part.text) && isFieldsOrAbsent(part.time)],
  ["reasoning", (part) => isText(part.text) && isFieldsOrAbsent(part.time)],
  ["file", (part) => isText(part.mime) && isText(part.url) && isFieldsOrAbsent(part.source)],
  ["tool", (part) => isText(part.callID) && isText(part.tool) && isToolState(part.state)],
  ["step-start", () => true],
  ["step-finish", (part) => isText(part.reason) && isNumber(part.cost) && isTokens(part.tokens)],
  ["snapshot", () => true],
  ["patch", (part) => isTexts(part.files)],
  ["agent", (part) => isText(part.name)],
  ["retry", (part) => isNumber(part.attempt) && isOpenCodeError(part.error)],
  ["compaction", (part) => typeof part.auto === "boolean"],
  ["subtask", (part) => isText(part.prompt) && isText(part.description) && isText(part.agent)],
]);

export function isOpenCodePart(part: unknown): boolean {
  if (!isFields(part) || !isText(part.id) || !isText(part.sessionID) || !isText(part.messageID)) return false;
  return typeof part.type === "string" && (parts.get(part.type)?.(part) ?? false);
}

export function isOpenCodeStatus(status: unknown): status is OpenCodeStatus {
  if (!isFields(status)) return false;
  if (status.type === "idle" || status.type === "busy") return true;
  return status.type === "retry" && isNumber(status.attempt) && isText(status.message) && isNumber(status.next);
}

const isTodo = (todo: unknown): boolean =>
  isFields(todo) && isText(todo.content) && isText(todo.status) && isTextOrAbsent(todo.priority);
const isToolRef = (tool: unknown): boolean => tool === undefined || (isFields(tool) && isText(tool.callID));

export const isOpenCodePermission = (asked: Fields): boolean =>
  isText(asked.id) &&
  isText(asked.sessionID) &&
  isText(asked.permission) &&
  isTexts(asked.patterns) &&
  isFieldsOrAbsent(asked.metadata) &&
  isToolRef(asked.tool);

function isQuestion(question: unknown): boolean {
  if (!isFields(question) || !isText(question.question) || !isTextOrAbsent(question.header)) return false;
  const { options } = question;
  return Array.isArray(options) && options.every((option) => isFields(option) && isText(option.label));
}

export const isOpenCodeQuestion = (asked: Fields): boolean =>
  isText(asked.id) &&
  isText(asked.sessionID) &&
  Array.isArray(asked.questions) &&
  asked.questions.every(isQuestion) &&
  isToolRef(asked.tool);

const aboutSession = (properties: Fields): boolean => ofMaybeSession(properties) && isOpenCodeSession(properties.info);
const isReply = (reply: unknown): boolean => reply === "once" || reply === "always" || reply === "reject";
const isAnswers = (answers: unknown): boolean => Array.isArray(answers) && answers.every(isTexts);

const sessionEvents: ReadonlyMap<string, (properties: Fields) => boolean> = new Map<
  OpenCodeSessionEvent["type"],
  (properties: Fields) => boolean
>([
  ["session.created", aboutSession],
  ["session.updated", aboutSession],
  ["session.deleted", aboutSession],
  ["session.status", (properties) => ofSession(properties) && isOpenCodeStatus(properties.status)],
  ["session.idle", ofSession],
  ["session.compacted", ofSession],
  [
    "session.error",
    (properties) => ofMaybeSession(properties) && (properties.error === undefined || isOpenCodeError(properties.error)),
  ],
  ["session.diff", ofSession],
  ["message.updated", (properties) => ofMaybeSession(properties) && isOpenCodeMessage(properties.info)],
  ["message.removed", (properties) => ofSession(properties) && isText(properties.messageID)],
  ["message.part.updated", (properties) => isOpenCodePart(properties.part) && isTextOrAbsent(properties.delta)],
  [
    "message.part.delta",
    ({ sessionID, messageID, partID, field, delta }) => [sessionID, messageID, partID, field, delta].every(isText),
  ],
  ["message.part.removed", ({ sessionID, messageID, partID }) => [sessionID, messageID, partID].every(isText)],
  ["permission.asked", isOpenCodePermission],
  [
    "permission.replied",
    (properties) => ofSession(properties) && isText(properties.requestID) && isReply(properties.reply),
  ],
  ["question.asked", isOpenCodeQuestion],
  [
    "question.replied",
    (properties) => ofSession(properties) && isText(properties.requestID) && isAnswers(properties.answers),
  ],
  ["question.rejected", (properties) => ofSession(properties) && isText(properties.requestID)],
  [
    "todo.updated",
    (properties) => ofSession(properties) && Array.isArray(properties.todos) && properties.todos.every(isTodo),
  ],
  ["command.executed", ofSession],
]);
