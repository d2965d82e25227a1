/** `franca serve`: the daemon, and the few lines a stranger needs to begin. */
import { randomBytes } from "node:crypto";
import type { Command } from "commander";
import { adapters } from "../adapters/index.ts";
import type { AgentSummary } from "../protocol/resources.ts";
import { openLogger } from "../runtime/logger.ts";
import { isLoopback } from "../server/auth.ts";
import { type Daemon, openDaemon } from "../server/compose.ts";
import { version } from "../server/version.ts";
import { type LoadedSettings, loadSettings } from "./config.ts";
import { addServeOptions } from "./serve-options.ts";
import { UsageError } from "./usage.ts";

const TOKEN_BYTES = 24;

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
  $ franca serve --host 0.0.0.0 --token "$(cat token)"`,
    )
    .action((flags: object) => serve({ ...flags }));
}

async function serve(flags: Readonly<Record<string, unknown>>): Promise<void> {
  const settings = await loadSettings({ flags, env: process.env });
  const { token, made } = chooseToken(settings);
  checkOrigins(settings, { token });
  checkDefaultAgent(settings);
  const logger = openLogger({ level: settings.logLevel });
  const daemon = await openDaemon({ ...settings, token, logger });
  const stopping = closeOnSignals(daemon);
  process.stdout.write(`Franca ${version} listens on ${daemon.url}\n`);
  if (made) process.stdout.write(`Token: ${token}\n`);
  // For whoever started us in the background and waits.
  process.send?.({ type: "listening", url: daemon.url, token: made ? token : null });
  const agents = await daemon.sessions.agents();
  process.stdout.write(`Agents: ${agentsLine(agents)}\nTry, in another terminal: ${firstThingToTry(settings)}\n`);
  await stopping;
}

/** Loopback needs none; anywhere else there is always one. */
function chooseToken({ token, host }: LoadedSettings): { token: string | null; made: boolean } {
  if (typeof token === "string") return { token, made: false };
  if (isLoopback(host)) return { token: null, made: false };
  if (token === false) {
    throw new UsageError(
      `--no-token: ${host} can be reached from elsewhere, and without a token only loopback is served.`,
    );
  }
  return { token: randomBytes(TOKEN_BYTES).toString("base64url"), made: true };
}

function checkOrigins({ corsAllowOrigin }: LoadedSettings, { token }: { token: string | null }): void {
  if (token !== null || !corsAllowOrigin.includes("*")) return;
  throw new UsageError("--cors-allow-origin *: every page could then drive your agents; give a --token too.");
}

function checkDefaultAgent({ defaultAgent }: LoadedSettings): void {
  const known = adapters.filter(({ offline }) => !offline).map(({ agent }) => agent);
  if (known.includes(defaultAgent)) return;
  throw new UsageError(`--default-agent: there is no agent ${defaultAgent}. Those there are: ${known.join(", ")}.`);
}

/** Resolves when the daemon is down. A second signal does not wait for that. */
function closeOnSignals(daemon: Daemon): Promise<void> {
  return new Promise((resolve, reject) => {
    let asked = false;
    const stop = (): void => {
      if (asked) process.exit(1);
      asked = true;
      daemon.close().then(resolve, reject);
    };
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, stop);
  });
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
  const secret = typeof token === "string" ? " --token …" : "";
  return `${program} run${folder}${secret} -- demo`;
}
