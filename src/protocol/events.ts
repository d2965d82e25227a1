/** The universal events, version 1. Wire spelling is the TypeScript type: there is no renaming layer. */
import * as z from "zod";
import { BudgetUpdate } from "./budget.ts";
import {
  MessagePlace,
  Origin,
  Permission,
  QuestionRequest,
  QueuedPrompt,
  Revert,
  SessionMetadata,
  Share,
  SlashCommand,
  StderrExcerpt,
  Todo,
  TurnEnd,
  TurnState,
  UsageStep,
  UsageTotal,
} from "./event-parts.ts";
import { EventId, ItemId, PromptId, SessionId, TurnId } from "./id-schemas.ts";
import { Item } from "./items.ts";
import { Placement } from "./placement.ts";
import { Time } from "./time-schema.ts";

export * from "./event-parts.ts";

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

/** Some events of a session. */
export const EventPage = z.object({ events: z.array(UniversalEvent).readonly(), hasMore: z.boolean() });
export type EventPage = z.infer<typeof EventPage>;
