/** The two contracts of the runtime: the event log below, and the one door to sessions above it. */

import type { AgentMode } from "../../core/capabilities.ts";
import type { Ask, Attachment, PermissionReply, PromptExtras } from "../../protocol/commands.ts";
import type { UniversalEvent } from "../../protocol/events.ts";
import type { SessionId } from "../../protocol/ids.ts";
import type {
  AgentSummary,
  CreatedSession,
  CreateSession,
  ModelSummary,
  NativeLine,
  SessionDetail,
  SessionSummary,
  UpdateSession,
} from "../../protocol/resources.ts";
import type { Projections } from "../log/contract.ts";

/** A committed group of events of one session. */
export interface EventGroup {
  readonly session: SessionId;
  /** Sequence of the first and of the last event. */
  readonly first: number;
  readonly last: number;
  /** Place among the groups of all sessions, for streams across sessions. Grows, never repeats. */
  readonly position: number;
  /** As it is stored (log/packing.ts); `tell` and `eventsOf` make events of it. */
  readonly packed: Uint8Array;
}

/** What a reader follows: events of one session from an offset, or of all sessions from a position. */
export interface Follow {
  readonly signal: AbortSignal;
  /** Only groups with events after this sequence (or groups after this position). */
  readonly after: number;
}

export interface PromptRequest {
  readonly text: string;
  readonly attachments?: readonly Attachment[];
  readonly delivery?: "queue" | "steer";
  readonly idempotencyKey?: string;
  /** A client's own id for the user message. */
  readonly clientId?: string;
  /** For agents that understand it; others are refused with a word on which do. */
  readonly extras?: PromptExtras;
}

/** An agent, and the settings that depend on it. */
export type AgentChoice = Pick<CreateSession, "agent" | "model" | "variant" | "agentMode" | "permissionMode">;

/** What may be asked of an agent beside its turns. */
export type AskRequest =
  | Exclude<Ask, { readonly word: "note" }>
  | { readonly word: "note"; readonly request: PromptRequest };

/** What the agent itself said to it, a refusal too. */
export interface AskAnswer {
  readonly status: number;
  readonly body: unknown;
}

export interface PromptReceipt {
  readonly promptId: string;
  /** False when the idempotency key had been seen: nothing new will run. */
  readonly fresh: boolean;
  /** The last sequence before the prompt: from here on its turn can be read. */
  readonly sequence: number;
}

/** The one door: commands enter here, events leave here. Every method throws `ApiError` for what a caller can mend. */
export interface Sessions {
  create(id: SessionId, options: CreateSession): Promise<CreatedSession>;
  list(): Promise<readonly SessionSummary[]>;
  get(id: SessionId, page?: { readonly itemsBefore?: string; readonly limit?: number }): Promise<SessionDetail>;
  /** `standIn`: the title is not somebody's choice, and gives way to the agent's. */
  update(id: SessionId, change: UpdateSession, options?: { readonly standIn?: boolean }): Promise<void>;
  /** Gives a session that has not begun to another agent; of its settings those of the old agent are dropped. */
  changeAgent(id: SessionId, choice: AgentChoice): Promise<void>;
  prompt(id: SessionId, request: PromptRequest): Promise<PromptReceipt>;
  abort(id: SessionId, options: { readonly clearQueue: boolean }): Promise<void>;
  replyPermission(
    id: SessionId,
    permission: string,
    reply: { readonly reply: PermissionReply; readonly message?: string },
  ): Promise<void>;
  replyQuestion(id: SessionId, question: string, answers: readonly (readonly string[])[]): Promise<void>;
  rejectQuestion(id: SessionId, question: string, options: { readonly message?: string }): Promise<void>;
  compact(id: SessionId): Promise<void>;
  shell(id: SessionId, command: string): Promise<void>;
  /** At the end of the conversation; or before the message `at`, for agents that can. */
  fork(id: SessionId, into: SessionId, options?: { readonly at?: string }): Promise<void>;
  /** Resolves with the agent's own answer; what it changed in the session is in the log by then. */
  ask(id: SessionId, request: AskRequest): Promise<AskAnswer>;
  stopContinuing(id: SessionId): Promise<void>;
  /** Something beside the turn failed (a plugin, say): told in the session as an error that ends nothing. */
  notice(id: SessionId, notice: { readonly message: string; readonly code: string }): Promise<void>;
  terminate(id: SessionId): Promise<void>;
  delete(id: SessionId): Promise<void>;
  /** Events with `sequence > offset`, oldest first, at most `limit`. */
  events(
    id: SessionId,
    query: { readonly offset: number; readonly limit: number; readonly includeRaw: boolean },
  ): Promise<{ readonly events: readonly UniversalEvent[]; readonly hasMore: boolean }>;
  native(
    id: SessionId,
    query: { readonly offset: number; readonly limit: number },
  ): Promise<{ readonly lines: readonly NativeLine[]; readonly hasMore: boolean }>;
  /** History, then live, without a gap and without a repeat. Ends when the session is deleted or the signal fires. */
  follow(id: SessionId, follow: Follow): AsyncIterable<EventGroup>;
  /** All sessions; `after` is a position. */
  followAll(follow: Follow): AsyncIterable<EventGroup>;
  /** The newest position, for those who want only what comes. */
  position(): number;
  /** Sessions whose owner had died, each with its last sequence before this process put it in order. */
  readonly recovered: ReadonlyMap<SessionId, number>;
  /** What retellings of a session put by, so that they need not begin at its first event. */
  readonly projections: Projections;
  agents(): Promise<readonly AgentSummary[]>;
  models(agent: string): Promise<{ readonly models: readonly ModelSummary[]; readonly defaultModel?: string }>;
  modes(agent: string): Promise<readonly AgentMode[]>;
  install(agent: string, options: { readonly version?: string; readonly reinstall?: boolean }): Promise<void>;
  prune(options: { readonly olderThanMs: number }): Promise<readonly SessionId[]>;
  /** Writes finished, agents stopped within a bound, locks released. */
  close(): Promise<void>;
}
