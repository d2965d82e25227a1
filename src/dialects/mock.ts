/**
 * The mock agent's own words: one JSON object a line, both directions. Small on purpose, but with everything that
 * real agents have: blocks, calls, requests, retries, subagents, background work, more than one way to end.
 */
import { z } from "zod";
import { isBoolean, isListOf, isNumber, isOneOf, isShape, isString, maybe, type Shape } from "./shape.ts";

const blockKinds = ["text", "reasoning"] as const;
const toolKinds = ["command", "file_change", "web_search", "subagent", "note", "tool"] as const;
const fileActions = ["read", "write", "patch"] as const;
const todoStates = ["pending", "in_progress", "completed", "cancelled"] as const;
const subagentStates = ["started", "completed", "failed"] as const;
const endReasons = ["completed", "aborted", "error"] as const;
const replies = ["once", "always", "reject"] as const;

const File = z.looseObject({ path: z.string(), action: z.enum(fileActions), diff: z.string().optional() });
const Todo = z.looseObject({ id: z.string(), content: z.string(), status: z.enum(todoStates) });
const Option = z.looseObject({ label: z.string(), description: z.string().optional() });
const Question = z.looseObject({
  id: z.string(),
  header: z.string(),
  question: z.string(),
  options: z.array(Option),
  multiple: z.boolean(),
});
const Task = z.looseObject({ id: z.string(), title: z.string(), call: z.string().optional() });
const Failure = z.looseObject({ message: z.string(), code: z.string() });
const tokenCounts = { input: z.number(), output: z.number(), reasoning: z.number() };
const settings = { model: z.string().optional(), mode: z.string().optional(), permission_mode: z.string().optional() };
const Answers = z.array(z.array(z.string()));

/** What the mock says. */
export const MockSays = z.discriminatedUnion("type", [
  /** Once, first. `session` is the native id, by which the conversation is resumed. */
  z.looseObject({
    type: z.literal("ready"),
    session: z.string(),
    version: z.string(),
    model: z.string(),
    directory: z.string(),
    permission_mode: z.string(),
    tools: z.array(z.string()),
  }),
  z.looseObject({
    type: z.literal("block"),
    id: z.string(),
    message: z.string(),
    kind: z.enum(blockKinds),
    subagent: z.string().optional(),
  }),
  z.looseObject({ type: z.literal("delta"), id: z.string(), text: z.string() }),
  /** Without a text, what was streamed stands. */
  z.looseObject({ type: z.literal("block.end"), id: z.string(), text: z.string().optional() }),
  z.looseObject({ type: z.literal("image"), id: z.string(), message: z.string(), mime: z.string(), data: z.string() }),
  /** A tool call with its whole input; `run` says that it begins to work, `result` that it is done. */
  z.looseObject({
    type: z.literal("call"),
    id: z.string(),
    message: z.string(),
    tool: z.string(),
    kind: z.enum(toolKinds),
    title: z.string(),
    input: z.record(z.string(), z.unknown()),
    subagent: z.string().optional(),
  }),
  z.looseObject({ type: z.literal("run"), id: z.string() }),
  z.looseObject({ type: z.literal("output"), id: z.string(), text: z.string() }),
  z.looseObject({
    type: z.literal("result"),
    id: z.string(),
    output: z.string(),
    error: z.boolean(),
    denied: z.boolean().optional(),
    files: z.array(File).optional(),
  }),
  z.looseObject({
    type: z.literal("ask"),
    id: z.string(),
    action: z.string(),
    call: z.string(),
    tool: z.string(),
    input: z.record(z.string(), z.unknown()),
    patterns: z.array(z.string()),
  }),
  z.looseObject({ type: z.literal("question"), id: z.string(), questions: z.array(Question) }),
  /** The mock repeats the answer it was given, or gave itself after "always". */
  z.looseObject({ type: z.literal("answered"), id: z.string(), reply: z.enum(replies) }),
  z.looseObject({ type: z.literal("todos"), todos: z.array(Todo) }),
  z.looseObject({
    type: z.literal("usage"),
    finish: z.string(),
    tokens: z.looseObject(tokenCounts),
    cost_usd: z.number(),
  }),
  z.looseObject({ type: z.literal("error"), message: z.string(), code: z.string(), fatal: z.boolean() }),
  z.looseObject({ type: z.literal("retry"), attempt: z.number(), message: z.string(), delay_ms: z.number() }),
  z.looseObject({ type: z.literal("compacting") }),
  /** It goes on after a retry or a compaction. */
  z.looseObject({ type: z.literal("running") }),
  z.looseObject({ type: z.literal("summary"), id: z.string(), text: z.string() }),
  z.looseObject({
    type: z.literal("subagent"),
    id: z.string(),
    call: z.string(),
    name: z.string(),
    status: z.enum(subagentStates),
  }),
  /** All work that goes on without a turn; replaces what was said before. */
  z.looseObject({ type: z.literal("background"), tasks: z.array(Task) }),
  /** It starts work that nobody asked for. */
  z.looseObject({ type: z.literal("wake") }),
  z.looseObject({ type: z.literal("title"), title: z.string() }),
  z.looseObject({ type: z.literal("settings"), ...settings }),
  z.looseObject({ type: z.literal("end"), reason: z.enum(endReasons), error: Failure.optional() }),
  /** Says nothing new. */
  z.looseObject({ type: z.literal("heartbeat") }),
]);
export type MockSays = z.infer<typeof MockSays>;

/** What is said to the mock. */
export const MockHears = z.discriminatedUnion("type", [
  z.looseObject({ type: z.literal("prompt"), id: z.string(), text: z.string() }),
  z.looseObject({ type: z.literal("steer"), id: z.string(), text: z.string() }),
  z.looseObject({
    type: z.literal("answer"),
    id: z.string(),
    reply: z.enum(replies),
    message: z.string().optional(),
  }),
  /** Null when the question was rejected. */
  z.looseObject({ type: z.literal("answers"), id: z.string(), answers: Answers.nullable() }),
  z.looseObject({ type: z.literal("set"), ...settings }),
  z.looseObject({ type: z.literal("compact"), id: z.string() }),
  z.looseObject({ type: z.literal("abort") }),
]);
export type MockHears = z.infer<typeof MockHears>;

export const MockLine = z.union([MockSays, MockHears]);
export type MockLine = MockSays | MockHears;

export type MockSaysOf<Type extends MockSays["type"]> = Extract<MockSays, { type: Type }>;

const isStrings = isListOf(isString);
const isFile = (value: unknown): value is Shape =>
  isShape(value) && isString(value.path) && isOneOf(fileActions)(value.action) && maybe(value.diff, isString);
const isTodo = (value: unknown): value is Shape =>
  isShape(value) && isString(value.id) && isString(value.content) && isOneOf(todoStates)(value.status);
const isOption = (value: unknown): value is Shape =>
  isShape(value) && isString(value.label) && maybe(value.description, isString);
const isQuestion = (value: unknown): value is Shape =>
  isShape(value) &&
  isString(value.id) &&
  isString(value.header) &&
  isString(value.question) &&
  isListOf(isOption)(value.options) &&
  isBoolean(value.multiple);
const isTask = (value: unknown): value is Shape =>
  isShape(value) && isString(value.id) && isString(value.title) && maybe(value.call, isString);
const isFailure = (value: unknown) => isShape(value) && isString(value.message) && isString(value.code);
const isTokens = (value: unknown) =>
  isShape(value) && isNumber(value.input) && isNumber(value.output) && isNumber(value.reasoning);
const hasSettings = (line: Shape) =>
  maybe(line.model, isString) && maybe(line.mode, isString) && maybe(line.permission_mode, isString);
const hasId = (line: Shape) => isString(line.id);
const hasText = (line: Shape) => isString(line.id) && isString(line.text);
const anything = () => true;

const guards: { readonly [Type in MockLine["type"]]: (line: Shape) => boolean } = {
  ready: (line) =>
    isString(line.session) &&
    isString(line.version) &&
    isString(line.model) &&
    isString(line.directory) &&
    isString(line.permission_mode) &&
    isStrings(line.tools),
  block: (line) =>
    hasId(line) && isString(line.message) && isOneOf(blockKinds)(line.kind) && maybe(line.subagent, isString),
  delta: hasText,
  "block.end": (line) => hasId(line) && maybe(line.text, isString),
  image: (line) => hasId(line) && isString(line.message) && isString(line.mime) && isString(line.data),
  call: (line) =>
    hasId(line) &&
    isString(line.message) &&
    isString(line.tool) &&
    isOneOf(toolKinds)(line.kind) &&
    isString(line.title) &&
    isShape(line.input) &&
    maybe(line.subagent, isString),
  run: hasId,
  output: hasText,
  result: (line) =>
    hasId(line) &&
    isString(line.output) &&
    isBoolean(line.error) &&
    maybe(line.denied, isBoolean) &&
    maybe(line.files, isListOf(isFile)),
  ask: (line) =>
    hasId(line) &&
    isString(line.action) &&
    isString(line.call) &&
    isString(line.tool) &&
    isShape(line.input) &&
    isStrings(line.patterns),
  question: (line) => hasId(line) && isListOf(isQuestion)(line.questions),
  answered: (line) => hasId(line) && isOneOf(replies)(line.reply),
  todos: (line) => isListOf(isTodo)(line.todos),
  usage: (line) => isString(line.finish) && isTokens(line.tokens) && isNumber(line.cost_usd),
  error: (line) => isString(line.message) && isString(line.code) && isBoolean(line.fatal),
  retry: (line) => isNumber(line.attempt) && isString(line.message) && isNumber(line.delay_ms),
  compacting: anything,
  running: anything,
  summary: hasText,
  subagent: (line) => hasId(line) && isString(line.call) && isString(line.name) && isOneOf(subagentStates)(line.status),
  background: (line) => isListOf(isTask)(line.tasks),
  wake: anything,
  title: (line) => isString(line.title),
  settings: hasSettings,
  end: (line) => isOneOf(endReasons)(line.reason) && maybe(line.error, isFailure),
  heartbeat: anything,
  prompt: hasText,
  steer: hasText,
  answer: (line) => hasId(line) && isOneOf(replies)(line.reply) && maybe(line.message, isString),
  answers: (line) => hasId(line) && (line.answers === null || isListOf(isStrings)(line.answers)),
  set: hasSettings,
  compact: hasId,
  abort: anything,
};

const isKnownType = (type: unknown): type is MockLine["type"] =>
  typeof type === "string" && Object.hasOwn(guards, type);

export const isMockLine = (value: unknown): value is MockLine =>
  isShape(value) && isKnownType(value.type) && guards[value.type](value);
