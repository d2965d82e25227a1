/** What all sessions of this process share: the log, the adapters, the pool of connections, the options. */
import type { Adapter } from "../../core/adapter.ts";
import { defined } from "../../core/defined.ts";
import type { RelayAnswer } from "../../core/input.ts";
import type { SessionId } from "../../protocol/ids.ts";
import { type Binaries, openBinaries } from "../agent/binaries.ts";
import type { Runs } from "../agent/connection/contract.ts";
import { openPool, type Pool } from "../agent/connection/shared.ts";
import { type FileView, noFileView, openFileView } from "../agent/file-view.ts";
import { type Models, openModels } from "../agent/models.ts";
import { ownProcess } from "../agent/process-table.ts";
import { type Rung, STOP_LADDER } from "../agent/process-tree.ts";
import { ensureHostId } from "../data-folder.ts";
import { type Guard, openGuard } from "../guard/guard.ts";
import type { EventLog, Owner } from "../log/contract.ts";
import { openTail, type Tail } from "../log/follow.ts";
import { openMemoryLog } from "../log/memory/open.ts";
import { openSqliteLog } from "../log/sqlite/open.ts";
import type { Logger } from "../logger.ts";
import type { RuntimeOptions } from "../options.ts";
import { openPrices, type PriceList } from "../prices.ts";
import { realSystem, type System } from "../system.ts";
import { openTrust, type Trust } from "../trust.ts";
import { openUsage, type UsageReader } from "../usage.ts";
import { openWorktreeRegistry, type WorktreeRegistry } from "../workspace/registry.ts";
import { type DelegateKeys, openDelegateKeys } from "./delegate-keys.ts";
import { type DelegateWork, openDelegateWork } from "./delegate-work.ts";
import { type Families, openFamilies } from "./families.ts";
import { type KeyRing, openKeyRing } from "./keys.ts";
import { openRuns } from "./process-runs.ts";
import { openSpending, type Spending } from "./spending.ts";
import { openStepScheduler, type StepScheduler } from "./step-scheduler.ts";

const IDLE_MS = 600_000;

export interface Runtime {
  readonly options: RuntimeOptions;
  readonly adapters: ReadonlyMap<string, Adapter>;
  readonly log: EventLog;
  readonly tail: Tail;
  readonly system: System;
  readonly scheduler: StepScheduler;
  readonly pool: Pool;
  readonly binaries: Binaries;
  readonly fileView: FileView;
  readonly trust: Trust;
  readonly worktrees: WorktreeRegistry;
  readonly keys: KeyRing;
  readonly delegateKeys: DelegateKeys;
  readonly delegateWork: DelegateWork;
  /** Set when the sessions are open: a relayed request was answered. */
  answerRelay: (answer: RelayAnswer) => void;
  readonly prices: PriceList;
  readonly usage: UsageReader;
  readonly families: Families;
  readonly spending: Spending;
  readonly models: Models;
  readonly runs: Runs;
  readonly guard: Guard;
  readonly owner: Owner;
  readonly ladder: readonly Rung[];
  readonly idleMs: number;
  readonly logger: Logger;
  /** Sessions that a dead owner left, with their last sequence from before they were recovered. */
  readonly recovered: Map<SessionId, number>;
  /** Sessions whose recovery failed: it is tried again. */
  readonly unrecovered: Set<SessionId>;
  /** Aborted when this runtime closes. */
  readonly stopped: AbortController;
  closed: boolean;
}

export async function startRuntime(options: RuntimeOptions): Promise<Runtime> {
  const { store, logger, system = realSystem } = options;
  const owner = ownProcess();
  const guard = openGuard(logger);
  const log = await openLog(options, guard);
  for (const damage of log.salvaged ?? []) logger.warn("log.damaged", { damage });
  const online = options.adapters.filter((adapter) => !adapter.offline);
  const directory = options.directory ?? process.cwd();
  const folder = store.kind === "memory" ? null : store.folder;
  const worktrees = openWorktreeRegistry(folder);
  const tail = openTail(log);
  const prices = openPrices({ folder });
  const { followAll } = tail;
  const stopped = new AbortController();
  const families = openFamilies(log);
  const usage = openUsage({ followAll, position: log.position, prices: prices.all, signal: stopped.signal });
  const binaries = openBinaries({
    toolsFolder: options.toolsFolder,
    environment: process.env,
    passEnv: options.passEnv ?? [],
    logger,
    credentials: (agent) => options.inProcess[agent]?.hasCredentials?.() ?? null,
  });
  return {
    options,
    adapters: new Map(online.map((adapter) => [adapter.agent, adapter])),
    log,
    tail,
    stopped,
    prices,
    usage,
    families,
    spending: openSpending({ budgets: options.budgets ?? {}, usage, families, logger, system }),
    system,
    scheduler: openStepScheduler(system),
    pool: openPool(),
    binaries,
    fileView: options.hideData === undefined ? noFileView : openFileView(options.hideData),
    trust: openTrust({
      folder,
      configured: options.trustedFolders ?? [],
      repositoryOf: worktrees.repositoryOf,
    }),
    worktrees,
    keys: openKeyRing(),
    delegateKeys: openDelegateKeys(options.serveDelegate ?? null),
    delegateWork: openDelegateWork(),
    answerRelay: () => {},
    models: openModels({ binaries, directory, logger }),
    runs: openRuns({ log, owner, guard, logger }),
    guard,
    owner,
    ladder: options.stop === undefined ? STOP_LADDER : ladderOf(options.stop),
    idleMs: options.idleMs ?? IDLE_MS,
    logger,
    recovered: new Map(),
    unrecovered: new Set(),
    closed: false,
  };
}

async function openLog({ store, version, logger }: RuntimeOptions, guard: Guard): Promise<EventLog> {
  switch (store.kind) {
    case "memory":
      return store.log ?? openMemoryLog();
    case "sqlite": {
      const { folder, durability = "normal", maxBytes } = store;
      return openSqliteLog({ folder, durability, version, ...defined({ maxBytes }) });
    }
    case "postgres": {
      const { kind, ...options } = store;
      const { openPostgresLog } = await import("../log/postgres/open.ts");
      return openPostgresLog({ ...options, host: ensureHostId(store.folder), version, logger, onRenewed: guard.renew });
    }
  }
}

const ladderOf = ({ terminateMs, killMs }: { terminateMs: number; killMs: number }): Rung[] => [
  { signal: "SIGINT", waitMs: terminateMs },
  { signal: "SIGTERM", waitMs: Math.max(0, killMs - terminateMs) },
];
