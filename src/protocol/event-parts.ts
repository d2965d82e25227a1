/** What events and resources are made of. */
import * as z from "zod";
import { PermissionId, PromptId, QuestionId, TurnId } from "./id-schemas.ts";
import { Time } from "./time-schema.ts";
import { Tokens, UsageTotal } from "./usage-total.ts";

export * from "./session-enums.ts";
export * from "./usage-total.ts";

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

/** What a session that is `retrying` waits for. `next` is epoch milliseconds. */
export const Retry = z.object({ attempt: z.number().int(), message: z.string(), next: z.number() });
export type Retry = z.infer<typeof Retry>;

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

/** What a session remembers of an `always`. `prefix`: with any further arguments; `below`: the files of a folder. */
export const RememberedScope = z.object({
  permission: z.string(),
  match: z.enum(["exact", "prefix", "below"]),
  pattern: z.string(),
  directory: z.string().optional(),
});

export const Permission = z.object({
  permission_id: PermissionId,
  action: z.string(),
  status: PermissionStatus,
  metadata: z.looseObject({
    tool: z.string().nullable(),
    call_id: z.string().nullable(),
    input: z.unknown(),
    /** What an `always` without a scope allows: exactly this command, these files, this address or this tool. */
    patterns: z.array(z.string()).readonly(),
    /** The action cannot be remembered: `always` allows it only this time. */
    every_time: z.boolean().optional(),
    /** Broader patterns that an `always` may name as its scope. Events of older versions have none. */
    scopes: z.array(z.string()).readonly().optional(),
    /** The broader pattern that the user chose with `always`. */
    scope: z.string().optional(),
    /** What the session remembers of an `always`. Broader scopes can need several. */
    remembered: z.array(RememberedScope).readonly().optional(),
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
