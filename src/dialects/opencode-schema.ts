/**
 * The zod twins of `isOpenCodeLine` and `isOpenCodeRunLine`: they run in tests over every recording and must agree with
 * the guards.
 */
import * as z from "zod";
import { openCodeServerEventNames } from "./opencode.ts";

const fields = z.record(z.string(), z.unknown());
const call = z.object({ callID: z.string() });

const time = z.object({ created: z.number() }).optional();

const session = z.object({
  id: z.string(),
  parentID: z.string().optional(),
  title: z.string().optional(),
  directory: z.string().optional(),
  version: z.string().optional(),
  agent: z.string().optional(),
  model: z.object({ id: z.string(), providerID: z.string() }).optional(),
  share: z.object({ url: z.string() }).optional(),
  revert: z
    .object({
      messageID: z.string(),
      partID: z.string().optional(),
      snapshot: z.string().optional(),
      diff: z.string().optional(),
    })
    .optional(),
  time,
});

export const OpenCodeErrorSchema = z.object({
  name: z.string(),
  data: z.object({ message: z.string().optional() }).optional(),
});

const message = z.discriminatedUnion("role", [
  z.object({ id: z.string(), sessionID: z.string(), role: z.literal("user"), model: fields.optional(), time }),
  z.object({
    id: z.string(),
    sessionID: z.string(),
    role: z.literal("assistant"),
    time,
    error: OpenCodeErrorSchema.optional(),
    finish: z.string().optional(),
    modelID: z.string().optional(),
    providerID: z.string().optional(),
    summary: z.boolean().optional(),
  }),
]);

const tokens = z.object({
  input: z.number(),
  output: z.number(),
  reasoning: z.number(),
  cache: z.object({ read: z.number(), write: z.number() }),
});

const running = { input: fields, metadata: fields.optional(), title: z.string().optional() };
const toolState = z.discriminatedUnion("status", [
  z.object({ status: z.literal("pending"), ...running }),
  z.object({ status: z.literal("running"), ...running }),
  z.object({ status: z.literal("completed"), ...running, output: z.string() }),
  z.object({ status: z.literal("error"), input: fields, metadata: fields.optional(), error: z.string() }),
]);

const part = { id: z.string(), sessionID: z.string(), messageID: z.string() };
const words = { ...part, text: z.string(), time: fields.optional() };

export const OpenCodePartSchema = z.discriminatedUnion("type", [
  z.object({ type: z.literal("text"), ...words }),
  z.object({ type: z.literal("reasoning"), ...words }),
  z.object({ type: z.literal("file"), ...part, mime: z.string(), url: z.string(), source: fields.optional() }),
  z.object({ type: z.literal("tool"), ...part, callID: z.string(), tool: z.string(), state: toolState }),
  z.object({ type: z.literal("step-start"), ...part }),
  z.object({ type: z.literal("step-finish"), ...part, reason: z.string(), cost: z.number(), tokens }),
  z.object({ type: z.literal("snapshot"), ...part }),
  z.object({ type: z.literal("patch"), ...part, files: z.array(z.string()) }),
  z.object({ type: z.literal("agent"), ...part, name: z.string() }),
  z.object({ type: z.literal("retry"), ...part, attempt: z.number(), error: OpenCodeErrorSchema }),
  z.object({ type: z.literal("compaction"), ...part, auto: z.boolean() }),
  z.object({
    type: z.literal("subtask"),
    ...part,
    prompt: z.string(),
    description: z.string(),
    agent: z.string(),
  }),
]);

const status = z.discriminatedUnion("type", [
  z.object({ type: z.literal("idle") }),
  z.object({ type: z.literal("busy") }),
  z.object({ type: z.literal("retry"), attempt: z.number(), message: z.string(), next: z.number() }),
]);

const permission = z.object({
  id: z.string(),
  sessionID: z.string(),
  permission: z.string(),
  patterns: z.array(z.string()),
  metadata: fields.optional(),
  tool: call.optional(),
});

const question = z.object({
  id: z.string(),
  sessionID: z.string(),
  questions: z.array(
    z.object({
      question: z.string(),
      header: z.string().optional(),
      options: z.array(z.object({ label: z.string() })),
    }),
  ),
  tool: call.optional(),
});

const todo = z.object({ content: z.string(), status: z.string(), priority: z.string().optional() });

const event = <Type extends string, Properties extends z.ZodType>(type: Type, properties: Properties) =>
  z.object({ type: z.literal(type), properties });
const ofSession = { sessionID: z.string() };
const aboutSession = z.object({ sessionID: z.string().optional(), info: session });

const sessionEvent = z.discriminatedUnion("type", [
  event("session.created", aboutSession),
  event("session.updated", aboutSession),
  event("session.deleted", aboutSession),
  event("session.status", z.object({ ...ofSession, status })),
  event("session.idle", z.object(ofSession)),
  event("session.compacted", z.object(ofSession)),
  event("session.error", z.object({ sessionID: z.string().optional(), error: OpenCodeErrorSchema.optional() })),
  event("session.diff", z.object(ofSession)),
  event("message.updated", z.object({ sessionID: z.string().optional(), info: message })),
  event("message.removed", z.object({ ...ofSession, messageID: z.string() })),
  event("message.part.updated", z.object({ part: OpenCodePartSchema, delta: z.string().optional() })),
  event(
    "message.part.delta",
    z.object({
      ...ofSession,
      messageID: z.string(),
      partID: z.string(),
      field: z.string(),
      delta: z.string(),
    }),
  ),
  event("message.part.removed", z.object({ ...ofSession, messageID: z.string(), partID: z.string() })),
  event("permission.asked", permission),
  event(
    "permission.replied",
    z.object({ ...ofSession, requestID: z.string(), reply: z.enum(["once", "always", "reject"]) }),
  ),
  event("question.asked", question),
  event("question.replied", z.object({ ...ofSession, requestID: z.string(), answers: z.array(z.array(z.string())) })),
  event("question.rejected", z.object({ ...ofSession, requestID: z.string() })),
  event("todo.updated", z.object({ ...ofSession, todos: z.array(todo) })),
  event("command.executed", z.object(ofSession)),
]);

const payload = z.union([
  sessionEvent,
  z.object({ type: z.enum(openCodeServerEventNames), properties: fields }),
  z.object({ type: z.literal("sync"), syncEvent: z.object({ aggregateID: z.string().optional() }) }),
  z.object({
    type: z.string().regex(/^(session\.next|permission\.v2|question\.v2)\./),
    properties: z.object({ sessionID: z.string().optional() }),
  }),
]);

export const OpenCodeLineSchema = z.union([
  z.object({ directory: z.string().optional(), payload }),
  z.object({ request: z.object({ id: z.string(), method: z.string(), path: z.string() }) }),
  z.object({ response: z.object({ id: z.string(), status: z.number() }) }),
  payload,
]);

const text = z.string().optional();
const count = z.number().optional();

const carrying = <Fields extends z.ZodRawShape>(type: string, fields: Fields) =>
  z.object({ id: text, messageID: text, sessionID: text, type: z.literal(type).optional(), ...fields });
const runLine = <Type extends string, Fields extends z.ZodRawShape>(type: Type, fields: Fields) =>
  z.object({ type: z.literal(type), sessionID: text, ...fields });
const runWords = { text: z.string(), time: fields.optional() };

export const OpenCodeRunLineSchema = z.discriminatedUnion("type", [
  runLine("step_start", { part: carrying("step-start", {}).optional() }),
  runLine("step_finish", {
    part: carrying("step-finish", {
      reason: text,
      cost: count,
      tokens: z
        .object({
          input: count,
          output: count,
          reasoning: count,
          cache: z.object({ read: count, write: count }).optional(),
        })
        .optional(),
    }).optional(),
  }),
  runLine("text", { part: carrying("text", runWords) }),
  runLine("reasoning", { part: carrying("reasoning", runWords) }),
  runLine("tool_use", {
    part: carrying("tool", {
      callID: text,
      tool: z.string(),
      state: z.object({
        status: z.enum(["pending", "running", "completed", "error"]),
        input: fields.optional(),
        output: text,
        error: text,
        title: text,
        metadata: fields.optional(),
      }),
    }),
  }),
  runLine("error", { error: OpenCodeErrorSchema }),
]);
