/** Processes that other programs started, found by the folder they work in: they have no events to wait for. */
import { execFileSync } from "node:child_process";
import { readFileSync, readlinkSync } from "node:fs";
import { constants } from "node:os";

export interface Process {
  readonly pid: number;
  readonly command: string;
}

/** Processes whose working directory is the folder, or inside it. */
export function processesIn(folder: string): Process[] {
  const list = execFileSync("ps", ["-eo", "pid=,args="], { encoding: "utf8" });
  return list
    .split("\n")
    .map((line) => /^\s*(\d+)\s+(.*)$/.exec(line))
    .flatMap((match) => (match === null ? [] : [{ pid: Number(match[1]), command: match[2] ?? "" }]))
    .filter(({ pid }) => directoryOf(pid)?.startsWith(folder) === true);
}

function directoryOf(pid: number): string | null {
  try {
    if (process.platform === "linux") return readlinkSync(`/proc/${pid}/cwd`);
    const listed = execFileSync("lsof", ["-a", "-p", String(pid), "-d", "cwd", "-Fn"], { encoding: "utf8" });
    return /^n(.*)$/m.exec(listed)?.[1] ?? null;
  } catch {
    return null;
  }
}

/** The guard processes that a process has started. */
export function guardsOf(owner: number | undefined): number[] {
  return execFileSync("ps", ["-eo", "pid=,ppid=,args="], { encoding: "utf8" })
    .split("\n")
    .map((line) => /^\s*(\d+)\s+(\d+)\s.*dist\/guard\.js$/.exec(line))
    .flatMap((match) => (match !== null && Number(match[2]) === owner ? [Number(match[1])] : []));
}

/** Looks again and again, within a bound. */
export async function eventually(holds: () => boolean, { withinMs }: { withinMs: number }): Promise<void> {
  const deadline = Date.now() + withinMs;
  while (!holds()) {
    if (Date.now() > deadline) throw new Error(`Not within ${withinMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** It may be gone by now: with the first of a tree its children end by themselves. */
export function killIfAlive(pid: number, signal: NodeJS.Signals = "SIGKILL"): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ESRCH")) throw error;
  }
}

/** Whether a process handles the signal by now; where the system does not say, it is taken to. */
export function handles(pid: number, signal: NodeJS.Signals): boolean {
  if (process.platform !== "linux") return true;
  const caught = /^SigCgt:\s+([0-9a-f]+)$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? "0";
  return ((BigInt(`0x${caught}`) >> BigInt(constants.signals[signal] - 1)) & 1n) === 1n;
}
