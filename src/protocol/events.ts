/** The universal events, version 1. Wire spelling is the TypeScript type: there is no renaming layer. */
import * as z from "zod";
import { BudgetUpdate } from "./budget.ts";
import { EventId, ItemId, PermissionId, PromptId, QuestionId, SessionId, TurnId } from "./id-schemas.ts";
import { Item } from "./items.ts";
import { permissionModes } from "./permission-modes.ts";
import { Placement } from "./placement.ts";

/** RFC 3339, in UTC, with milliseconds. */
const Time = z.iso.datetime({ precision: 3 });

export const PermissionMode = z.enum(permissionModes);
export type PermissionMode = z.infer<typeof PermissionMode>;

export const Origin = z.enum(["user", "queue", "background", "agent"]);
export type Origin = z.infer<typeof Origin>;

export const EndReason = z.enum([
  "completed",
  "aborted",
  "error",
  "interrupted",
  "rejected",
  "length",
  "content_filter",
  "refusal",
  "max_steps",
  "budget",
]);
export type EndReason = z.infer<typeof EndReason>;

export const Evidence = z.enum(["signal", "exit", "watchdog", "restart"]);
export type Evidence = z.infer<typeof Evidence>;

export const TurnState = z.enum(["running", "requires_action", "retrying", "compacting"]);
export type TurnState = z.infer<typeof TurnState>;

/** What a session is doing, as listed and shown: a turn's state, or idle. */
export const SessionStatus = z.enum(["idle", "running", "requires_action", "retrying", "compacting"]);
export type SessionStatus = z.infer<typeof SessionStatus>;

/** What a session that is `retrying` waits for. `next` is epoch milliseconds. */
export const Retry = z.object({ attempt: z.number().int(), message: z.string(), next: z.number() });
export type Retry = z.infer<typeof Retry>;

export const Tokens = z.object({
  input: z.number(),
  output: z.number(),
  reasoning: z.number(),
  cache_read: z.number(),
  cache_write: z.number(),
});
export type Tokens = z.infer<typeof Tokens>;

export const UsageTotal = z.object({
  tokens: Tokens,
  cost_usd: z.number().nullable(),
  priced: z.enum(["full", "partial", "none"]),
});
export type UsageTotal = z.infer<typeof UsageTotal>;

/** Why a model step ended. A refusal is `content-filter`. */
export const Finish = z.enum(["stop", "tool-calls", "length", "content-filter", "error", "other"]);
export type Finish = z.infer<typeof Finish>;

export const UsageStep = z.object({
  index: z.number().int(),
  /** Null where the agent does not say. */
  finish: Finish.nullable(),
  /** The agent's own word for it. */
  finish_native: z.string().optional(),
  tokens: Tokens,
  cost_usd: z.number().nullable(),
  message_id: z.string().optional(),
});
export type UsageStep = z.infer<typeof UsageStep>;

export const ErrorInfo = z.object({ message: z.string(), code: z.string().nullable(), details: z.unknown() });
export type ErrorInfo = z.infer<typeof ErrorInfo>;

export const BackgroundWork = z.object({ id: z.string(), kind: z.string(), title: z.string() });
export type BackgroundWork = z.infer<typeof BackgroundWork>;

export const Todo = z.object({
  id: z.string(),
  content: z.string(),
  status: z.enum(["pending", "in_progress", "completed", "cancelled"]),
  priority: z.string().optional(),
});
export type Todo = z.infer<typeof Todo>;

export const QueuedPrompt = z.object({ prompt_id: PromptId, preview: z.string() });
export type QueuedPrompt = z.infer<typeof QueuedPrompt>;

/** A message, or the one item of it that is named. Items carry both ids. */
export const MessagePlace = z.object({ message_id: z.string(), native_item_id: z.string().optional() });
export type MessagePlace = z.infer<typeof MessagePlace>;

/** From where on the conversation is taken back; `diff` is what that changed in files, `snapshot` the agent's note. */
export const Revert = MessagePlace.extend({ snapshot: z.string().optional(), diff: z.string().optional() });
export type Revert = z.infer<typeof Revert>;

export const Share = z.object({ url: z.string() });
export type Share = z.infer<typeof Share>;

export const QuestionOption = z.object({ label: z.string(), description: z.string().optional() });
export const Question = z.object({
  id: z.string(),
  header: z.string().optional(),
  question: z.string(),
  options: z.array(QuestionOption).readonly(),
  multiple: z.boolean(),
  /** Whether an answer in one's own words is taken. */
  custom: z.boolean(),
});
export type Question = z.infer<typeof Question>;

/** A command that a prompt may begin with, as `/name` and what follows it. */
export const SlashCommand = z.object({
  name: z.string(),
  description: z.string().optional(),
  /** What may follow the name. */
  hint: z.string().optional(),
});
export type SlashCommand = z.infer<typeof SlashCommand>;

/** The conversation was begun elsewhere, and read from the agent's own files. */
export const Imported = z.object({ from: z.string(), file_id: z.string() });

export const SessionMetadata = z.looseObject({
  agent: z.string(),
  agent_version: z.string().nullable(),
  model: z.string().nullable(),
  directory: z.string().nullable(),
  permission_mode: z.string().nullable(),
  imported: Imported.optional(),
  tools: z.array(z.string()).readonly(),
  commands: z.array(SlashCommand).readonly().optional(),
  /** What this agent has said that it can, where it says so; it replaces what is known of such agents. */
  capabilities: z.record(z.string(), z.boolean()).optional(),
});
export type SessionMetadata = z.infer<typeof SessionMetadata>;

export const StderrExcerpt = z.object({
  head: z.string(),
  tail: z.string(),
  truncated: z.boolean(),
  total_lines: z.number().int(),
});
export type StderrExcerpt = z.infer<typeof StderrExcerpt>;

export const TurnEnd = z.object({
  turn_id: TurnId,
  reason: EndReason,
  evidence: Evidence,
  error: ErrorInfo.optional(),
  usage: UsageTotal,
  background: z.array(BackgroundWork).readonly(),
});
export type TurnEnd = z.infer<typeof TurnEnd>;

export const PermissionStatus = z.enum(["requested", "accept", "accept_for_session", "reject"]);
export type PermissionStatus = z.infer<typeof PermissionStatus>;

export const Permission = z.object({
  permission_id: PermissionId,
  action: z.string(),
  status: PermissionStatus,
  metadata: z.looseObject({
    tool: z.string().nullable(),
    call_id: z.string().nullable(),
    input: z.unknown(),
    patterns: z.array(z.string()).readonly(),
    /** When it is rejected if nobody answers; null when it was decided at once. */
    deadline: Time.nullable(),
  }),
});
export type Permission = z.infer<typeof Permission>;

export const QuestionRequest = z.object({
  question_id: QuestionId,
  prompt: z.string(),
  options: z.array(z.string()).readonly(),
  status: z.enum(["requested", "answered", "rejected"]),
  response: z.array(z.array(z.string()).readonly()).readonly().optional(),
  questions: z.array(Question).readonly(),
  metadata: z.looseObject({ call_id: z.string().nullable(), deadline: Time.nullable() }),
});
export type QuestionRequest = z.infer<typeof QuestionRequest>;

export const Draft = z.discriminatedUnion("type", [
  z.object({ type: z.literal("session.started"), data: z.object({ metadata: SessionMetadata }) }),
  z.object({
    type: z.literal("session.updated"),
    data: z.object({
      /** Another agent has the session now. Only a session that has not begun changes its agent. */
      agent: z.string().optional(),
      title: z.string().optional(),
      model: z.string().nullable().optional(),
      variant: z.string().nullable().optional(),
      mode: z.string().nullable().optional(),
      permission_mode: z.string().optional(),
      native_session_id: z.string().optional(),
      agent_version: z.string().optional(),
      directory: z.string().optional(),
      tools: z.array(z.string()).readonly().optional(),
      /** The agent's slash commands: the whole list. */
      commands: z.array(SlashCommand).readonly().optional(),
      capabilities: z.record(z.string(), z.boolean()).optional(),
      /** Whether the agent uses what its folder brings along: settings, hooks, plugins, MCP servers. */
      trusted: z.boolean().optional(),
      /** Whether the continuation governor may go on in this session. */
      continuing: z.boolean().optional(),
      queue: z.array(QueuedPrompt).readonly().optional(),
      /** Taken back from here on, until the next prompt makes it final; null when it is not any more. */
      revert: Revert.nullable().optional(),
      /** Taken out of the conversation for good. The log keeps what was said. */
      removed: z.array(MessagePlace).readonly().optional(),
      share: Share.nullable().optional(),
      /** Another host has it now, or it waits for one. */
      placement: Placement.optional(),
    }),
  }),
  z.object({
    type: z.literal("session.ended"),
    data: z.object({
      reason: z.enum(["completed", "error", "terminated"]),
      terminated_by: z.enum(["agent", "daemon", "user"]),
      message: z.string().optional(),
      exit_code: z.number().int().nullable().optional(),
      stderr: StderrExcerpt.optional(),
    }),
  }),
  z.object({
    type: z.literal("turn.started"),
    data: z.object({ turn_id: TurnId, origin: Origin, prompt_id: PromptId.optional() }),
  }),
  z.object({
    type: z.literal("turn.state"),
    data: z.object({
      turn_id: TurnId,
      state: TurnState,
      /** These three come together, with `retrying` only. `next` is epoch milliseconds. */
      attempt: z.number().int().optional(),
      message: z.string().optional(),
      next: z.number().optional(),
    }),
  }),
  z.object({
    type: z.literal("turn.continued"),
    data: z.object({
      turn_id: TurnId,
      decision: z.enum(["continue", "settle", "ask"]),
      reason: z.string(),
      attempt: z.number().int(),
      limit: z.number().int(),
      inputs: z.unknown(),
    }),
  }),
  z.object({ type: z.literal("turn.ended"), data: TurnEnd }),
  z.object({ type: z.literal("item.started"), data: z.object({ item: Item }) }),
  z.object({
    type: z.literal("item.delta"),
    data: z.object({
      item_id: ItemId,
      native_item_id: z.string().nullable(),
      delta: z.string(),
      part: z.enum(["text", "reasoning", "tool_output"]),
    }),
  }),
  z.object({ type: z.literal("item.completed"), data: z.object({ item: Item }) }),
  z.object({ type: z.literal("permission.requested"), data: Permission }),
  z.object({ type: z.literal("permission.resolved"), data: Permission }),
  z.object({ type: z.literal("question.requested"), data: QuestionRequest }),
  z.object({ type: z.literal("question.resolved"), data: QuestionRequest }),
  z.object({ type: z.literal("todo.updated"), data: z.object({ todos: z.array(Todo).readonly() }) }),
  z.object({
    type: z.literal("usage.updated"),
    data: z.object({ step: UsageStep.nullable(), turn: UsageTotal, session: UsageTotal }),
  }),
  z.object({ type: z.literal("budget.updated"), data: BudgetUpdate }),
  z.object({
    type: z.literal("error"),
    data: z.object({
      message: z.string(),
      code: z.string().nullable(),
      details: z.unknown().optional(),
      fatal: z.boolean(),
    }),
  }),
  z.object({
    type: z.literal("agent.unparsed"),
    data: z.object({ error: z.string(), location: z.string(), raw_hash: z.string() }),
  }),
]);
export type Draft = z.infer<typeof Draft>;
export type EventType = Draft["type"];
export type DraftOf<T extends EventType> = Extract<Draft, { type: T }>;

export const Cause = z.object({ line: z.number().int().nullable(), rule: z.string().optional() });
export type Cause = z.infer<typeof Cause>;

export const Envelope = z.object({
  event_id: EventId,
  sequence: z.number().int().min(1),
  time: Time,
  session_id: SessionId,
  native_session_id: z.string().nullable(),
  turn_id: TurnId.nullable(),
  source: z.enum(["agent", "daemon"]),
  synthetic: z.boolean(),
  raw: z.unknown(),
  cause: Cause,
  v: z.literal(1),
});
export type Envelope = z.infer<typeof Envelope>;
export type Source = Envelope["source"];

/** A draft with its place in the session. `core/stamp.ts` gives sequence, ids, time and turn; the log only stores. */
export const UniversalEvent = z.intersection(Draft, Envelope);
export type UniversalEvent = Draft & Envelope;
export type EventOf<T extends EventType> = DraftOf<T> & Envelope;
