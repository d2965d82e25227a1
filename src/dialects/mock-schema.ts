/** The lines of `mock.ts` as schemas, for tests and for the types: a running Franca checks by guards alone. */
import * as z from "zod";
import { blockKinds, endReasons, fileActions, replies, subagentStates, todoStates, toolKinds } from "./mock.ts";

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
  /** Ignored: it only shows that the agent is alive. */
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
