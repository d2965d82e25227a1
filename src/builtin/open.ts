/** Opens a session of the builtin agent: everything it needs from the machine it runs on, found once. */
import { randomUUID } from "node:crypto";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { InProcessHost } from "../core/in-process.ts";
import { childEnvironment } from "../runtime/agent/environment.ts";
import { realDirectory } from "../runtime/confine.ts";
import { outboundFetch } from "../runtime/outbound/fetch.ts";
import type { BuiltinOptions } from "./agent.ts";
import { outputFolder } from "./outputs.ts";
import { isProviderKey } from "./providers.ts";
import { openBuiltinSession, type Session } from "./session.ts";
import { noHooks } from "./session-context.ts";
import { findRipgrep } from "./tools/ripgrep.ts";

/** A provider that says nothing for this long in the middle of an answer has lost the connection. */
const IDLE_MS = 300_000;

export async function openSession(options: BuiltinOptions, host: InProcessHost): Promise<Session> {
  const { settings, version, loadHistory, environment, hooks = noHooks, world } = options;
  const directory = await realDirectory(host.options.directory);
  const own = { ...environment, ...host.options.env };
  const session = openBuiltinSession({
    host,
    settings,
    version,
    loadHistory,
    directory,
    hooks,
    environment: own,
    commandEnvironment: commandEnvironment(options, host),
    outputDirectory: await outputDirectory(options, host),
    dataDirectory: options.dataFolder === undefined ? null : await realDirectory(options.dataFolder),
    ripgrep: await findRipgrep(own.PATH),
    mcpFetch: outboundFetch({ allow: options.outboundAllow ?? [] }),
    world: { now: Date.now, random: Math.random, sleep: wait, idleMs: IDLE_MS, ...world },
  });
  await session.introduce();
  return session;
}

const wait = async (ms: number, signal: AbortSignal): Promise<void> => {
  await sleep(ms, undefined, { signal });
};

async function outputDirectory({ outputs }: BuiltinOptions, { options }: InProcessHost): Promise<string> {
  // Made when it is needed; a name that nobody can guess, because others write to that folder too.
  const folder = outputs ?? join(tmpdir(), `franca-outputs-${randomUUID()}`);
  return realDirectory(outputFolder({ outputs: folder, session: options.session_id }));
}

/** Keys of model providers are the agent's own, and none of a command's business: not even those of the session. */
function commandEnvironment({ environment, settings, passEnv = [] }: BuiltinOptions, { options }: InProcessHost) {
  const isOpen = ([name]: readonly [string, unknown]): boolean =>
    passEnv.includes(name) || !isProviderKey(name, settings);
  return childEnvironment({
    inherited: environment,
    pass: passEnv,
    launch: { TERM: "dumb", GIT_TERMINAL_PROMPT: "0", PAGER: "cat" },
    session: Object.fromEntries(Object.entries(options.env).filter(isOpen)),
    sessionId: options.session_id,
    // Every command has its own; this one is never used.
    runId: "",
  });
}
