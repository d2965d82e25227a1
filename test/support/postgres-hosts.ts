/** Hosts on one Postgres database, as processes of their own: started, killed, stopped and continued by tests. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { onTestFinished } from "vitest";
import { type Client, connect } from "../../src/sdk/index.ts";
import { program, testEnvironment } from "./daemon.ts";
import { temporaryFolder } from "./folders.ts";
import { databaseOf, urlOf } from "./postgres.ts";

export const TOKEN = "the-token-of-all-hosts";

export interface Host {
  readonly name: string;
  readonly home: string;
  readonly url: string;
  readonly child: ChildProcess;
  readonly client: Client;
  /** All that it printed. */
  readonly output: () => string;
}

export interface HostOptions {
  readonly home: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly port?: string;
}

/** A home for a host, with the token and the id of the host in it. */
export function homeOf(name: string): string {
  const home = join(temporaryFolder(), name);
  const data = join(home, "share", "franca");
  mkdirSync(data, { recursive: true, mode: 0o700 });
  writeFileSync(join(data, "host-id"), name);
  writeFileSync(join(home, "token"), TOKEN, { mode: 0o600 });
  return home;
}

export const databaseUrl = async (folder: string): Promise<string> => urlOf(await databaseOf(folder));

export async function startHost(database: string, options: HostOptions): Promise<Host> {
  const { home, args = [], env = {}, port = "0" } = options;
  const words = ["serve", "--store", "postgres", "--port", port, "--token-file", join(home, "token"), ...args];
  const child = spawn(process.execPath, [program, ...words], {
    env: testEnvironment(home, { FRANCA_DATABASE_URL: database, FRANCA_LOG_LEVEL: "debug", ...env }),
    stdio: ["ignore", "pipe", "pipe"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  let output = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    output += text;
  });
  const lines = createInterface({ input: child.stdout });
  lines.on("line", (line) => {
    output += `${line}\n`;
  });
  const listening = new Promise<string>((resolve, reject) => {
    lines.on("line", (line) => {
      const url = /listens on (http:\/\/\S+)/.exec(line)?.[1];
      if (url !== undefined) resolve(url);
    });
    child.once("exit", (code) => reject(new Error(`The host ended with code ${code}: ${output}`)));
  });
  const url = await listening;
  return { name: home, home, url, child, client: connect({ url, token: TOKEN }), output: () => output };
}

export async function killHost({ child }: Host): Promise<void> {
  const gone = once(child, "exit");
  child.kill("SIGKILL");
  await gone;
}
