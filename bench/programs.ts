/** The programs under measurement, each a process of its own, and what the system says about them. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Language } from "./agent.ts";

export interface Program {
  readonly url: string;
  readonly pid: number;
  readonly stop: () => Promise<void>;
}

export async function startRelay(language: Language): Promise<Program> {
  const child = spawn(process.execPath, [process.argv[1] ?? "", "relay", language], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  return { url: await addressOf(child), pid: child.pid ?? 0, stop: () => stop(child) };
}

/** As users have it: the built program, the log in SQLite. Claude Code and Codex are the relay's fake agents. */
export async function startFranca(): Promise<Program> {
  const home = shimFolder();
  const args = [
    join(process.cwd(), "bin", "franca.js"),
    "serve",
    "--no-token",
    "--port",
    "0",
    "--data",
    join(home, "data"),
  ];
  const child = spawn(process.execPath, args, {
    stdio: ["ignore", "pipe", "inherit"],
    env: {
      ...process.env,
      PATH: `${home}:${process.env.PATH}`,
      HOME: home,
      XDG_CONFIG_HOME: home,
      FRANCA_MOCK_DELAY_MS: "0",
      FRANCA_TOKEN: "",
    },
  });
  return {
    url: await addressOf(child),
    pid: child.pid ?? 0,
    stop: async () => {
      await stop(child);
      rmSync(home, { recursive: true, force: true });
    },
  };
}

/** A home with the fake agents in it, under the names of the real ones. */
export function shimFolder(): string {
  const home = mkdtempSync(join(tmpdir(), "franca-bench-"));
  for (const language of ["claude", "codex"]) {
    const shim = `#!/bin/sh\nexec "${process.execPath}" "${process.argv[1]}" ${language} "$@"\n`;
    writeFileSync(join(home, language), shim, { mode: 0o755 });
  }
  return home;
}

export async function addressOf(child: ChildProcess): Promise<string> {
  if (child.stdout === null) throw new Error("The program has no output.");
  for await (const line of createInterface({ input: child.stdout })) {
    const url = /http:\/\/\S+/.exec(line)?.[0];
    if (url === undefined) continue;
    child.stdout.resume();
    return url;
  }
  throw new Error("The program ended before it listened.");
}

/** Not every program hears the first signal. */
const STOP_MS = 5_000;

export async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  const ended = once(child, "exit");
  child.kill("SIGTERM");
  const late = setTimeout(() => child.kill("SIGKILL"), STOP_MS);
  await ended;
  clearTimeout(late);
}

/** Seconds of processor time so far, of all its threads; null where the system does not tell. */
export function cpuSeconds(pid: number): number | null {
  try {
    const tasks = readdirSync(`/proc/${pid}/task`);
    const times = tasks.map((task) =>
      Number(readFileSync(`/proc/${pid}/task/${task}/schedstat`, "utf8").split(" ")[0]),
    );
    return times.reduce((sum, nanoseconds) => sum + nanoseconds, 0) / 1e9;
  } catch {
    return null;
  }
}

/** The most memory it ever had, in MiB; null where the system does not tell. */
export const peakMemory = (pid: number): number | null => statusOf(pid, /VmHWM:\s+(\d+)/);

export const memoryNow = (pid: number): number | null => statusOf(pid, /VmRSS:\s+(\d+)/);

function statusOf(pid: number, field: RegExp): number | null {
  try {
    const [, kilobytes] = field.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
    return kilobytes === undefined ? null : Number(kilobytes) / 1024;
  } catch {
    return null;
  }
}
