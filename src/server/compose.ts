/** Wires everything: agents and log into sessions, sessions and surfaces into a daemon that listens. */
import { mkdtempSync, rmSync } from "node:fs";
import type { Server } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { withCommand } from "../adapters/acp/generic.ts";
import { adapters } from "../adapters/index.ts";
import { type BuiltinSettings, createBuiltinAgent, historyFrom, removeOutputs } from "../builtin/index.ts";
import { MOCK } from "../core/default-agent.ts";
import { defined } from "../core/defined.ts";
import { createMock } from "../mock/index.ts";
import type { BudgetConfig } from "../protocol/budget.ts";
import { ApiError } from "../protocol/errors.ts";
import type { FinishTodos } from "../protocol/resources.ts";
import type { HideData } from "../runtime/agent/file-view.ts";
import { type Background, openBackground, type RunningTask } from "../runtime/background.ts";
import { type DaemonLock, lockDaemon } from "../runtime/daemon/lock.ts";
import { openDataFolder, rememberedAgent } from "../runtime/data-folder.ts";
import { type Logger, silentLogger } from "../runtime/logger.ts";
import type { RuntimeOptions } from "../runtime/options.ts";
import type { PluginEntry } from "../runtime/plugins/plugins.ts";
import type { Sessions } from "../runtime/session/contract.ts";
import { type RetentionPolicy, startRetention } from "../runtime/session/retention.ts";
import { openSessions } from "../runtime/session/sessions.ts";
import { routes } from "./api/index.ts";
import { type Credentials, openCredentials } from "./credentials/store.ts";
import { type FollowerOptions, type Followers, openFollowers } from "./followers.ts";
import { homeSurface } from "./home.ts";
import { attachmentSurface } from "./hosts/attachments.ts";
import { removeAttachments } from "./http/attachment-files.ts";
import { isLoopback } from "./http/auth.ts";
import type { Connections } from "./http/connections.ts";
import { openHostCalls } from "./http/host-calls.ts";
import { listen, urlOf } from "./http/listen.ts";
import { proved } from "./http/proofs.ts";
import { type ConnectionLimits, createHttpServer, type Surface } from "./http/server.ts";
import { serveDelegate } from "./mcp/delegate.ts";
import { openMetrics } from "./metrics.ts";
import { openCodeSurface } from "./opencode/index.ts";
import { type Address, openPlugged, type Plugged } from "./session-plugins.ts";
import { version } from "./version.ts";

const MAX_BODY_BYTES = 10 * 1024 * 1024;
const HEARTBEAT_MS = 15_000;

export interface RuntimeSettings {
  /** The folder of the log, of the daemon's lock and of installed agents. */
  readonly data: string;
  readonly store: "sqlite" | "memory" | "postgres";
  /** For the Postgres store, with the password. */
  readonly databaseUrl?: string | null;
  /** Where other hosts reach this one; absent: where it listens. */
  readonly hostUrl?: string | null;
  readonly takeOver?: boolean;
  readonly label?: readonly string[];
  readonly maxSessions?: number | null;
  readonly leaseMs?: number | null;
  readonly durability: "normal" | "full";
  readonly watchdogMs: number | null;
  readonly passEnv: readonly string[];
  readonly trustedFolders?: readonly string[];
  /** Whether agents are kept from the data folder and from `secretFiles`. */
  readonly hideData?: HideData;
  /** Files outside the data folder that hold the token or the database URL. */
  readonly secretFiles?: readonly string[];
  readonly finishTodos?: FinishTodos;
  readonly budgets?: BudgetConfig;
  /** The agent of sessions that name none; absent or null: as chosen before, else the only one that can run. */
  readonly defaultAgent?: string | null;
  readonly builtin?: BuiltinSettings;
  /** The command line of agent `acp`, for sessions that name none. */
  readonly acpCommand?: string | null;
  readonly plugins?: readonly PluginEntry[];
  /** Where plugins are found from. */
  readonly configFolder?: string;
  readonly logger?: Logger;
  /** Runs work in the background; one of its own when absent. */
  readonly background?: Background;
}

export interface OpenRuntime extends RuntimeSettings {
  readonly role: "daemon" | "embedded";
  /** Milliseconds after an interrupt; the runtime's own when null. */
  readonly stop: { readonly terminateMs: number; readonly killMs: number } | null;
  readonly token: string | false | null;
  /** Filled in by the server of these sessions. */
  readonly address?: Address;
  /** Of the daemon that serves these sessions. */
  readonly credentials?: Credentials;
  /** Where files that came with prompts are kept, if not in the data folder. */
  readonly attachments?: string;
  /** Private addresses that may be connected to. */
  readonly webhookAllow?: readonly string[];
  /** How the OpenCode surface renders, where it is served: plugins see its ids. */
  readonly opencodeMessages?: "turn" | "step";
  readonly opencodeDeltas?: "today" | "legacy";
}

const nowhere: Address = { url: null };

/** Sessions without a server: what `franca run` uses where no daemon runs. */
export async function openRuntime(options: OpenRuntime): Promise<Sessions> {
  const { data, store, watchdogMs, passEnv, token, role, stop, logger = silentLogger } = options;
  const { builtin = {}, finishTodos, address = nowhere, credentials } = options;
  const attachments = options.attachments ?? (store === "memory" ? null : join(data, "attachments"));
  if (store !== "memory") openDataFolder(data);
  const background = options.background ?? openBackground({ logger });
  const plugged = await pluggedFor(options, { address, logger, background });
  const outputs = join(data, "outputs");
  const toolsFolder = process.env.FRANCA_TOOLS ?? join(data, "tools");
  const sessions: Sessions = await openSessions({
    adapters: options.acpCommand == null ? adapters : withCommand(adapters, options.acpCommand),
    inProcess: {
      mock: createMock(),
      builtin: createBuiltinAgent({
        settings: builtin,
        version,
        loadHistory: historyFrom(() => sessions),
        environment: process.env,
        passEnv,
        dataFolder: data,
        outboundAllow: options.webhookAllow ?? [],
        ...defined({ outputs: store === "memory" ? undefined : outputs, hooks: plugged?.hooks }),
      }),
    },

    ...defined({ settle: plugged?.settle, askPlugins: plugged?.askPlugins }),
    defaultAgent: () => options.defaultAgent ?? (store === "memory" ? null : rememberedAgent(data)),
    async onDeleted(session) {
      await removeOutputs({ outputs, session });
      if (attachments !== null) await removeAttachments({ attachments, session });
    },
    logger,
    background,
    role,
    version,
    passEnv,
    budgets: options.budgets ?? {},
    ...defined({ serveDelegate: credentials === undefined ? undefined : serveDelegate(address, credentials) }),
    trustedFolders: options.trustedFolders ?? [],
    store: storeOf(options, address),
    toolsFolder,
    hideData: {
      mode: options.hideData ?? "auto",
      folder: data,
      files: options.secretFiles ?? [],
      tools: toolsFolder,
      attachments: attachments ?? join(data, "attachments"),
      outputs,
    },
    token: typeof token === "string" ? token : null,
    // Obeying an abort and being stopped are the first two rungs of one ladder.
    policy: defined({ watchdogMs: watchdogMs ?? undefined, finishTodos, abortMs: stop?.terminateMs }),
    ...defined({ stop: stop === null ? undefined : { terminateMs: 0, killMs: stop.killMs - stop.terminateMs } }),
  });
  return plugged === null ? sessions : plugged.follow(sessions);
}

/** Null where no plugin is named. */
async function pluggedFor(
  { plugins: entries = [], configFolder: base = process.cwd(), ...options }: OpenRuntime,
  parts: { readonly address: Address; readonly logger: Logger; readonly background: Background },
): Promise<Plugged | null> {
  if (entries.length === 0) return null;
  const rendering = { messages: options.opencodeMessages ?? "turn", deltas: options.opencodeDeltas ?? "today" };
  return openPlugged({ entries, base, ...parts, credentials: options.credentials ?? null, rendering });
}

function storeOf(options: OpenRuntime, address: Address): RuntimeOptions["store"] {
  const { store, data, durability, token, role, databaseUrl = null, hostUrl = null, takeOver = false } = options;
  if (store === "memory") return { kind: "memory" };
  if (store === "sqlite") return { kind: "sqlite", folder: data, durability };
  if (role === "embedded") {
    throw new ApiError("invalid_request", "The Postgres store needs a daemon: start one with franca serve.");
  }
  if (databaseUrl === null) {
    const ways = "FRANCA_DATABASE_URL, --database-url-file or databaseUrl in the config file";
    throw new ApiError("invalid_request", `The Postgres store needs the URL of its database: ${ways}.`);
  }
  if (typeof token !== "string") {
    throw new ApiError("token_invalid", "The Postgres store needs a token, the same for all hosts of the database.");
  }
  const leaseMs = options.leaseMs ?? undefined;
  const maxSessions = options.maxSessions ?? undefined;
  const { label: labels = [] } = options;
  const place = { kind: "postgres", folder: data, url: databaseUrl, token, takeOver, labels } as const;
  return { ...place, address: () => hostUrl ?? address.url ?? "", ...defined({ leaseMs, maxSessions }) };
}

export interface DaemonOptions extends RuntimeSettings, RetentionPolicy, FollowerOptions {
  readonly host: string;
  /** 0 lets the system choose. */
  readonly port: number;
  readonly token: string | null;
  readonly corsAllowOrigin: readonly string[];
  readonly maxBodyBytes?: number;
  readonly heartbeatMs?: number;
  readonly connectionLimits?: Partial<ConnectionLimits>;
  readonly opencodeRoot?: boolean;
  readonly opencodeMessages?: "turn" | "step";
  readonly opencodeDeltas?: "today" | "legacy";
}

export interface Daemon {
  /** Where clients on this machine reach it. */
  readonly url: string;
  readonly port: number;
  readonly sessions: Sessions;
  readonly credentials: Credentials;
  /** Nothing more is accepted, writes are finished, agents are stopped, streams end. */
  readonly close: () => Promise<void>;
}

export async function openDaemon(given: DaemonOptions): Promise<Daemon> {
  const { host, port, token, store, data, logger = silentLogger, background = openBackground({ logger }) } = given;
  const options = { ...given, background };
  refuseOpen(options);
  const folder = store === "memory" ? null : data;
  const lock = folder === null ? null : lockDaemon(folder);
  const stopped = new AbortController();
  const { signal } = stopped;
  const attachments = openAttachments(options);
  const credentials = openCredentials({ folder, signal });
  let sessions: Sessions | null = null;
  let followers: Followers | null = null;
  try {
    const address: Address = { url: null };
    const listening = { port: 0, clients: () => 0 };
    const own = { address, credentials, attachments: attachments.folder };
    sessions = await openRuntime({ ...options, ...own, role: "daemon", stop: null });
    const runtime = sessions;
    followers = await openFollowers(options, { sessions, logger, background, folder });
    const { metrics, task } = openMetrics({ sessions, background, signal, clients: () => listening.clients() });
    const { server, connections } = createHttpServer({
      door: { host, token, credentials, corsOrigins: options.corsAllowOrigin },
      context: {
        sessions,
        metrics,
        background,
        webhooks: followers.webhooks,
        credentials,
        prove: (nonce, login) => proved({ token, nonce, login, credentials, port: listening.port }),
        attachments: attachments.folder,
        get defaultAgent() {
          return runtime.defaultAgent() ?? MOCK;
        },
        ...settingsOf(options, sessions),
        stopped: signal,
      },
      routes,
      surfaces: surfacesOf({ ...options, attachments: attachments.folder }),
      limits: options.connectionLimits ?? {},
    });
    listening.clients = connections.count;
    const bound = await listen(server, { host, port });
    listening.port = bound.port;
    const url = publishUrl(address, { host, port: bound.port });
    lock?.publish({ url, token: token !== null });
    logger.info("daemon.started", { url, version });
    const tasks = [task, startRetention({ ...options, sessions, logger, signal })];
    const close = once(async () => {
      await closeDaemon({ server, connections, sessions, followers, stopped, tasks, lock, logger });
      attachments.remove();
    });
    return { url, port: bound.port, sessions, credentials, close };
  } catch (error) {
    stopped.abort();
    for (const open of [followers, sessions]) await open?.close();
    attachments.remove();
    lock?.release();
    throw error;
  }
}

const settingsOf = (
  { token, logger = silentLogger, maxBodyBytes = MAX_BODY_BYTES, heartbeatMs = HEARTBEAT_MS }: DaemonOptions,
  { host }: Sessions,
) => ({
  version,
  logger,
  maxBodyBytes,
  heartbeatMs,
  hostCalls: token === null || host === null ? null : openHostCalls({ token, host }),
});

function refuseOpen({ token, host }: DaemonOptions): void {
  if (token !== null || isLoopback(host)) return;
  throw new ApiError("token_invalid", `Without a token only loopback is served, and ${host} is not: give a token.`);
}

interface AttachmentFolder {
  readonly folder: string;
  readonly remove: () => void;
}

/** Without a data folder, a new one for this user alone: a name that others can guess could be a link of theirs. */
function openAttachments({ data, store }: RuntimeSettings): AttachmentFolder {
  if (store !== "memory") return { folder: join(data, "attachments"), remove: () => {} };
  const folder = mkdtempSync(join(tmpdir(), "franca-attachments-"));
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

/** Dialects beside the universal API. */
function surfacesOf(options: DaemonOptions & { readonly attachments: string }): readonly Surface[] {
  const { opencodeRoot, opencodeMessages, opencodeDeltas, attachments } = options;
  return [
    homeSurface(),
    attachmentSurface,
    openCodeSurface({
      attachments,
      root: opencodeRoot ?? true,
      messages: opencodeMessages ?? "turn",
      deltas: opencodeDeltas ?? "today",
    }),
  ];
}

interface Closing {
  readonly server: Server;
  readonly connections: Connections;
  readonly sessions: Sessions | null;
  readonly followers: Followers | null;
  readonly stopped: AbortController;
  readonly tasks: readonly RunningTask[];
  readonly lock: DaemonLock | null;
  readonly logger: Logger;
}

/** Sessions close before streams do, so that readers still hear how their turns ended. */
async function closeDaemon({
  server,
  connections,
  sessions,
  followers,
  stopped,
  tasks,
  lock,
  logger,
}: Closing): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  try {
    // What is appended from here on is delivered after the next start.
    await followers?.close();
    await sessions?.close();
  } finally {
    stopped.abort();
    await Promise.all(tasks.map(({ ended }) => ended()));
    // Connections that clients keep open become idle one by one as their last answers are through.
    const sweeping = setInterval(connections.closeIdle, SWEEP_MS);
    const patience = setTimeout(() => server.closeAllConnections(), CLOSE_MS);
    await closed;
    clearInterval(sweeping);
    clearTimeout(patience);
    lock?.release();
    logger.info("daemon.stopped");
  }
}

/** How long clients have to take the rest of what was said to them. */
const CLOSE_MS = 1_000;
const SWEEP_MS = 10;

function once(work: () => Promise<void>): () => Promise<void> {
  let result: Promise<void> | null = null;
  return () => {
    result ??= work();
    return result;
  };
}

function publishUrl(address: Address, bound: { host: string; port: number }): string {
  address.url = urlOf(bound);
  return address.url;
}
