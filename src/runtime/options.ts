/** What the runtime is opened with. `server/compose.ts` fills it in from flags, config and the tables of agents. */
import type { Adapter } from "../core/adapter.ts";
import type { InProcessAgent } from "../core/in-process.ts";
import type { Proposal, TurnPolicy } from "../core/input.ts";
import type { PermissionReport } from "../core/report.ts";
import type { Snapshot } from "../core/snapshot.ts";
import type { BudgetConfig } from "../protocol/budget.ts";
import type { SessionId, TurnId } from "../protocol/ids.ts";

import type { FileViewOptions } from "./agent/file-view.ts";
import type { Background } from "./background.ts";
import type { EventLog } from "./log/contract.ts";
import type { Logger } from "./logger.ts";
import type { ServeDelegate } from "./session/delegate-servers.ts";
import type { System } from "./system.ts";

/** Agents that run inside this process, by the name their launch gives. */
export type InProcessTable = Readonly<Record<string, InProcessAgent>>;

export interface RuntimeOptions {
  readonly adapters: readonly Adapter[];
  readonly inProcess: InProcessTable;
  readonly logger: Logger;
  /** Runs work in the background; one of its own when absent. */
  readonly background?: Background;
  /** The machine's clock and timers, unless others take their place. */
  readonly system?: System;
  /** Where the log is kept. */
  readonly store: MemoryStore | SqliteStore | PostgresStore;
  /** Where agents are installed (`franca agents install`). */
  readonly toolsFolder: string;
  /** What agents must not see of the file system; absent: they see what their user sees. */
  readonly hideData?: FileViewOptions;
  /**
   * A daemon recovers the sessions of dead owners, at its start and while it runs: it ends their turns and runs their
   * queues. An embedded runtime ends the turns of dead owners at its start, and runs only the prompts it is given.
   */
  readonly role: "daemon" | "embedded";
  /** The version of the code: checkpoints of another one are rebuilt. */
  readonly version: string;
  /** Defaults for sessions that choose nothing else. */
  readonly policy?: Partial<TurnPolicy>;
  /** Budgets of sessions that set none, and of all sessions in a day. */
  readonly budgets?: BudgetConfig;
  /** How an agent reaches this daemon to ask other agents; absent where there is nothing to reach. */
  readonly serveDelegate?: ServeDelegate;
  /** Names of our environment passed on to agents besides the usual ones. */
  readonly passEnv?: readonly string[];
  /** Our own token, never to be stored or logged. */
  readonly token?: string | null;
  /** How long an agent with nothing to do keeps running. */
  readonly idleMs?: number;
  /** How an agent is stopped: milliseconds after the interrupt. */
  readonly stop?: { readonly terminateMs: number; readonly killMs: number };
  /** The agent of sessions that name none, as configured or chosen before; null: the only one that can run. */
  readonly defaultAgent?: () => string | null;
  /** Called when a turn is about to settle; with it, sessions have `askPlugins` in their policy. */
  readonly settle?: (settlement: Settlement) => Promise<readonly Proposal[]>;
  /** Called for each permission request before clients see it: the answer of the plugins, if they have one. */
  readonly askPlugins?: (request: PluginRequest) => Promise<"allow" | "deny" | undefined>;
  /** A session was deleted: whatever else is stored for it can be deleted too. */
  readonly onDeleted?: (session: SessionId) => Promise<void>;
  /** Folders that the user's config file trusts. */
  readonly trustedFolders?: readonly string[];
  /** The directory of sessions that name none. */
  readonly directory?: string;
}

export interface MemoryStore {
  readonly kind: "memory";
  /** One that is open already; a new one, which lives as long as the runtime, when absent. */
  readonly log?: EventLog;
}

export interface SqliteStore {
  readonly kind: "sqlite";
  readonly folder: string;
  readonly durability?: "normal" | "full";
  /** New prompts are refused, and running turns ended, when the log has grown to this. */
  readonly quotaBytes?: number;
  /** The log's file never grows beyond this, as on a disk of that size. */
  readonly maxBytes?: number;
}

export interface PostgresStore {
  readonly kind: "postgres";
  /** What belongs to this host alone: its id, trusted folders, attachments. */
  readonly folder: string;
  /** With the password: never stored, logged or shown. */
  readonly url: string;
  /** All hosts of a database have the same one. */
  readonly token: string;
  /** Where other hosts reach this one; empty until it is known. */
  readonly address: () => string;
  /** Whether this host may run the sessions of hosts that are gone. */
  readonly takeOver?: boolean;
  /** What sessions may ask for in their placement. */
  readonly labels?: readonly string[];
  /** So many sessions may be open here before no more are placed here. */
  readonly maxSessions?: number;
  readonly leaseMs?: number;
}

export interface PluginRequest {
  readonly session: SessionId;
  readonly report: PermissionReport;
}

export interface Settlement {
  readonly session: SessionId;
  readonly turn_id: TurnId;
  readonly snapshot: Snapshot;
  readonly signal: AbortSignal;
}
