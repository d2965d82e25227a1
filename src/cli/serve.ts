/** `franca serve`: the daemon, and the few lines a stranger needs to begin. */
import type { Command } from "commander";
import { adapters } from "../adapters/index.ts";
import { defined } from "../core/defined.ts";
import type { AgentSummary } from "../protocol/resources.ts";
import { followGroups, openBackground, type TaskWork } from "../runtime/background.ts";
import { ensureToken } from "../runtime/data-folder.ts";
import { startEngine, tuneEngine } from "../runtime/engine.ts";
import { releaseMemoryWhenIdle } from "../runtime/idle-memory.ts";
import { type LogFile, openLogFile } from "../runtime/log-file.ts";
import { openLogger } from "../runtime/logger.ts";
import { openRedactor } from "../runtime/redact.ts";
import { type Daemon, openDaemon } from "../server/compose.ts";
import { isLoopback } from "../server/http/auth.ts";
import { version } from "../server/version.ts";
import { type LoadedSettings, loadSettings } from "./config.ts";
import { LOG_VARIABLE } from "./daemon.ts";
import { openLastResort } from "./last-resort.ts";
import { pageLink, sessionLink } from "./open.ts";
import { addServeOptions } from "./serve-options.ts";
import { closeOnSignals } from "./serve-stop.ts";
import { shortId } from "./session-id.ts";
import { UsageError } from "./usage.ts";

export function define(command: Command): void {
  addServeOptions(command)
    .addHelpText(
      "after",
      `
Every option can stand in franca.config.json, .js or .ts (in $XDG_CONFIG_HOME/franca/, or named by --config or
FRANCA_CONFIG) in camelCase, and in the environment as FRANCA_PORT, FRANCA_LOG_LEVEL and so on. Flags win over the
environment, and the environment over the file.

Examples:
  $ franca serve
  $ franca serve --port 8080 --default-agent claude
  $ franca serve --host 0.0.0.0 --token-file ./token`,
    )
    .action((flags: object) => serve({ ...flags }));
}

async function serve(flags: Readonly<Record<string, unknown>>): Promise<void> {
  startEngine();
  const settings = await loadSettings({ flags, env: process.env });
  const token = chooseToken(settings);
  checkOrigins(settings, { token });
  checkDefaultAgent(settings);
  const environment = { ...process.env, FRANCA_DATABASE_URL: settings.databaseUrl ?? "" };
  const redactor = openRedactor({ token, environment });
  const logger = openLogger({ level: settings.logLevel, redactor, ...defined({ destination: ownLogFile() }) });
  const background = openBackground({ logger });
  const daemon = await openDaemon({ ...settings, token, logger, background });
  openLastResort({ folder: settings.data, logger, redactor, close: daemon.close });
  const stopping = closeOnSignals(daemon, { waitMs: settings.stopWaitMs, drain: settings.drain, logger });
  process.stdout.write(`Franca ${version} listens on ${daemon.url}\n`);
  // For the command that started us in the background and waits.
  process.send?.({ type: "listening", url: daemon.url });
  sayWhoMayComeIn(daemon, { token });
  const agents = await daemon.sessions.agents();
  process.stdout.write(`Agents: ${agentsLine(agents)}\nTry, in another terminal: ${firstThingToTry(settings)}\n`);
  tuneEngine();
  releaseMemoryWhenIdle();
  const watching = new AbortController();
  if (process.stdout.isTTY) background.start("notices", sayWhoWaits(daemon, watching.signal), watching.signal);
  await stopping;
  watching.abort();
}

/** At a terminal only: links to sessions that wait for a person. They hold no code; the page is logged in by then. */
function sayWhoWaits({ sessions, url }: Daemon, signal: AbortSignal): TaskWork {
  return followGroups(sessions, { signal, after: sessions.position() }, (group) => {
    for (const { type, session_id: session } of group.notable()) {
      if (type !== "permission.requested" && type !== "question.requested") continue;
      process.stdout.write(`Session ${shortId(session)} needs you: ${sessionLink(url, session)}\n`);
    }
  });
}

/** In the background our output goes to a file, which grows only so far. */
function ownLogFile(): LogFile | undefined {
  const file = process.env[LOG_VARIABLE];
  // What we start is not to think that it is its own.
  delete process.env[LOG_VARIABLE];
  return file === undefined ? undefined : (openLogFile({ file }) ?? undefined);
}

/** The data folder's own unless another was named, or none is wanted. */
function chooseToken({ token, host, data, store }: LoadedSettings): string | null {
  if (store === "postgres" && typeof token !== "string") {
    throw new UsageError("--store postgres: all hosts of a database share one token; give it with --token-file.");
  }
  if (token === null) return ensureToken(data);
  if (token !== false) return token;
  if (isLoopback(host)) return null;
  throw new UsageError(
    `--no-token: ${host} can be reached from elsewhere, and without a token only loopback is served.`,
  );
}

/** The link holds a one-time code, so it is shown to a person at a terminal and never written to a log file. */
function sayWhoMayComeIn({ url, credentials }: Daemon, { token }: { token: string | null }): void {
  if (token === null) {
    process.stdout.write("Without a token, every program and every user of this machine can run commands here.\n");
  } else if (process.stdout.isTTY) {
    process.stdout.write(`Open ${pageLink(url, credentials.makeCode().code)}\n  (works once, for 10 minutes)\n`);
  }
}

function checkOrigins({ corsAllowOrigin }: LoadedSettings, { token }: { token: string | null }): void {
  if (token !== null || !corsAllowOrigin.includes("*")) return;
  throw new UsageError("--cors-allow-origin *: every page could then drive your agents; give a --token too.");
}

function checkDefaultAgent({ defaultAgent }: LoadedSettings): void {
  const known = adapters.filter(({ offline }) => !offline).map(({ agent }) => agent);
  if (defaultAgent === null || known.includes(defaultAgent)) return;
  throw new UsageError(`--default-agent: there is no agent ${defaultAgent}. Those there are: ${known.join(", ")}.`);
}

function agentsLine(agents: readonly AgentSummary[]): string {
  const there = agents.filter(({ installed }) => installed);
  const missing = agents.filter(({ installed }) => !installed);
  const names = there.map(({ id, version }) => (version === undefined ? id : `${id} ${version}`)).join(", ");
  return missing.length === 0 ? names : `${names} (not installed: ${missing.map(({ id }) => id).join(", ")})`;
}

function firstThingToTry({ data, token }: LoadedSettings): string {
  const program = process.env.npm_lifecycle_event === "start" ? "node bin/franca.js" : "franca";
  const folder = process.argv.includes("--data") ? ` --data ${data}` : "";
  const secret = typeof token === "string" ? " --token-file …" : "";
  return `${program} run${folder}${secret} -- demo`;
}
