/** A session that is being driven here: fold, drive and link put together, stopped when idle, let go when quiet. */
import type { Adapter } from "../../core/adapter.ts";
import type { Exit } from "../../core/agent-io.ts";
import { unreachable } from "../../core/fold.ts";
import type { Effect, TurnPolicy } from "../../core/input.ts";
import { defaultPolicy } from "../../core/input.ts";
import type { LaunchOptions } from "../../core/launch.ts";
import { openSession, type Session } from "../../core/session.ts";
import type { Snapshot } from "../../core/snapshot.ts";
import type { Prompt } from "../../protocol/commands.ts";
import { ApiError } from "../../protocol/errors.ts";
import type { SessionId, TurnId } from "../../protocol/ids.ts";
import { noExit } from "../agent/connection/contract.ts";
import { childEnvironment } from "../agent/environment.ts";
import type { SessionSettings } from "../log/contract.ts";
import { openRedactor } from "../redact.ts";
import type { Runtime } from "../runtime.ts";
import type { AskAnswer } from "./contract.ts";
import { type Drive, openDrive } from "./drive.ts";
import { type Link, openLink } from "./link.ts";

/** A session without an agent is let go after this long, or after the idle time if that is shorter. */
const UNLOAD_MS = 30_000;
/** The quota is looked at after every so many commits of a session. */
const QUOTA_COMMITS = 64;
const SETTLE_MS = 2_000;

export interface Live {
  readonly id: SessionId;
  readonly adapter: Adapter;
  readonly session: Session;
  readonly drive: Drive;
  readonly link: Link;
  settings: SessionSettings;
  /** Callers who are at work with it: it is not let go meanwhile. */
  pins: number;
  quietSince: number;
  quietTimer: NodeJS.Timeout | null;
  commits: number;
  thread: string | null;
  /** Those who asked something beside the turns, by the id of the ask. */
  readonly asks: Map<string, (answer: AskAnswer) => void>;
  /** Those who wait until no turn is open. */
  idleWaiters: (() => void)[];
  closed: boolean;
}

export interface LiveOptions {
  readonly id: SessionId;
  readonly adapter: Adapter;
  readonly settings: SessionSettings;
  readonly snapshot: Snapshot;
  readonly nativeLines: number;
  /** The session is quiet and may be let go. */
  readonly onQuiet: (live: Live) => void;
  readonly onBroken: (live: Live, error: unknown) => void;
}

export function openLive(runtime: Runtime, options: LiveOptions): Live {
  const { id, adapter, snapshot, nativeLines, settings } = options;
  const { create } = settings;
  const session = openSession({
    sessionId: id,
    adapter,
    policy: policyOf(runtime, settings),
    snapshot,
    nativeLines,
    foreign: create.nativeSessionId !== undefined,
  });
  const drive = openDrive({
    id,
    session,
    settings: () => live.settings,
    log: runtime.log,
    ticker: runtime.ticker,
    logger: runtime.logger,
    redactor: openRedactor({
      token: runtime.options.token ?? null,
      sessionEnv: create.env ?? {},
      environment: process.env,
    }),
    perform: (effect) => perform(runtime, live, effect),
    resume: () => live.link.resume(),
    onStored: () => onStored(runtime, { live, onQuiet: options.onQuiet }),
    onBroken: (error) => options.onBroken(live, error),
  });
  const live: Live = {
    id,
    adapter,
    session,
    drive,
    link: linkFor(runtime, options, drive),
    settings,
    pins: 0,
    quietSince: Date.now(),
    quietTimer: null,
    commits: 0,
    thread: snapshot.native_session_id,
    asks: new Map(),
    idleWaiters: [],
    closed: false,
  };
  return live;
}

function linkFor(runtime: Runtime, { id, adapter, settings }: LiveOptions, { feed, hear }: Drive): Link {
  const { options, pool, runs, ladder, logger } = runtime;
  const session = settings.create.env ?? {};
  const pass = options.passEnv ?? [];
  return openLink({
    session: id,
    adapter,
    logger,
    inProcess: options.inProcess,
    pool,
    runs,
    ladder,
    feed,
    hear,
    environmentFor: ({ runId, launch }) =>
      childEnvironment({ inherited: process.env, pass, launch, session, sessionId: id, runId }),
  });
}

export function policyOf({ options }: Runtime, { create }: SessionSettings): TurnPolicy {
  const base: TurnPolicy = { ...defaultPolicy, ...options.policy, askPlugins: options.settle !== undefined };
  return {
    ...base,
    watchdogMs: create.watchdogMs ?? base.watchdogMs,
    unattended: { ...base.unattended, ...create.unattended },
    finishTodos: create.finishTodos ?? base.finishTodos,
  };
}

function perform(runtime: Runtime, live: Live, effect: Effect): void {
  switch (effect.type) {
    case "send.line":
    case "send.request":
    case "send.signal":
    case "send.close":
      return live.link.perform(effect);
    case "connect":
      // Whoever is shutting down starts nobody; the prompt is taken up at the next start.
      if (runtime.closed) return;
      return live.link.connect(launchOptions(runtime, live, effect.prompt));
    case "stop":
      return live.link.stop({ quiet: live.session.snapshot().turn === null });
    case "prompt.started":
    case "prompt.dropped":
      // Stored together with the events it belongs to.
      return;
    case "answered":
      return live.asks.get(effect.ask_id)?.({ status: effect.status, body: effect.body });
    case "settle":
      void settle(runtime, live, effect.turn_id);
      return;
    default:
      return unreachable(effect);
  }
}

function launchOptions({ binaries }: Runtime, live: Live, prompt: Prompt | null): LaunchOptions {
  const { adapter, settings } = live;
  const { create, forkOf, forkAt = null } = settings;
  const { native_session_id } = live.session.snapshot();
  const { resume } = adapter.capabilities;
  return {
    session_id: live.id,
    directory: create.directory ?? process.cwd(),
    resume: resume ? (native_session_id ?? create.nativeSessionId ?? forkOf) : null,
    fork: native_session_id === null && forkOf !== null,
    fork_at: forkAt,
    model: create.model ?? null,
    variant: create.variant ?? null,
    mode: create.agentMode ?? null,
    permission_mode: create.permissionMode ?? "default",
    system_prompt: create.systemPrompt ?? null,
    mcp: mcpOf(create.mcp),
    env: create.env ?? {},
    binary: binaries.find(adapter),
    prompt,
    // In a sandbox root may do what agents refuse to root elsewhere; the agent inherits the same word.
    asRoot: process.getuid?.() === 0 && process.env.IS_SANDBOX !== "1",
  };
}

type Servers = NonNullable<SessionSettings["create"]["mcp"]>;

/** Without the fields that are there but undefined. */
function mcpOf(servers: Servers = {}): LaunchOptions["mcp"] {
  return Object.fromEntries(
    Object.entries(servers).map(([name, server]) => {
      if ("url" in server) {
        return [name, { url: server.url, ...(server.headers === undefined ? {} : { headers: server.headers }) }];
      }
      const { command, args, env } = server;
      return [name, { command, ...(args === undefined ? {} : { args }), ...(env === undefined ? {} : { env }) }];
    }),
  );
}

async function settle({ options, logger }: Runtime, live: Live, turn_id: TurnId): Promise<void> {
  const signal = AbortSignal.timeout(SETTLE_MS);
  const snapshot = live.session.snapshot();
  try {
    const proposals = (await options.settle?.({ session: live.id, turn_id, snapshot, signal })) ?? [];
    live.drive.feed({ type: "proposals", turn_id, proposals, at: Date.now() });
  } catch (error) {
    // Whoever fails is reported and never takes the turn down.
    const message = `A plugin failed while the turn was settling: ${error instanceof Error ? error.message : error}`;
    logger.warn("plugin.failed", { session: live.id, error });
    live.drive.feed({ type: "notice", message, code: "plugin_failed", at: Date.now() });
    live.drive.feed({ type: "proposals", turn_id, proposals: [], at: Date.now() });
  }
}

function onStored(runtime: Runtime, { live, onQuiet }: { live: Live; onQuiet: (live: Live) => void }): void {
  if (live.closed) return;
  const { native_session_id, turn } = live.session.snapshot();
  if (turn === null) for (const resolve of live.idleWaiters.splice(0)) resolve();
  if (native_session_id !== null && native_session_id !== live.thread) {
    live.thread = native_session_id;
    live.link.own(native_session_id);
  }
  live.commits += 1;
  if (live.commits % QUOTA_COMMITS === 0) keepQuota(runtime, live);
  watchQuiet(runtime, { live, onQuiet });
}

/** A turn that would fill the disk beyond what was allowed ends, with the reason said. */
function keepQuota(runtime: Runtime, live: Live): void {
  const message = overQuota(runtime);
  if (message === null || live.session.snapshot().turn === null) return;
  runtime.logger.warn("log.quota_reached", { session: live.id });
  cut(live, { ...noExit, message, error_code: "storage_quota" });
}

export function overQuota({ log, options }: Runtime): string | null {
  const { store } = options;
  if (store.kind === "memory" || store.quotaBytes === undefined) return null;
  const size = log.size();
  if (size < store.quotaBytes) return null;
  return (
    `The log in ${store.folder} holds ${size} bytes and its quota is ${store.quotaBytes}: ` +
    "delete or prune sessions, or raise the quota."
  );
}

/** The session is without its agent from here on; the agent is then ended, and nothing more is heard of it. */
export function cut(live: Live, exit: Exit): Promise<void> {
  live.drive.feed({ type: "disconnected", exit, at: Date.now() });
  return live.link.end({ unheard: true });
}

export function isQuiet(live: Live): boolean {
  if (live.pins > 0 || live.drive.isBusy()) return false;
  const { turn, items, permissions, questions } = live.session.snapshot();
  if (turn !== null || permissions.size > 0 || questions.size > 0) return false;
  // Work in the background: the agent is needed, although no turn is open.
  for (const item of items.values()) if (item.status === "in_progress") return false;
  return true;
}

interface Quiet {
  readonly live: Live;
  readonly onQuiet: (live: Live) => void;
}

/** One timer a session; activity only moves the moment from which it counts. */
export function watchQuiet(runtime: Runtime, { live, onQuiet }: Quiet): void {
  live.quietSince = Date.now();
  if (live.quietTimer !== null || live.closed) return;
  const patience = (): number => (live.link.isOpen() ? runtime.idleMs : Math.min(UNLOAD_MS, runtime.idleMs));
  const look = (): void => {
    live.quietTimer = null;
    if (live.closed) return;
    const left = isQuiet(live) ? live.quietSince + patience() - Date.now() : patience();
    if (left > 0) live.quietTimer = setTimeout(look, left).unref();
    else onQuiet(live);
  };
  live.quietTimer = setTimeout(look, patience()).unref();
}

export function untilIdle(live: Live, ms: number): Promise<void> {
  if (live.session.snapshot().turn === null) return Promise.resolve();
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    live.idleWaiters.push(() => {
      clearTimeout(timer);
      resolve();
    });
  });
}

export const isEnded = (live: Live): boolean => live.session.snapshot().ended;

export function refuseEnded(live: Live): void {
  if (isEnded(live)) {
    throw new ApiError("session_ended", `Session ${live.id} has ended: it can be read, but takes nothing more.`);
  }
}
