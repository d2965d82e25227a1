/** `franca opencode`: the real OpenCode TUI on any agent. Finds or starts the daemon and attaches to it. */
import { spawn, spawnSync } from "node:child_process";
import { constants } from "node:os";
import { resolve } from "node:path";
import type { Command } from "commander";
import { daemonOf } from "../runtime/lock.ts";
import { type LoadedSettings, loadSettings } from "./config.ts";
import { addDoorOptions, openDoor } from "./door.ts";
import { CommandError, UsageError } from "./usage.ts";

interface Flags {
  readonly agent?: string;
  readonly dir?: string;
  readonly attach?: string;
  readonly token?: string;
  readonly data?: string;
  readonly config?: string;
}

export function define(command: Command): void {
  addDoorOptions(command)
    .argument("[options...]", "after --: passed on to `opencode attach`, for example -- --continue")
    .option("--agent <agent>", "the agent that new sessions begin with (FRANCA_DEFAULT_AGENT, else the daemon's)")
    .option("--dir <folder>", "where the agent works", ".")
    .addHelpText(
      "after",
      `
Examples:
  $ franca opencode --agent claude
  $ franca opencode --agent codex --dir ~/project -- --continue`,
    )
    .action((words: string[], flags: Flags) => attach(words, flags));
}

async function attach(words: readonly string[], flags: Flags): Promise<void> {
  const settings = await loadSettings({ flags: { ...flags }, env: process.env });
  const url = flags.attach ?? process.env.FRANCA_URL ?? (await daemonUrl(settings, flags));
  const program = await findOpenCode(url, flags);
  const scope = flags.agent === undefined ? "" : `/@${flags.agent}`;
  const args = ["attach", `${url}/opencode${scope}`, "--dir", resolve(flags.dir ?? "."), ...words];
  const password = typeof settings.token === "string" ? { OPENCODE_SERVER_PASSWORD: settings.token } : {};
  process.exitCode = await run(program, args, { ...process.env, ...password });
}

/** A daemon that runs already, or a new one in the background that stays for the next time. */
async function daemonUrl(settings: LoadedSettings, { data, config }: Flags): Promise<string> {
  const running = await daemonOf(settings.data);
  if (running !== null) return running.url;
  const options = [
    ...(data === undefined ? [] : ["--data", data]),
    ...(config === undefined ? [] : ["--config", config]),
  ];
  // The port is free to choose: whoever comes next finds the daemon by its data folder.
  const started = spawnSync(process.execPath, [process.argv[1] ?? "", "daemon", "start", "--port", "0", ...options], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  const daemon = started.status === 0 ? await daemonOf(settings.data) : null;
  if (daemon === null) throw new CommandError("The daemon could not be started. Try: franca serve");
  return daemon.url;
}

async function findOpenCode(url: string, flags: Flags): Promise<string> {
  const door = await openDoor({ flags: { ...flags, attach: url }, env: process.env });
  try {
    const agents = await door.agents();
    if (flags.agent !== undefined) checkAgent(flags.agent, agents);
    const { path } = agents.find(({ id }) => id === "opencode") ?? {};
    if (path !== undefined) return path;
  } finally {
    await door.close();
  }
  throw new CommandError(
    "OpenCode is not installed. Its TUI comes with it: franca agents install opencode (or npm install -g opencode-ai).",
  );
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
