/** What hosts that share one log do for each other: commands that pass between them, and who may run which session. */
import type { PromptId, SessionId } from "../../protocol/ids.ts";
import type { Placement } from "../../protocol/placement.ts";
import type { AddedPrompt, NewPrompt, Owner, OwnerHost, StoredPrompt } from "./contract.ts";

/** A command for a session of another host. */
export interface StoredCommand {
  readonly id: string;
  readonly session: SessionId;
  readonly name: string;
  /** JSON. */
  readonly body: string;
}

export interface SentCommand extends StoredCommand {
  /** For this host, whosever the session is; null: for the session's host. */
  readonly target: string | null;
  /** Of a prompt: what became of it can be found out by this key when its host has ended. */
  readonly idempotencyKey: string | null;
}

export type CommandOutcome =
  | { readonly type: "answered"; readonly answer: string }
  /** No host has claimed it in time, and none will. */
  | { readonly type: "withdrawn" }
  /** It still runs after a long time. */
  | { readonly type: "late" }
  /** Its host ended while it ran it, and nobody runs it again. A prompt may have been stored by then. */
  | { readonly type: "interrupted"; readonly host: string; readonly prompt: StoredPrompt | null };

/** Commands between hosts: stored before they are executed, and executed by the session's host once or not at all. */
export interface CommandTable {
  /** Resolves with the answer, and within a bound in any case. */
  send(command: SentCommand): Promise<CommandOutcome>;
  /** From now on commands for this host's sessions are claimed and executed; the result is stored as the answer. */
  serve(execute: (command: StoredCommand) => Promise<string>): void;
  /** Nothing more is claimed: what waits is left to the next owner. */
  pause(): void;
}

/** Where a directory is: a host in its present life, which another start of it ends. */
export interface DiskHost extends OwnerHost {
  readonly epoch: number;
}

/** Who this host is, for calls between hosts. */
export interface HostIdentity {
  /** This host's id. */
  readonly self: string;
  /** Its present life. */
  epoch(): number;
  /** The database's clock, in milliseconds: the only one that all hosts share. */
  clock(): Promise<number>;
}

/** What an operator wants to know of a host, since its start. */
export interface HostStats {
  /** Sessions of hosts that are gone or drained, which this one has taken. */
  readonly takeovers: number;
  /** Writes that were refused because the session was another host's by then. */
  readonly fencedWrites: number;
  readonly leasesLost: number;
  /** How long this host may still run its agents without a renewal; 0 without a lease. */
  readonly leaseMs: number;
  /** How long a notification took to come back; while one is missing, since when. */
  readonly notifyLagMs: number;
  /** Sessions of all that wait for their first host. */
  readonly waitingSessions: number;
  /** To the database: open ones, statements and transactions under way, and those that wait for a connection. */
  readonly connections: { readonly open: number; readonly busy: number; readonly waiting: number };
}

/** The hosts of a log, as one of them sees it. */
export interface Cluster extends HostIdentity {
  readonly commands: CommandTable;
  stats(): HostStats;
  /** Whether this host takes nothing new any more. */
  draining(): boolean;
  /** The host takes nothing new any more, until it starts again; false where there is no such host. */
  drain(host: string): Promise<boolean>;
  /** Where a session may run, and where it does; or where it would stand if it were given to nobody. */
  placement(id: SessionId, options?: { readonly ifNobodys: boolean }): Promise<Placement>;
  /** Whether a living host may run it. */
  isServed(id: SessionId): Promise<boolean>;
  /** The variables that the session needs and this host has no value of: its secrets are in no table. */
  missing(id: SessionId): Promise<readonly string[]>;
  /** The host whose disk a directory is on, where sessions of other hosts have it and none of this one; else null. */
  diskOf(directory: string): Promise<DiskHost | null>;
  /** The other host that a session is at home on; null where it is this one, or nobody yet. */
  homeOf(id: SessionId): Promise<DiskHost | null>;
  /** Stores a prompt for the next host of a session that no living host may run; null where one may. */
  addWaiting(id: SessionId, prompt: NewPrompt): Promise<AddedPrompt | null>;
  /** Takes such a prompt back: false where there is none, null where a living host may run the session. */
  dropWaiting(id: SessionId, promptId: PromptId): Promise<boolean | null>;
  /** The owner gives its session to another host; with null to whichever may run it. */
  hand(id: SessionId, owner: Owner, to: string | null): Promise<void>;
}
