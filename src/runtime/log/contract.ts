/**
 * The event log, which stores every event before a client sees it, and the groups of events that it hands out. Memory,
 * SQLite and Postgres keep the same promises.
 */
import type { RepeatedDelta } from "../../core/repeat.ts";
import type { Prompt } from "../../protocol/commands.ts";
import type { UniversalEvent } from "../../protocol/events.ts";
import type { PromptId, SessionId } from "../../protocol/ids.ts";
import type {
  CreateSession,
  HostSummary,
  NativeLine,
  SessionFilter,
  SessionSummary,
} from "../../protocol/resources.ts";
import type { Worktree } from "../../protocol/workspaces.ts";
import type { Damage } from "./damage.ts";
import type { Cluster } from "./hosts-contract.ts";

/** A committed group of events of one session. How it is stored and encoded is known to `log/codec/` alone. */
export interface EventGroup {
  readonly session: SessionId;
  /** Sequence of the first and of the last event. */
  readonly first: number;
  readonly last: number;
  /** Place among the groups of all sessions, for streams across sessions. Grows, never repeats. */
  readonly position: number;
  /** How many bytes are stored. */
  readonly size: number;
  /** When its first event happened. */
  time(): string;
  /** The events after a sequence; all without one. Shared between consumers: nobody changes them. */
  events(after?: number): readonly UniversalEvent[];
  /** The events that are not deltas. Costs little where there are only deltas. */
  notable(): readonly UniversalEvent[];
  /**
   * Server-sent events with `id:` and `data:`, from one sequence to another, both included; all without them. The bytes
   * are shared between consumers.
   */
  sse(cursor: SseCursor, span?: { readonly from?: number; readonly to?: number }): Buffer;
}

/** What `id:` is: the event's sequence, or `<position of the group>.<index in the group>`. */
export type SseCursor = "sequence" | "position";

/** What a reader follows: events of one session from an offset, or of all sessions from a position. */
export interface Follow {
  readonly signal: AbortSignal;
  /** Only groups with events after this sequence (or groups after this position). */
  readonly after: number;
}

/** A process, for as long as it lives. */
export interface Owner {
  readonly pid: number;
  readonly started: string;
  /** Where it runs, when that is not here; its pid then says nothing. */
  readonly host?: OwnerHost;
}

export interface OwnerHost {
  readonly id: string;
  readonly url: string;
  readonly alive: boolean;
}

/** What a session was made with, and from what. */
export interface SessionSettings {
  readonly create: CreateSession;
  /** The native conversation it branches off from, until it has one of its own. */
  readonly forkOf: string | null;
  /** The message before which the branch begins; absent: at the end. */
  readonly forkAt?: string;
  /**
   * The conversation was taken back after so many turns: until the next one has run, the agent is resumed at that place
   * of its conversation; null: it begins a new one.
   */
  readonly rewound?: Rewound;
  /** The worktree that was made for it. */
  readonly worktree?: Worktree;
  /** The conversation was adopted from its agent's files. */
  readonly imported?: ImportedTurns;
  /** Names of provider keys that were given for this session; their values are in memory only. */
  readonly keyNames?: readonly string[];
  /** Values of `create` that are not stored with it, since several hosts share the log; empty texts stand for them. */
  readonly withheld?: readonly Withheld[];
  /** Variables of those that this host has no value of; in the table, the session's host. */
  readonly missing?: readonly string[];
  /** For a session that an agent has started. No caller can set it. */
  readonly delegation?: Delegation;
  /** The stored settings are damaged, and only the agent and the directory are known: nothing may run. Never stored. */
  readonly damaged?: true;
}

/** A value of a session's settings, and the variable of a host's environment that it is taken from elsewhere. */
export interface Withheld {
  readonly at: readonly string[];
  readonly variable: string;
}

export interface Rewound {
  readonly turns: number;
  readonly at: string | null;
  /** The native lines of what was taken back, now and before, as first and last: places in them are no longer there. */
  readonly removed?: readonly (readonly [number, number])[];
}

/** Whose work a session does: of the session that a person started, and of the one right above. */
export interface Delegation {
  readonly root: SessionId;
  readonly parent: SessionId;
  /** 1 for a child of the root. */
  readonly depth: number;
  readonly maxDepth: number;
}

/** What of an agent's files is in the log. */
export interface ImportedTurns {
  /** The format of the files. */
  readonly from: string;
  /** False while the first import runs: one that a crash cut is done again. */
  readonly complete: boolean;
  /** How many lines of each turn, by its key. */
  readonly turns: Readonly<Record<string, number>>;
}

export interface SessionRecord {
  readonly id: SessionId;
  readonly settings: SessionSettings;
  /** As of the last append. */
  readonly summary: SessionSummary;
  readonly owner: Owner | null;
  /** The host that it belongs to, where several share the log. */
  readonly home?: string;
  /** The stored summary is damaged: the session's events have to be read for it. */
  readonly summaryDamaged?: boolean;
}

export type PromptStatus = "queued" | "started" | "done" | "dropped";

export interface StoredPrompt {
  readonly prompt: Prompt;
  readonly delivery: "queue" | "steer";
  readonly idempotencyKey: string | null;
  readonly status: PromptStatus;
  /** The last sequence before the prompt was taken. */
  readonly sequence: number;
  /** Set when it must not run. */
  readonly refusal?: PromptRefusal;
}

/** Why a prompt must not run: it is not as it was written, or commits were lost in which it may have started. */
export type PromptRefusal = "damaged" | "may_have_run";

export type NewPrompt = Omit<StoredPrompt, "status" | "refusal">;

export interface AddedPrompt {
  readonly stored: StoredPrompt;
  /** False when its key was seen. */
  readonly fresh: boolean;
}

export interface PromptChange {
  readonly promptId: PromptId;
  readonly status: PromptStatus;
}

/** Encoded lines, as a log stores them: events or native lines, with the numbers of the first and the last. */
export interface Encoded {
  readonly first: number;
  readonly last: number;
  readonly bytes: Uint8Array;
}

export interface EncodedEvents extends Encoded {
  /** About how many bytes of JSON the events are. */
  readonly wholeBytes: number;
  /** Those that are stored whole, all but deltas among them: consumers who keep up need not parse them. */
  readonly wholes: readonly UniversalEvent[];
}

/** A native line before it is encoded. */
export interface NativeText {
  readonly line: number;
  readonly at: number;
  readonly from: NativeLine["from"];
  /** JSON without a newline in it. */
  readonly text: string;
}

/** Encodes the events and native lines of one entry as they come. */
export interface EntryWriter {
  event(event: UniversalEvent): void;
  native(line: NativeText): void;
  /** A delta and the native line that caused it, both like the ones before. */
  repeat(repeated: RepeatedDelta): void;
  /** How much there is so far, in bytes: native lines, and events as JSON. */
  size(): number;
  /** Nothing can be added after that. */
  finish(): Pick<Append, "events" | "native">;
}

export interface Checkpoint {
  readonly sequence: number;
  readonly state: string;
}

/** Where a projection stood after an event, so that it need not begin at the first one again. */
export interface ProjectionCheckpoint {
  readonly sequence: number;
  /** The fold's state. */
  readonly state: Uint8Array;
  /** What else was known then; kept of the latest checkpoint only. */
  readonly known: Uint8Array | null;
}

/** Something small that a projection has stored, such as a message. */
export interface ProjectionRecord {
  /** Where it stands: records of a scope are in the order in which they were first put. */
  readonly place: number;
  readonly id: string;
  readonly body: string;
}

export type RecordChange =
  /** A record that is put again keeps its place. */
  | { readonly type: "put"; readonly scope: string; readonly id: string; readonly body: string }
  | { readonly type: "remove"; readonly scope: string; readonly id: string }
  | { readonly type: "clear"; readonly scope: string };

export interface ProjectionChange {
  /** The sequence of the checkpoint it goes on from; 0 for the first. */
  readonly after: number;
  readonly checkpoint: ProjectionCheckpoint;
  readonly records: readonly RecordChange[];
}

export interface RecordsQuery {
  readonly name: string;
  readonly scope: string;
  /** The first ones after a place, or the last ones before a place; in order in both cases. */
  readonly from: { readonly after: number } | { readonly before: number };
  readonly limit: number;
}

/** What projections of a session store, each under its name: a cache that can be rebuilt from the events. */
export interface Projections {
  /** The latest checkpoint up to a sequence, made by this version of the code; null when there is none. */
  checkpoint(
    id: SessionId,
    query: { readonly name: string; readonly upTo: number },
  ): Promise<ProjectionCheckpoint | null>;
  /** Stored together or not at all; false when somebody else has stored something since. */
  keep(id: SessionId, name: string, change: ProjectionChange): Promise<boolean>;
  /** Forgets everything under that name, whichever version made it. */
  clear(id: SessionId, name: string): Promise<void>;
  record(
    id: SessionId,
    query: { readonly name: string; readonly scope: string; readonly id: string },
  ): Promise<ProjectionRecord | null>;
  records(id: SessionId, query: RecordsQuery): Promise<readonly ProjectionRecord[]>;
}

/** All that one batch of inputs left to remember: stored together or not at all. */
export interface Append {
  readonly session: SessionId;
  readonly events: EncodedEvents | null;
  readonly native: Encoded | null;
  readonly prompts: readonly PromptChange[];
  /** Items that were completed: the number in their id, and the sequence that holds them. */
  readonly items: readonly { readonly number: number; readonly sequence: number }[];
  readonly summary: SessionSummary;
  readonly checkpoint: Checkpoint | null;
}

/** One tree of processes that was started for a session (or for several, when they share it). */
export interface Run {
  readonly runId: string;
  readonly session: SessionId;
  readonly owner: Owner;
  /** Null until it is known: a crash right after the start leaves only the run id in its environment. */
  readonly leader: Owner | null;
}

export interface ReadQuery {
  readonly after: number;
  /** Enough is read when this is reached; at least one group comes if there is one. */
  readonly maxBytes: number;
}

export interface ListQuery extends SessionFilter {
  /** Only sessions before this place; null for the first page. */
  readonly before: number | null;
  readonly limit: number;
}

export interface RecordPage {
  readonly records: readonly SessionRecord[];
  /** Where the next page begins; null when there is none. */
  readonly next: number | null;
}

export interface EventLog {
  /** Whether other processes may write to it too. */
  readonly shared: boolean;

  create(record: Omit<SessionRecord, "owner">, owner: Owner): Promise<void>;
  /** The newest first; what is not on the page is not read. */
  list(query: ListQuery): Promise<RecordPage>;
  find(id: SessionId): Promise<SessionRecord | null>;
  /** What the session asks of its agent from now on. */
  changeSettings(id: SessionId, settings: SessionSettings): Promise<void>;
  /** Forgets the session and everything about it. */
  delete(id: SessionId): Promise<void>;

  /** Begins an entry; it is finished before another one is begun. */
  openWriter(): EntryWriter;
  /** Resolves when it is stored. Appends of one tick are stored together. */
  append(entry: Append): Promise<void>;
  /** Hears every stored group of this process, in order, before its append resolves. */
  onCommitted(subscriber: (groups: readonly EventGroup[]) => void): void;
  /** Groups that hold events after a sequence, oldest first. */
  read(id: SessionId, query: ReadQuery): Promise<readonly EventGroup[]>;
  /** Groups of all sessions after a position. */
  readAll(query: ReadQuery): Promise<readonly EventGroup[]>;
  readNative(
    id: SessionId,
    query: { readonly after: number; readonly limit: number },
  ): Promise<{ readonly lines: readonly NativeLine[]; readonly hasMore: boolean }>;
  lastNativeLine(id: SessionId): Promise<number>;
  /** The sequences that completed the items numbered below `before`, the latest `limit` of them, ascending. */
  itemsBefore(id: SessionId, query: { readonly before: number; readonly limit: number }): Promise<readonly number[]>;
  /** The newest position. */
  position(): number;
  /** Whether another process has written since this was asked last. */
  changedElsewhere(): boolean;
  /** Called at once when another process has written, where the log is notified; readers poll as well. */
  onElsewhere(subscriber: () => void): void;

  /** The latest checkpoint that this version of the code made, or null. */
  checkpoint(id: SessionId): Promise<Checkpoint | null>;

  readonly projections: Projections;

  /** Stores a prompt; with a key that was seen, gives back the one that is stored. */
  addPrompt(id: SessionId, prompt: NewPrompt): Promise<AddedPrompt>;
  dropPrompt(id: SessionId, promptId: PromptId): Promise<void>;
  queuedPrompts(id: SessionId): Promise<readonly StoredPrompt[]>;
  /** Sessions that have prompts nobody has begun to run. */
  sessionsWithQueue(): Promise<readonly SessionId[]>;

  /** The right to write is lost: agents are stopped at once, and what is open is closed without a further write. */
  onLost(subscriber: () => Promise<void>): void;

  /** Makes `owner` the session's owner if it has none, or one that `isDead`. Says who owns it then. */
  claim(id: SessionId, owner: Owner, isDead: (other: Owner) => boolean): Promise<Owner>;
  release(id: SessionId, owner: Owner): Promise<void>;
  /** All sessions that have an owner. */
  owned(): Promise<readonly { readonly id: SessionId; readonly owner: Owner }[]>;

  putRun(run: Run): Promise<void>;
  endRun(runId: string): Promise<void>;
  runs(): Promise<readonly Run[]>;

  /** Hosts that share this log, by id; none where it is one machine's alone. */
  hosts(): Promise<readonly HostSummary[]>;

  /** Null where no other host writes to this log. */
  readonly cluster: Cluster | null;

  /** Reads everything and reports what is damaged. */
  verify(): AsyncIterable<Damage>;
  /** Why nothing can be stored at the moment, in a sentence; null when the last attempt succeeded. */
  failure(): string | null;
  /** Damage that was found when the log was opened, now or before, in sentences; absent: none. */
  readonly salvaged?: readonly string[];
  /** How much is stored, in bytes. */
  size(): number;
  /** How much reading was done so far: what opening costs is counted, not timed. */
  work(): { readonly rows: number; readonly bytes: number };
  close(): Promise<void>;
}
