/** Daemons for tests: inside the test's process for most, as a process of their own for those that are killed. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { onTestFinished } from "vitest";
import { type Client, connect } from "../../src/sdk/index.ts";
import { type Daemon, type DaemonOptions, openDaemon } from "../../src/server/compose.ts";
import { temporaryFolder } from "./folders.ts";
import { watchLoop } from "./watchdog.ts";

/** Quick scenarios: the mock waits this long between lines unless a test says otherwise. */
process.env.FRANCA_MOCK_DELAY_MS ??= "0";

export interface TestDaemon extends Daemon {
  readonly client: Client;
  /** Where sessions may work. */
  readonly directory: string;
}

export async function startDaemon(options: Partial<DaemonOptions> = {}): Promise<TestDaemon> {
  watchLoop();
  const directory = temporaryFolder();
  const daemon = await openDaemon({
    host: "127.0.0.1",
    port: 0,
    token: null,
    data: join(directory, "data"),
    store: "memory",
    durability: "normal",
    corsAllowOrigin: [],
    defaultAgent: "mock",
    watchdogMs: null,
    passEnv: [],
    // Tests about trust say so themselves.
    trustedFolders: ["/", process.cwd()],
    ...options,
  });
  onTestFinished(() => daemon.close());
  const token = options.token ?? null;
  return { ...daemon, directory, client: connect({ url: daemon.url, ...(token === null ? {} : { token }) }) };
}

export const program = join(import.meta.dirname, "..", "..", "bin", "franca.js");

/** Only what a program needs to start, so that the developer's own settings stay out of the tests. */
export function testEnvironment(home: string, extra: Readonly<Record<string, string>> = {}): Record<string, string> {
  return {
    PATH: process.env.PATH ?? "",
    HOME: home,
    XDG_DATA_HOME: join(home, "share"),
    XDG_CONFIG_HOME: join(home, "config"),
    FRANCA_MOCK_DELAY_MS: "0",
    NO_COLOR: "1",
    ...extra,
  };
}

export interface ServeOptions {
  readonly home: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Another build than this checkout's. */
  readonly executable?: string;
}

export interface ServedDaemon {
  readonly child: ChildProcess;
  readonly url: string;
  /** Null when it was started without one. */
  readonly token: string | null;
  /** What it printed until it listened. */
  readonly firstLine: string;
}

/** `franca serve` as a process of its own; resolves when it listens. */
export async function serve(options: ServeOptions & { errorsTo?: string }): Promise<ServedDaemon> {
  const { home, args = [], env = {}, executable = program, errorsTo } = options;
  const child = spawn(process.execPath, [executable, "serve", ...args], {
    env: testEnvironment(home, env),
    stdio: ["ignore", "pipe", "pipe"],
  });
  child.stderr.on("data", (bytes: Buffer) => {
    if (errorsTo === undefined) process.stderr.write(bytes);
    else appendFileSync(errorsTo, bytes);
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const lines = createInterface({ input: child.stdout });
  const [firstLine] = (await Promise.race([
    once(lines, "line"),
    once(child, "exit").then(([code]) => {
      throw new Error(`The daemon ended with code ${code} before it listened.`);
    }),
  ])) as [string];
  const url = /http:\/\/\S+/.exec(firstLine)?.[0];
  if (url === undefined) throw new Error(`No address in ${JSON.stringify(firstLine)}`);
  const file = join(home, "share", "franca", "token");
  const token = args.includes("--no-token") || !existsSync(file) ? null : readFileSync(file, "utf8").trim();
  return { child, url, token, firstLine };
}

export interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** One CLI command to its end. */
export async function franca(
  args: readonly string[],
  options: ServeOptions & { input?: string; cwd?: string },
): Promise<Ran> {
  const child = spawn(process.execPath, [options.executable ?? program, ...args], {
    env: testEnvironment(options.home, options.env),
    stdio: ["pipe", "pipe", "pipe"],
    cwd: options.cwd ?? options.home,
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  let stdout = "";
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  child.stdin.end(options.input ?? "");
  const [code] = (await once(child, "close")) as [number | null];
  return { code, stdout, stderr };
}
