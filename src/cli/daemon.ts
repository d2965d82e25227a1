/** `franca daemon`: the same daemon in the background. The lock in its data folder says which process it is. */
import { type ChildProcess, spawn } from "node:child_process";
import { openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Command } from "commander";
import { isAlive } from "../runtime/agent/process-table.ts";
import { daemonOf } from "../runtime/daemon/lock.ts";
import { openDataFolder } from "../runtime/data-folder.ts";
import { loadSettings } from "./config.ts";
import { addServeOptions } from "./serve-options.ts";
import { printJson } from "./table.ts";
import { CommandError } from "./usage.ts";

const START_MS = 20_000;
const STOP_MS = 20_000;
const POLL_MS = 50;
const LOG_TAIL = 2_000;

/** For the daemon: the file that its output goes to, which it keeps small. */
export const LOG_VARIABLE = "FRANCA_DAEMON_LOG";

type Flags = Readonly<Record<string, unknown>>;

export function define(command: Command): void {
  addServeOptions(command.command("start"))
    .description("start the daemon in the background (takes the options of franca serve)")
    .action((flags: object) => start({ ...flags }));
  for (const [name, summary, action] of [
    ["stop", "stop the daemon of the data folder", stop],
    ["status", "say whether it runs, and where", status],
  ] as const) {
    command
      .command(name)
      .description(summary)
      .option("--data <folder>", "the data folder (FRANCA_DATA)")
      .option("--config <file>", "the config file (FRANCA_CONFIG)")
      .option("--json", "as JSON")
      .action((flags: object) => action({ ...flags }));
  }
  command.addHelpText("after", "\nExamples:\n  $ franca daemon start --port 8080\n  $ franca daemon status --json");
}

async function start(flags: Flags): Promise<void> {
  const { data, store } = await loadSettings({ flags, env: process.env });
  if (store === "memory") throw new CommandError("A daemon in the background needs a data folder to be found by.");
  const running = await daemonOf(data);
  if (running !== null) {
    process.stdout.write(`The daemon runs already at ${running.url} (process ${running.pid}).\n`);
    return;
  }
  openDataFolder(data);
  const log = join(data, "daemon.log");
  const output = openSync(log, "a", 0o600);
  const words = process.argv.slice(process.argv.indexOf("start") + 1);
  const child = spawn(process.execPath, [process.argv[1] ?? "", "serve", ...words], {
    detached: true,
    stdio: ["ignore", output, output, "ipc"],
    env: { ...process.env, [LOG_VARIABLE]: log },
  });
  const { url } = await listening(child, { log });
  child.disconnect();
  child.unref();
  process.stdout.write(`Franca listens on ${url} (process ${child.pid}, log ${log})\n`);
}

interface Listening {
  readonly url: string;
}

function listening(child: ChildProcess, { log }: { log: string }): Promise<Listening> {
  return new Promise((resolve, reject) => {
    const fail = (reason: string): void =>
      reject(new CommandError(`The daemon did not start: ${reason}\n${tailOf(log)}`));
    const timer = setTimeout(() => {
      child.kill("SIGKILL");
      fail(`it did not listen within ${START_MS / 1000} s.`);
    }, START_MS);
    child.once("error", (error) => fail(error.message));
    child.once("exit", (code) => {
      clearTimeout(timer);
      fail(`it ended with code ${code}.`);
    });
    child.once("message", (message) => {
      clearTimeout(timer);
      child.removeAllListeners("exit");
      if (isListening(message)) resolve(message);
      else fail("it said something that was not understood.");
    });
  });
}

const isListening = (value: unknown): value is Listening =>
  typeof value === "object" && value !== null && "url" in value && typeof value.url === "string";

function tailOf(log: string): string {
  const tail = readFileSync(log, "utf8").slice(-LOG_TAIL).trimEnd();
  return tail === "" ? "Its log is empty. If its folder is full, free some space; else try franca serve." : tail;
}

async function stop(flags: Flags): Promise<void> {
  const { data, stopWaitMs } = await loadSettings({ flags, env: process.env });
  const daemon = await daemonOf(data);
  if (daemon === null) {
    if (flags.json === true) return printJson({ running: false });
    process.stdout.write(`No daemon runs on ${data}.\n`);
    return;
  }
  process.kill(daemon.pid, "SIGTERM");
  // A process that is not our child sends no exit event: one can only poll.
  const patienceMs = STOP_MS + stopWaitMs;
  for (const until = performance.now() + patienceMs; isAlive(daemon); ) {
    if (performance.now() > until)
      throw new CommandError(`Process ${daemon.pid} has not ended within ${patienceMs / 1000} s.`);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  if (flags.json === true) return printJson({ running: false });
  process.stdout.write("The daemon is stopped.\n");
}

async function status(flags: Flags): Promise<void> {
  const { data } = await loadSettings({ flags, env: process.env });
  const daemon = await daemonOf(data);
  if (flags.json === true) printJson(daemon === null ? { running: false, data } : { running: true, data, ...daemon });
  else if (daemon === null) process.stdout.write(`No daemon runs on ${data}.\n`);
  else process.stdout.write(`The daemon runs at ${daemon.url} (process ${daemon.pid}) on ${data}.\n`);
  if (daemon === null) process.exitCode = 1;
}
