/** Builds an open session from its stored state: fold, writer and agent link, connected to each other. */
import type { Adapter } from "../../core/adapter.ts";
import { sessionLimits } from "../../core/budget.ts";
import { defaultPolicy, type TurnPolicy } from "../../core/input.ts";
import { openSession } from "../../core/session.ts";
import type { Snapshot } from "../../core/snapshot.ts";
import type { SessionId } from "../../protocol/ids.ts";
import { childEnvironment } from "../agent/environment.ts";
import type { SessionSettings } from "../log/contract.ts";
import { type Logger, redacting } from "../logger.ts";
import { openChangingRedactor, openRedactor } from "../redact.ts";
import { type AgentLink, openAgentLink } from "./agent-link.ts";
import { perform } from "./effects.ts";
import { refuseMissingKeys } from "./keys.ts";
import { serversOf } from "./launch-options.ts";
import type { OpenSession } from "./open-session.ts";
import { refuseDamaged } from "./refusals.ts";
import type { Runtime } from "./runtime.ts";
import { openWriter, type Writer } from "./writer.ts";

export interface BuildOptions {
  readonly id: SessionId;
  readonly adapter: Adapter;
  readonly settings: SessionSettings;
  readonly snapshot: Snapshot;
  readonly nativeLines: number;
  /** A group was stored, and the session is still open. */
  readonly onStored: (open: OpenSession) => void;
  /** Its fold threw, or another process has written to it. */
  readonly onBroken: (open: OpenSession, error: unknown) => void;
}

export function buildOpenSession(runtime: Runtime, options: BuildOptions): OpenSession {
  const { id, adapter, snapshot, nativeLines, settings } = options;
  const { create } = settings;
  const session = openSession({
    sessionId: id,
    adapter,
    policy: policyOf(runtime, options),
    snapshot,
    nativeLines,
    foreign: create.nativeSessionId !== undefined,
  });
  const redactor = openChangingRedactor({
    extra: () => runtime.keys.of(id),
    open: (keys) =>
      openRedactor({
        token: runtime.options.token ?? null,
        sessionEnv: { ...create.env, ...keys },
        mcp: serversOf(runtime, { id, create }),
        environment: heldEnvironment(runtime),
      }),
  });
  const logger = redacting(runtime.logger, redactor);
  const writer = openWriter({
    id,
    session,
    settings: () => open.settings,
    log: runtime.log,
    scheduler: runtime.scheduler,
    system: runtime.system,
    logger,
    redactor,
    perform: (effect) => perform(runtime, open, effect),
    resume: () => open.link.resume(),
    onStored: () => onStored(open, options.onStored),
    onBroken: (error) => options.onBroken(open, error),
  });
  const open: OpenSession = {
    id,
    adapter,
    session,
    writer,
    link: linkFor(runtime, options, { writer, logger, current: () => open.settings }),
    settings,
    users: 0,
    idleSince: runtime.system.elapsed(),
    idleTimer: null,
    commits: 0,
    nativeSession: snapshot.native_session_id,
    sideRequests: new Map(),
    shell: null,
    idleWaiters: [],
    ending: false,
    revoke: () => {
      runtime.delegateServers.end(id);
      runtime.delegateWork.end(id);
    },
    closed: false,
  };
  return open;
}

/** The database URL may come from a file or the config: its password is as secret as one in the environment. */
const heldEnvironment = ({ options: { store } }: Runtime): Readonly<Record<string, string | undefined>> =>
  store.kind === "postgres" ? { ...process.env, FRANCA_DATABASE_URL: store.url } : process.env;

function policyOf({ options, prices }: Runtime, { adapter, settings: { create } }: BuildOptions): TurnPolicy {
  const { budgets = {} } = options;
  const base: TurnPolicy = { ...defaultPolicy, ...options.policy, askPlugins: options.settle !== undefined };
  return {
    ...base,
    watchdogMs: create.watchdogMs ?? base.watchdogMs,
    unattended: { ...base.unattended, ...create.unattended },
    permissionRules: { rules: create.permissionRules ?? [], directory: create.directory ?? "" },
    finishTodos: create.finishTodos ?? base.finishTodos,
    budgets: {
      ...sessionLimits(budgets, create.budget),
      day: budgets.day ?? {},
      agent: budgets.agents?.[adapter.agent] ?? {},
      prices: prices.all(),
    },
  };
}

interface Linking {
  readonly writer: Writer;
  readonly logger: Logger;
  readonly current: () => SessionSettings;
}

function linkFor(
  { options, pool, runs, ladder, keys, fileView }: Runtime,
  { id, adapter, settings }: BuildOptions,
  { writer: { feed, receive }, logger, current }: Linking,
): AgentLink {
  const session = (): Record<string, string> => ({ ...settings.create.env, ...keys.of(id) });
  const pass = options.passEnv ?? [];
  const owns = adapter.ownsVariable;
  return openAgentLink({
    session: id,
    adapter,
    logger,
    inProcess: options.inProcess,
    pool,
    runs,
    ladder,
    view: ({ shared }) => fileView.open({ session: id, agent: adapter, shared }),
    dataFolder: options.store.kind === "memory" ? null : options.store.folder,
    check() {
      refuseDamaged({ id, settings: current() });
      refuseMissingKeys({ keys }, { id, settings: current() });
    },
    feed,
    receive,
    environmentFor: ({ runId, launch }) =>
      childEnvironment({ inherited: process.env, pass, owns, launch, session: session(), sessionId: id, runId }),
  });
}

function onStored(open: OpenSession, next: BuildOptions["onStored"]): void {
  if (open.closed) return;
  const { native_session_id, turn } = open.session.snapshot();
  if (turn === null) for (const resolve of open.idleWaiters.splice(0)) resolve();
  if (native_session_id !== null && native_session_id !== open.nativeSession) {
    open.nativeSession = native_session_id;
    open.link.own(native_session_id);
  }
  open.commits += 1;
  next(open);
}
