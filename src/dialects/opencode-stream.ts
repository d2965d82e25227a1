/**
 * What travels between OpenCode and us: events bare (`/event`) or wrapped (`/global/event`), their twins, and HTTP
 * exchanges. The guard looks at the tag and at the fields we read, and at nothing else.
 */
import {
  type OpenCodeEvent,
  type OpenCodeSessionEvent,
  type OpenCodeStatus,
  openCodeServerEventNames,
} from "./opencode.ts";
import {
  anyOf,
  byTag,
  type Check,
  fields,
  isAnything,
  isBoolean,
  isListOf,
  isNumber,
  isOneOf,
  isShape,
  isString,
  optional,
} from "./shape.ts";

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

/** What a line of the stream says, without its wrapper. */
export const payloadOf = (line: OpenCodePayload | OpenCodeGlobalEvent): OpenCodePayload =>
  "payload" in line ? line.payload : line;

const optionalText = optional(isString);
const optionalShape = optional(isShape);
const isTexts = isListOf(isString);
const id = isString;

const ofSession = fields({ sessionID: isString });
const ofAnySession = fields({ sessionID: optionalText });
const time = optional(fields({ created: isNumber }));

export const isOpenCodeError = fields({ name: isString, data: optional(fields({ message: optionalText })) });
const optionalError = optional(isOpenCodeError);

export const isOpenCodeSession = fields({
  id,
  time,
  parentID: optionalText,
  title: optionalText,
  directory: optionalText,
  version: optionalText,
  agent: optionalText,
  model: optional(fields({ id, providerID: isString })),
  share: optional(fields({ url: isString })),
  revert: optional(fields({ messageID: isString, partID: optionalText, snapshot: optionalText, diff: optionalText })),
});

export const isOpenCodeMessage = byTag("role", {
  user: fields({ id, sessionID: isString, time, model: optionalShape }),
  assistant: fields({
    id,
    sessionID: isString,
    time,
    error: optionalError,
    finish: optionalText,
    modelID: optionalText,
    providerID: optionalText,
    summary: optional(isBoolean),
  }),
});

const ofTool = { input: isShape, metadata: optionalShape };
const isToolState = byTag("status", {
  pending: fields({ ...ofTool, title: optionalText }),
  running: fields({ ...ofTool, title: optionalText }),
  completed: fields({ ...ofTool, title: optionalText, output: isString }),
  error: fields({ ...ofTool, error: isString }),
});

const isTokens = fields({
  input: isNumber,
  output: isNumber,
  reasoning: isNumber,
  cache: fields({ read: isNumber, write: isNumber }),
});

const ofPart = { id, sessionID: isString, messageID: isString };
const isWords = fields({ ...ofPart, text: isString, time: optionalShape });

export const isOpenCodePart = byTag("type", {
  text: isWords,
  reasoning: isWords,
  file: fields({ ...ofPart, mime: isString, url: isString, source: optionalShape }),
  tool: fields({ ...ofPart, callID: isString, tool: isString, state: isToolState }),
  "step-start": fields(ofPart),
  "step-finish": fields({ ...ofPart, reason: isString, cost: isNumber, tokens: isTokens }),
  snapshot: fields(ofPart),
  patch: fields({ ...ofPart, files: isTexts }),
  agent: fields({ ...ofPart, name: isString }),
  retry: fields({ ...ofPart, attempt: isNumber, error: isOpenCodeError }),
  compaction: fields({ ...ofPart, auto: isBoolean }),
  subtask: fields({ ...ofPart, prompt: isString, description: isString, agent: isString }),
});

const status = byTag("type", {
  idle: isAnything,
  busy: isAnything,
  retry: fields({ attempt: isNumber, message: isString, next: isNumber }),
});
export const isOpenCodeStatus = (value: unknown): value is OpenCodeStatus => status(value);

const isToolRef = optional(fields({ callID: isString }));

export const isOpenCodePermission = fields({
  id,
  sessionID: isString,
  permission: isString,
  patterns: isTexts,
  metadata: optionalShape,
  tool: isToolRef,
});

export const isOpenCodeQuestion = fields({
  id,
  sessionID: isString,
  questions: isListOf(
    fields({ question: isString, header: optionalText, options: isListOf(fields({ label: isString })) }),
  ),
  tool: isToolRef,
});

const aboutSession = fields({ sessionID: optionalText, info: isOpenCodeSession });
const place = { sessionID: isString, messageID: isString };
const answered = { sessionID: isString, requestID: isString };

const sessionEvents: Readonly<Record<OpenCodeSessionEvent["type"], Check>> = {
  "session.created": aboutSession,
  "session.updated": aboutSession,
  "session.deleted": aboutSession,
  "session.status": fields({ sessionID: isString, status: isOpenCodeStatus }),
  "session.idle": ofSession,
  "session.compacted": ofSession,
  "session.error": fields({ sessionID: optionalText, error: optionalError }),
  "session.diff": ofSession,
  "message.updated": fields({ sessionID: optionalText, info: isOpenCodeMessage }),
  "message.removed": fields(place),
  "message.part.updated": fields({ part: isOpenCodePart, delta: optionalText }),
  "message.part.delta": fields({ ...place, partID: isString, field: isString, delta: isString }),
  "message.part.removed": fields({ ...place, partID: isString }),
  "permission.asked": isOpenCodePermission,
  "permission.replied": fields({ ...answered, reply: isOneOf(["once", "always", "reject"]) }),
  "question.asked": isOpenCodeQuestion,
  "question.replied": fields({ ...answered, answers: isListOf(isTexts) }),
  "question.rejected": fields(answered),
  "todo.updated": fields({
    sessionID: isString,
    todos: isListOf(fields({ content: isString, status: isString, priority: optionalText })),
  }),
  "command.executed": ofSession,
};

const serverEvents = openCodeServerEventNames.map((name): [string, Check] => [name, isShape]);

/** By its name: what the event's properties must be. */
const event = byTag(
  "type",
  Object.fromEntries(
    [...serverEvents, ...Object.entries(sessionEvents)].map(([name, properties]) => [name, fields({ properties })]),
  ),
);
export const isOpenCodeEvent = (value: unknown): value is OpenCodeEvent => event(value);

const twin = byTag("type", { sync: fields({ syncEvent: fields({ aggregateID: optionalText }) }) });
const next = fields({
  type: (name) => isString(name) && /^(session\.next|permission\.v2|question\.v2)\./.test(name),
  properties: ofAnySession,
});
const payload = anyOf(event, twin, next);

const wrapped = fields({ payload, directory: optionalText });
const request = fields({ request: fields({ id, method: isString, path: isString }) });
const response = fields({ response: fields({ id, status: isNumber }) });

export function isOpenCodeLine(value: unknown): value is OpenCodeLine {
  if (!isShape(value)) return false;
  if ("payload" in value) return wrapped(value);
  if ("request" in value) return request(value);
  if ("response" in value) return response(value);
  return payload(value);
}
