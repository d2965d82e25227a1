/** `franca opencode`: OpenCode's own TUI or web app on any agent. Finds or starts the daemon and uses it. */
import { type ChildProcessByStdio, spawn, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync, statSync } from "node:fs";
import { constants } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import type { Command } from "commander";
import { opencode } from "../adapters/opencode/index.ts";
import { MOCK } from "../core/default-agent.ts";
import { defined } from "../core/defined.ts";
import type { CreatedToken } from "../protocol/tokens.ts";
import { openBinaries } from "../runtime/agent/binaries.ts";
import { daemonOf } from "../runtime/daemon/lock.ts";
import { silentLogger } from "../runtime/logger.ts";
import { timeoutSignal } from "../runtime/timeout-signal.ts";
import { openHttp } from "../sdk/http.ts";
import { serveWebApp } from "../server/opencode/web-app.ts";
import { type LoadedSettings, loadSettings } from "./config.ts";
import { addDoorOptions, type Door, namedServer, openDoor } from "./door.ts";
import { settleTrust } from "./trust.ts";
import { CommandError, UsageError } from "./usage.ts";

interface Flags {
  readonly agent?: string;
  readonly dir?: string;
  readonly server?: string;
  readonly attach?: string;
  readonly token?: string;
  readonly tokenFile?: string;
  readonly data?: string;
  readonly config?: string;
  readonly trust?: true;
  readonly web?: true;
  readonly port?: string;
}

export function define(command: Command): void {
  addDoorOptions(command)
    .argument("[options...]", "after --: passed on to `opencode attach`, for example -- --continue")
    .option("-a, --agent <agent>", "the agent that new sessions begin with (FRANCA_DEFAULT_AGENT, else the daemon's)")
    .option("-d, --dir <folder>", "the folder the agent works in", ".")
    .option("--trust", "trust the folder: the agent may use its settings, hooks, plugins and MCP servers")
    .option("--web", "OpenCode's web app instead of its TUI, on a port of this machine's loopback")
    .option("--port <number>", "with --web: the port (default: any free one)")
    .addHelpText(
      "after",
      `
Examples:
  $ franca opencode --agent claude
  $ franca opencode --agent codex --dir ~/project -- --continue
  $ franca opencode --agent claude --web
  $ franca opencode -- --session 7f3c…`,
    )
    .action((words: string[], flags: Flags) => attach(words, flags));
}

async function attach(words: readonly string[], flags: Flags): Promise<void> {
  const settings = await loadSettings({ flags: { ...flags }, env: process.env });
  const elsewhere = namedServer({ ...flags }) ?? process.env.FRANCA_URL;
  const directory = resolve(flags.dir ?? ".");
  // A daemon on another machine has directories of its own.
  if (elsewhere === undefined && statSync(directory, { throwIfNoEntry: false })?.isDirectory() !== true) {
    throw new UsageError(`--dir: ${directory} is no directory.`);
  }
  const url = elsewhere ?? (await daemonUrl(settings, flags));
  const { program, scope, more, folders, trusted } = await prepare({ url, words, flags, settings });
  const kind = flags.web === true ? "web-app" : "client";
  const credential = await openClientCredential({ url, settings, folders, kind });
  try {
    const api = `${url}/opencode${scope}`;
    if (flags.web === true) return await serveWeb({ program, api, secret: credential.secret, flags });
    const args = ["attach", api, "--dir", directory, ...more];
    process.exitCode = await run(program, args, tuiEnvironment({ secret: credential.secret, trusted }));
  } finally {
    await credential.revoke();
  }
}

interface Tui {
  readonly secret: string;
  /** Whether the folder's own configuration may be loaded. */
  readonly trusted: boolean;
}

/** The shell's environment without Franca's own variables, which may include the owner's token. */
function tuiEnvironment({ secret, trusted }: Tui): NodeJS.ProcessEnv {
  const own = Object.entries(process.env).filter(([name]) => !name.startsWith("FRANCA_"));
  return {
    ...Object.fromEntries(own),
    OPENCODE_SERVER_PASSWORD: secret,
    // Otherwise a `tui.json` in the folder or in its `.opencode` could name a plugin, which runs when the TUI starts.
    ...(trusted ? {} : { OPENCODE_DISABLE_PROJECT_CONFIG: "1" }),
  };
}

interface ClientCredential {
  readonly secret: string;
  readonly revoke: () => Promise<void>;
}

interface CredentialRequest {
  readonly url: string;
  readonly settings: LoadedSettings;
  readonly folders: readonly string[];
  readonly kind: "client" | "web-app";
}

/** Lifetime of the credential of a program that the daemon cannot watch. */
const CLIENT_MS = 30 * 86_400_000;

/** Creates a credential for the folder. It ends with this process, even if the process is killed. */
async function openClientCredential({ url, settings, folders, kind }: CredentialRequest): Promise<ClientCredential> {
  const { token, data } = settings;
  const http = openHttp({ url, data, ...defined({ token: token ?? undefined }) });
  const isHere = await isOwnDaemon(url, settings);
  const body = {
    kind,
    surface: "opencode",
    folders,
    actions: ["read", "create", "prompt", "answer", "abort", "manage", "delete", "shell"],
    ttlMs: CLIENT_MS,
    ...(isHere ? { pid: process.pid } : {}),
  };
  const { id, secret } = await http.json<CreatedToken>("/v1/tokens", { method: "POST", body });
  const revoke = async (): Promise<void> => {
    // The daemon may have been stopped by now; then it revokes the credential when it starts again.
    await http.request(`/v1/tokens/${encodeURIComponent(id)}`, { method: "DELETE" }).catch(() => undefined);
  };
  return { secret, revoke };
}

/** Whether the daemon runs on this machine, on the data folder of these settings. */
const isOwnDaemon = async (url: string, { data }: LoadedSettings): Promise<boolean> =>
  (await daemonOf(data))?.url === url;

interface Serving {
  readonly program: string;
  readonly api: string;
  /** Protects the port, and authenticates to the daemon. */
  readonly secret: string;
  readonly flags: Flags;
}

const STARTED_MS = 60_000;

/** Until it is interrupted: the page from OpenCode, which is kept off the network, and the API from the daemon. */
async function serveWeb({ program, api, secret, flags }: Serving): Promise<void> {
  const port = Number(flags.port ?? 0);
  if (!Number.isInteger(port) || port < 0 || port > 65_535) throw new UsageError(`--port: ${flags.port} is no port.`);
  const carrier = await startCarrier(program);
  try {
    const web = await serveWebApp({
      page: carrier,
      api: { url: api, authorization: `Bearer ${secret}` },
      password: secret,
      port,
    });
    const login = web.url.replace("http://", `http://opencode:${secret}@`);
    process.stdout.write(`OpenCode's web app: ${login}\n`);
    await new Promise<void>((resolve) => {
      process.once("SIGINT", () => resolve());
      process.once("SIGTERM", () => resolve());
      carrier.child.once("exit", () => resolve());
    });
    await web.close();
  } finally {
    carrier.child.kill("SIGTERM");
  }
}

/** OpenCode's server for its page alone. Whatever it would fetch from elsewhere meets a proxy that is not there. */
async function startCarrier(program: string) {
  const password = randomBytes(18).toString("base64url");
  const nowhere = "http://127.0.0.1:9";
  const { PATH, HOME, TMPDIR, XDG_DATA_HOME, XDG_CONFIG_HOME, XDG_STATE_HOME, XDG_CACHE_HOME } = process.env;
  const child = spawn(program, ["serve", "--port", "0", "--hostname", "127.0.0.1"], {
    env: {
      ...defined({ PATH, HOME, TMPDIR, XDG_DATA_HOME, XDG_CONFIG_HOME, XDG_STATE_HOME, XDG_CACHE_HOME }),
      OPENCODE_SERVER_PASSWORD: password,
      OPENCODE_DISABLE_AUTOUPDATE: "1",
      OPENCODE_DISABLE_MODELS_FETCH: "1",
      OPENCODE_DISABLE_PROJECT_CONFIG: "1",
      HTTP_PROXY: nowhere,
      HTTPS_PROXY: nowhere,
      NO_PROXY: "127.0.0.1,localhost",
    },
    stdio: ["ignore", "pipe", "ignore"],
  });
  const failed = new Promise<never>((_, reject) => child.on("error", reject));
  failed.catch(() => {});
  try {
    const url = await Promise.race([listening(child), failed]);
    const authorization = `Basic ${Buffer.from(`opencode:${password}`).toString("base64")}`;
    const page = await fetch(url, { headers: { authorization }, signal: timeoutSignal({ ms: STARTED_MS }) });
    const isPage = page.ok && page.headers.get("content-type")?.includes("text/html") === true;
    if (!isPage) throw new CommandError("This OpenCode does not carry its web app: install a release that does.");
    return { url, authorization, child };
  } catch (error) {
    child.kill("SIGTERM");
    throw error;
  }
}

async function listening(child: ChildProcessByStdio<null, Readable, null>): Promise<string> {
  const signal = timeoutSignal({ ms: STARTED_MS });
  const lines = createInterface({ input: child.stdout, signal });
  lines.on("error", () => lines.close());
  for await (const line of lines) {
    const [, url] = /listening on (http:\/\/\S+)/.exec(line) ?? [];
    if (url !== undefined) return url.replace(/\/$/, "");
  }
  throw new CommandError("OpenCode's server did not start.");
}

interface Preparing {
  readonly url: string;
  readonly words: readonly string[];
  readonly flags: Flags;
  readonly settings: LoadedSettings;
}

interface Prepared {
  readonly program: string;
  /** Which agent's sessions are begun; empty for the daemon's own default. */
  readonly scope: string;
  readonly more: readonly string[];
  /** Where the program may work: the folder, and that of the session that was named. */
  readonly folders: readonly string[];
  readonly trusted: boolean;
}

async function prepare({ url, words, flags, settings }: Preparing): Promise<Prepared> {
  const door = await openDoor({ flags: { ...flags, server: url }, env: process.env });
  try {
    const agents = await door.agents();
    if (flags.agent !== undefined) checkAgent(flags.agent, agents);
    const program = findOpenCode(settings) ?? agents.find(({ id }) => id === "opencode")?.path;
    if (program === undefined || !existsSync(program)) {
      throw new CommandError(
        "OpenCode is not installed. Its TUI comes with it: franca agents install opencode (or npm install -g opencode-ai).",
      );
    }
    const directory = resolve(flags.dir ?? ".");
    const asked = await sessionIn(words, door);
    const started = flags.agent ?? asked.agent ?? settings.defaultAgent ?? (await door.defaultAgent());
    await settleTrust({
      door,
      agent: started ?? MOCK,
      directory,
      trust: flags.trust === true,
    });
    const agent = flags.agent ?? asked.agent;
    // A daemon on another machine cannot access the folder that the program starts in.
    const trusted = (await isOwnDaemon(url, settings)) && (await door.trust(directory)).trusted === true;
    const folders = [directory, ...(asked.directory === null ? [] : [asked.directory])];
    return { program, scope: agent === null ? "" : `/@${agent}`, more: asked.words, folders, trusted };
  } finally {
    await door.close();
  }
}

/** The TUI is drawn here, wherever the daemon is: this machine's own program comes first. */
const findOpenCode = ({ data }: LoadedSettings): string | null =>
  openBinaries({
    toolsFolder: process.env.FRANCA_TOOLS ?? join(data, "tools"),
    environment: process.env,
    logger: silentLogger,
  }).find(opencode);

interface NamedSession {
  readonly agent: string | null;
  readonly directory: string | null;
  readonly words: readonly string[];
}

/**
 * A session that is named begins with its own agent: in an empty one the TUI would speak of the daemon's default.
 * It may be named by Franca's id or by OpenCode's.
 */
async function sessionIn(words: readonly string[], door: Door): Promise<NamedSession> {
  const at = words.findIndex((word) => /^(-s|--session)(=|$)/.test(word));
  if (at === -1) return { agent: null, directory: null, words };
  const [flag = "", joined] = (words[at] ?? "").split("=", 2);
  const named = joined ?? words[at + 1];
  const found = (await door.list()).find(({ sessionId, opencodeId }) => named === sessionId || named === opencodeId);
  if (found === undefined) {
    throw new CommandError(`There is no session ${named ?? ""}. franca sessions list shows those there are.`);
  }
  const rest = words.slice(at + (joined === undefined ? 2 : 1));
  const { agent, directory } = found;
  return { agent, directory, words: [...words.slice(0, at), flag, found.opencodeId ?? found.sessionId, ...rest] };
}

/** A daemon that runs already, or a new one in the background that stays for the next time. */
async function daemonUrl(settings: LoadedSettings, { data, config }: Flags): Promise<string> {
  const running = await daemonOf(settings.data);
  if (running !== null) return running.url;
  const options = [
    ...(data === undefined ? [] : ["--data", data]),
    ...(config === undefined ? [] : ["--config", config]),
  ];
  // The port is free to choose: later commands find the daemon by its data folder.
  const started = spawnSync(process.execPath, [process.argv[1] ?? "", "daemon", "start", "--port", "0", ...options], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  const daemon = started.status === 0 ? await daemonOf(settings.data) : null;
  if (daemon === null) throw new CommandError("The daemon could not be started. Try: franca serve");
  return daemon.url;
}

function checkAgent(agent: string, agents: readonly { readonly id: string; readonly installed: boolean }[]): void {
  const known = agents.find(({ id }) => id === agent);
  if (known === undefined) {
    throw new UsageError(`There is no agent ${agent}. Known: ${agents.map(({ id }) => id).join(", ")}.`);
  }
  if (!known.installed) throw new CommandError(`${agent} is not installed: franca agents install ${agent}`);
}

/** The TUI has the terminal until it ends; Ctrl-C is its to handle. */
function run(program: string, args: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  const ignore = (): void => {};
  process.on("SIGINT", ignore);
  return new Promise((done, fail) => {
    const child = spawn(program, args, { stdio: "inherit", env });
    child.on("error", (error) => fail(new CommandError(`${program} could not be started: ${error.message}`)));
    child.on("exit", (code, signal) => {
      process.off("SIGINT", ignore);
      done(code ?? 128 + (signal === null ? 0 : constants.signals[signal]));
    });
  });
}
