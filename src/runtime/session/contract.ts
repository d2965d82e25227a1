/** The one door to sessions: what callers may ask, and what they get back. */

import type { AgentMode } from "../../core/capabilities.ts";
import type { RelayedEvent } from "../../core/relay.ts";
import type { Adoption, DiscoverQuery, Discovery } from "../../protocol/adoption.ts";
import type { BudgetLimits } from "../../protocol/budget.ts";
import type { Ask, Attachment, PermissionAnswer, PromptExtras } from "../../protocol/commands.ts";
import type { Revert, UniversalEvent } from "../../protocol/events.ts";
import type { SessionId } from "../../protocol/ids.ts";
import type {
  AgentSummary,
  CreatedSession,
  CreateSession,
  HostSummary,
  MissingKeys,
  ModelSummary,
  NativeLine,
  SessionDetail,
  SessionFilter,
  SessionSummary,
  UpdateSession,
  UsageRow,
} from "../../protocol/resources.ts";
import type { RemovedWorktree, SessionDiff, SessionWorktree } from "../../protocol/workspaces.ts";
import type { EventGroup, Follow, Projections } from "../log/contract.ts";
import type { Damage } from "../log/damage.ts";
import type { DiskHost, HostIdentity, HostStats } from "../log/hosts-contract.ts";
import type { TrustedFolder } from "../trust.ts";
import type { UsageQuery } from "../usage.ts";
import type { Work } from "./delegate-work.ts";

export interface AdoptOptions {
  readonly agent: string;
  readonly nativeSessionId: string;
  /** Continue in a copy. */
  readonly fork: boolean;
}

export interface PromptRequest {
  readonly text: string;
  readonly attachments?: readonly Attachment[];
  readonly delivery?: "queue" | "steer";
  readonly idempotencyKey?: string;
  /** What its turn may use; what it does not name is as the session has it. */
  readonly budget?: BudgetLimits;
  /** A client's own id for the user message. */
  readonly clientId?: string;
  /** Only for agents that support it; for others the prompt is refused, naming the agents that do. */
  readonly extras?: PromptExtras;
}

/** An agent, and the settings that depend on it. */
export type AgentChoice = Pick<
  CreateSession,
  "agent" | "model" | "variant" | "agentMode" | "permissionMode" | "permissionRules"
>;

/** A request to the agent outside its turns. */
export type SideRequest =
  | Exclude<Ask, { readonly word: "note" }>
  | { readonly word: "note"; readonly request: PromptRequest };

/** The agent's own answer, which may be a refusal. */
export interface SideAnswer {
  readonly status: number;
  readonly body: unknown;
}

export interface PromptReceipt {
  readonly promptId: string;
  /** False when the idempotency key had been seen: nothing new will run. */
  readonly fresh: boolean;
  /** The last sequence before the prompt: from here on its turn can be read. */
  readonly sequence: number;
  /** Why it does not run yet, where no living host may run its session. */
  readonly waiting?: string;
}

export interface SessionQuery extends SessionFilter {
  /** 100 unless given. */
  readonly limit?: number;
  /** `nextCursor` of the page before. */
  readonly cursor?: string;
}

export interface SessionPage {
  readonly sessions: readonly SessionSummary[];
  /** Null on the last page. */
  readonly nextCursor: string | null;
}

export interface AgentServer {
  readonly url: string;
  /** What every request to it needs. Never passed on. */
  readonly headers: Readonly<Record<string, string>>;
  /** Aborted when it has ended. */
  readonly gone: AbortSignal;
}

export interface DeleteOptions {
  readonly idleSince?: number | undefined;
}

export interface PruneOptions {
  /** Sessions without a change for that long; none by age when absent. */
  readonly olderThanMs?: number;
  /** Also the ones that were not used for longest, until no more than this is stored. */
  readonly maxBytes?: number;
  /** At most so many at once. */
  readonly limit?: number;
}

/** What an agent may choose for a session that it starts. Nothing else is taken from it. */
export type DelegateRequest = Pick<CreateSession, "agent" | "model" | "permissionMode" | "directory" | "title">;

/** Sessions that agents start, by what is stored of the session that starts them. */
export interface Delegates {
  /** Starts a session below another one. Throws for what that one may not do. */
  start(parent: SessionId, asked: DelegateRequest): Promise<SessionId>;
  /** Throws unless the session is a descendant, with no more rights than its parent has now. */
  check(parent: SessionId, child: SessionId): Promise<void>;
  list(parent: SessionId): Promise<readonly SessionSummary[]>;
  /** Counts work that begins, up to the limit, and only while the parent's own turn runs. */
  enter(parent: SessionId): Promise<Work>;
  /** Shows a request of a descendant, or its resolution, at the root. */
  relay(child: SessionId, event: RelayedEvent): Promise<void>;
}

/** The one door: commands enter here, events leave here. Every method throws `ApiError` for what a caller can fix. */
export interface Sessions {
  create(id: SessionId, options: CreateSession): Promise<CreatedSession>;
  /** Conversations that agents keep in files of their own. */
  discover(query: DiscoverQuery): Promise<Discovery>;
  /** Imports one of them; again: what others have added to it since. */
  adopt(options: AdoptOptions): Promise<Adoption>;
  /** One page, the newest first. */
  list(query?: SessionQuery): Promise<SessionPage>;
  get(id: SessionId, page?: { readonly itemsBefore?: string; readonly limit?: number }): Promise<SessionDetail>;
  /** `standIn`: nobody chose the title, so the agent's own title may replace it. */
  update(id: SessionId, change: UpdateSession, options?: { readonly standIn?: boolean }): Promise<void>;
  /** Gives a session that has not begun to another agent; of its settings those of the old agent are dropped. */
  changeAgent(id: SessionId, choice: AgentChoice): Promise<void>;
  prompt(id: SessionId, request: PromptRequest): Promise<PromptReceipt>;
  missingKeys(id: SessionId): Promise<MissingKeys>;
  /** Provider keys for this session's agent, by name: held in memory only. */
  giveKeys(id: SessionId, keys: Readonly<Record<string, string>>): Promise<void>;
  /** With `promptId` only that prompt, whether it waits or runs. */
  abort(id: SessionId, options: { readonly clearQueue: boolean; readonly promptId?: string }): Promise<void>;
  /** Removes a prompt that waits; one that has started is not touched. */
  dropQueued(id: SessionId, promptId: string): Promise<void>;
  replyPermission(id: SessionId, permission: string, answer: PermissionAnswer): Promise<void>;
  replyQuestion(id: SessionId, question: string, answers: readonly (readonly string[])[]): Promise<void>;
  rejectQuestion(id: SessionId, question: string, options: { readonly message?: string }): Promise<void>;
  compact(id: SessionId): Promise<void>;
  /** A command that a person typed. Refused in plan mode, and in a folder that is not trusted. */
  shell(id: SessionId, command: string, options?: { readonly clientId?: string }): Promise<{ readonly turnId: string }>;
  /** At the end of the conversation; or before the message `at`, for agents that can. */
  fork(id: SessionId, into: SessionId, options?: { readonly at?: string }): Promise<void>;
  /** Resolves with the agent's own answer; what it changed in the session is in the log by then. */
  sideRequest(id: SessionId, request: SideRequest): Promise<SideAnswer>;
  /**
   * Takes the conversation back from a user's message on, or no longer (null), where the agent does not do it itself.
   * The next prompt makes it final. Files are the caller's.
   */
  revert(id: SessionId, revert: Revert | null): Promise<void>;
  stopContinuing(id: SessionId): Promise<void>;
  /** Something outside the turn failed (a plugin, say): recorded as an error event that ends nothing. */
  notice(id: SessionId, notice: { readonly message: string; readonly code: string }): Promise<void>;
  terminate(id: SessionId): Promise<void>;
  /** With `idleSince` (epoch ms) only a session that is idle and has not changed since: else `session_busy`. */
  delete(id: SessionId, options?: DeleteOptions): Promise<void>;
  /** What the session changed in files. */
  diff(id: SessionId): Promise<SessionDiff>;
  /** Worktrees that were made for sessions and are still there. */
  worktrees(): Promise<readonly SessionWorktree[]>;
  /** The session may be deleted already. Refused while it works, and where work would be lost without `force`. */
  removeWorktree(id: SessionId, options: { readonly force: boolean }): Promise<RemovedWorktree>;
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
  /** The newest position, to follow only what comes after it. */
  position(): number;
  /** Sessions whose owner had died, each with its last sequence before this process recovered it. */
  readonly recovered: ReadonlyMap<SessionId, number>;
  /** Checkpoints and records of projections, so that rendering need not begin at the first event. */
  readonly projections: Projections;
  /** Folders whose settings, hooks, plugins and MCP servers agents may use. */
  readonly trust: {
    isTrusted(directory: string): boolean;
    list(): readonly TrustedFolder[];
    /** Gives the real path. */
    add(directory: string, options: { readonly force: boolean }): Promise<string>;
    remove(directory: string): Promise<string>;
  };
  /** Hosts that share the log; none where it is this machine's alone. */
  hosts(): Promise<readonly HostSummary[]>;
  /** Of this host, where several share one log; else null. */
  hostStats(): (HostStats & { readonly openSessions: number }) | null;
  /** This host among those that share the log; null where it is this machine's alone. */
  readonly host: HostIdentity | null;
  /** The other host whose disk a directory is on; null where it is this one's, or nobody's. */
  diskOf(directory: string): Promise<DiskHost | null>;
  /** The other host that a session is at home on; null where it is this one, or nobody yet. */
  homeOf(id: SessionId): Promise<DiskHost | null>;
  /** Gives an idle session to another host. */
  move(id: SessionId, host: string): Promise<void>;
  /** The host takes nothing new any more; without one, this host, where others share its log. */
  drain(host?: string): Promise<void>;
  /** How many sessions work in this process; those that wait for a person are not counted. */
  working(): Promise<number>;
  agents(): Promise<readonly AgentSummary[]>;
  /** The agent of sessions that name none; null when several could be meant, or none can run. */
  defaultAgent(): string | null;
  models(agent: string): Promise<{ readonly models: readonly ModelSummary[]; readonly defaultModel?: string }>;
  modes(agent: string): Promise<readonly AgentMode[]>;
  /** Removes what `install` installed. */
  uninstall(agent: string): Promise<void>;
  install(agent: string, options: { readonly version?: string; readonly reinstall?: boolean }): Promise<void>;
  /**
   * The server of an agent that has one, started where nobody uses it yet: only for trusted folders. `onLine` hears
   * what it says of no session.
   */
  agentServer(
    agent: string,
    options: { readonly directory: string; readonly onLine: (line: unknown) => void },
  ): Promise<AgentServer>;
  readonly delegates: Delegates;
  /** What stored sessions used, in rows. */
  usage(query: UsageQuery): Promise<readonly UsageRow[]>;
  /** Deletes idle sessions, the oldest first: by age, and by how much is stored. */
  prune(options: PruneOptions): Promise<readonly SessionId[]>;
  /** Why nothing can be stored at the moment, in a sentence; null when all is well. */
  storageFailure(): string | null;
  /** Damage that was found when the log was opened, now or before, in sentences. */
  readonly salvaged: readonly string[];
  /** How much is stored, in bytes. */
  storedBytes(): number;
  /** Everything stored is read; what is damaged is reported. */
  verify(): AsyncIterable<Damage>;
  /** Writes finished, agents stopped within a bound, locks released. */
  close(): Promise<void>;
}
