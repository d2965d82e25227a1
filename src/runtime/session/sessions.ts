/** Opens the one door to sessions (contract.ts): commands enter there, events leave there. */
import { onlyAgent } from "../../core/default-agent.ts";
import type { RuntimeOptions } from "../options.ts";
import type { Timer } from "../system.ts";
import { openAgentServers } from "./agent-server.ts";
import { anyHost } from "./any-host.ts";
import { answers, commands } from "./commands.ts";
import type { Sessions } from "./contract.ts";
import { delegates } from "./delegation.ts";
import type { OpenSessions } from "./open-session.ts";
import { releaseIdle } from "./placement.ts";
import { reads } from "./reads.ts";
import { recover } from "./recovery.ts";
import { adapterOf } from "./refusals.ts";
import { answerRelay } from "./relay-answers.ts";
import { type Runtime, startRuntime } from "./runtime.ts";
import { giveUpAll, stopAll } from "./shutdown.ts";
import { trustCommands } from "./trust-commands.ts";
import { worktreeCommands } from "./worktrees.ts";

/** How often a daemon checks whether another owner has died, and tries again what it could not recover. */
const RECOVERY_MS = 10_000;

export async function openSessions(options: RuntimeOptions): Promise<Sessions> {
  const runtime = await startRuntime(options);
  const table: OpenSessions = { runtime, sessions: new Map() };
  runtime.log.onLost(() => giveUpAll(table));
  try {
    await recover(table);
  } catch (error) {
    await runtime.log.close();
    throw error;
  }
  const timer = options.role === "daemon" ? recoverRegularly(table) : null;
  const servers = openAgentServers(runtime);
  runtime.answerRelay = (relayed) => answerRelay(table, relayed);
  let closing: Promise<void> | null = null;
  return {
    ...anyHost(table, { ...commands(table), ...answers(table), ...worktreeCommands(table) }),
    ...reads(table),
    ...trustCommands(table),
    ...delegates(table),
    ...agents(runtime),
    agentServer: servers.agentServer,
    close() {
      closing ??= servers.close().then(() => close(table, timer));
      return closing;
    },
  };
}

function recoverRegularly(table: OpenSessions): Timer {
  const { runtime } = table;
  let recovering = false;
  const run = async (): Promise<void> => {
    if (recovering || runtime.closed) return;
    recovering = true;
    const work = runtime.log.cluster?.draining() === true ? releaseIdle : recover;
    await work(table).catch((error: unknown) => runtime.logger.warn("recovery.failed", { error }));
    recovering = false;
  };
  // Where leases are shorter, a host that is gone is noticed sooner.
  const { store } = runtime.options;
  const leaseMs = store.kind === "postgres" ? (store.leaseMs ?? RECOVERY_MS) : RECOVERY_MS;
  return runtime.system.every(Math.min(RECOVERY_MS, leaseMs), () => void run());
}

async function close(table: OpenSessions, timer: Timer | null): Promise<void> {
  const { runtime } = table;
  runtime.closed = true;
  runtime.log.cluster?.commands.pause();
  runtime.spending.close();
  runtime.stopped.abort();
  timer?.cancel();
  runtime.models.close();
  runtime.binaries.close();
  await stopAll(table);
  runtime.guard.close();
  runtime.tail.close();
  await runtime.log.close();
}

const KEPT_MS = 1_000;

/** Every request may ask, and the answer is looked up in files: it is kept for a moment. */
function briefly<T>(look: () => T): () => T {
  let kept: { readonly value: T; readonly until: number } | null = null;
  return () => {
    if (kept === null || performance.now() > kept.until) kept = { value: look(), until: performance.now() + KEPT_MS };
    return kept.value;
  };
}

function agents(
  runtime: Runtime,
): Pick<Sessions, "agents" | "defaultAgent" | "models" | "modes" | "install" | "uninstall"> {
  const { adapters, binaries, models, options, fileView } = runtime;
  const all = [...adapters.values()];
  const defaultAgent = briefly(() => options.defaultAgent?.() ?? onlyAgent(all.map(binaries.candidate)));
  return {
    defaultAgent,
    async agents() {
      const chosen = defaultAgent();
      const described = await Promise.all(
        all.map(async (adapter) => ({
          ...(await binaries.describe(adapter)),
          hideData: await fileView.stateFor(adapter),
        })),
      );
      return described.map((agent) => (agent.id === chosen ? { ...agent, isDefault: true } : agent));
    },
    async models(agent) {
      const adapter = adapterOf(runtime, agent);
      if (adapter.models !== null) return { models: await models.of(adapter, adapter.models) };
      return options.inProcess[agent]?.models?.() ?? { models: [] };
    },
    modes: async (agent) => adapterOf(runtime, agent).modes,
    uninstall: async (agent) => binaries.uninstall(adapterOf(runtime, agent)),
    install: async (agent, asked) => binaries.install(adapterOf(runtime, agent), asked),
  };
}
