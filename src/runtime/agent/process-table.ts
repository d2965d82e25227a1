/**
 * Who runs on this machine: pid, parent, group, start time and the run a process belongs to. A pid alone names nobody,
 * since pids are used again; pid and start time together do.
 */
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { programPath } from "../program-path.ts";
import { RUN_VARIABLE } from "./environment.ts";

export interface ProcessInfo {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  /** Opaque: equal for the same process, different when the pid was used again. */
  readonly started: string;
  readonly zombie: boolean;
  /** The value of our variable in its environment, where it has one and we may read it. */
  readonly run: string | null;
}

export interface ProcessTable {
  /** A look around that began at `notBefore` (of `performance.now()`) or later: those who wait together share one. */
  readonly list: (notBefore: number) => readonly ProcessInfo[];
  readonly startOf: (pid: number) => string | null;
}

const PS_OUTPUT_LIMIT = 64 * 1024 * 1024;
const PS_TIMEOUT_MS = 10_000;

export const processTable: ProcessTable = process.platform === "linux" ? linuxTable() : psTable();

/** Whether the process that carried this pid then is still there. */
export function isAlive(process: { readonly pid: number; readonly started: string }, table = processTable): boolean {
  return table.startOf(process.pid) === process.started;
}

export const isDead = (process: { readonly pid: number; readonly started: string }): boolean => !isAlive(process);

/** Looked up once: it stays the same for as long as we run. */
export function ownProcess(): { readonly pid: number; readonly started: string } {
  own ??= { pid: process.pid, started: processTable.startOf(process.pid) ?? "unknown" };
  return own;
}

let own: { readonly pid: number; readonly started: string } | null = null;

function shared(scan: () => readonly ProcessInfo[]): ProcessTable["list"] {
  let last: readonly ProcessInfo[] = [];
  let at = Number.NEGATIVE_INFINITY;
  return (notBefore) => {
    if (at < notBefore) {
      at = performance.now();
      last = scan();
    }
    return last;
  };
}

function linuxTable(): ProcessTable {
  // Start times count from boot, so the boot is part of them.
  const boot = (readText("/proc/sys/kernel/random/boot_id") ?? "").slice(0, 8);
  const stat = (pid: string): Omit<ProcessInfo, "run"> | null => {
    const text = readText(`/proc/${pid}/stat`);
    if (text === null) return null;
    // The name in parentheses may itself hold spaces and parentheses.
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    const [state, parent, group] = fields;
    return {
      pid: Number(pid),
      parent: Number(parent),
      group: Number(group),
      started: `${boot}-${fields[19]}`,
      zombie: state === "Z" || state === "X",
    };
  };
  const scan = (): ProcessInfo[] => {
    const out: ProcessInfo[] = [];
    for (const name of readdirSync("/proc")) {
      if (!/^\d+$/.test(name)) continue;
      const info = stat(name);
      if (info === null) continue;
      const environment = info.zombie ? null : readText(`/proc/${name}/environ`);
      out.push({ ...info, run: environment === null ? null : runIn(environment.split("\0")) });
    }
    return out;
  };
  return {
    list: shared(scan),
    startOf(pid) {
      const info = stat(String(pid));
      return info === null || info.zombie ? null : info.started;
    },
  };
}

/** Where there is no /proc: `ps`, whose `e` shows the environment behind the command. */
export function psTable(): ProcessTable {
  const stat = (args: readonly string[]): Omit<ProcessInfo, "run">[] =>
    ps([...args, "-o", "pid=,ppid=,pgid=,stat=,lstart="]).flatMap((line) => {
      const match = /^\s*(\d+)\s+(\d+)\s+(\d+)\s+(\S+)\s+(\S.*)$/.exec(line.trimEnd());
      if (match === null) return [];
      const [, pid, parent, group, state = "", started = ""] = match;
      const zombie = state.startsWith("Z");
      return [{ pid: Number(pid), parent: Number(parent), group: Number(group), started, zombie }];
    });
  const scan = (): ProcessInfo[] => {
    const runs = new Map<number, string | null>();
    for (const line of ps(["axeww", "-o", "pid=,command="])) {
      const match = /^\s*(\d+)\s(.*)$/.exec(line);
      if (match !== null) runs.set(Number(match[1]), runIn((match[2] ?? "").split(" ")));
    }
    return stat(["ax"]).map((info) => ({ ...info, run: runs.get(info.pid) ?? null }));
  };
  return {
    list: shared(scan),
    startOf(pid) {
      const [info] = stat(["-p", String(pid)]);
      return info === undefined || info.zombie ? null : info.started;
    },
  };
}

function ps(args: readonly string[]): string[] {
  const { stdout } = spawnSync("ps", args, {
    encoding: "utf8",
    maxBuffer: PS_OUTPUT_LIMIT,
    timeout: PS_TIMEOUT_MS,
    // Dates in one language, so that start times compare equal.
    env: { PATH: programPath(process.env.PATH), LC_ALL: "C", TZ: "UTC" },
  });
  return typeof stdout === "string" ? stdout.split("\n") : [];
}

function runIn(assignments: readonly string[]): string | null {
  const own = assignments.find((assignment) => assignment.startsWith(`${RUN_VARIABLE}=`));
  return own === undefined ? null : own.slice(RUN_VARIABLE.length + 1);
}

/** Processes come and go while we look, and not all of them are ours to read. */
function readText(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return null;
  }
}
