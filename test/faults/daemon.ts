/** The daemon under test: the built program as a process of its own, with fake agents on its path. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as after } from "node:timers/promises";
import { agents } from "./plan.ts";

export interface DaemonHost {
  readonly folder: string;
  readonly data: string;
  url(): string;
  readonly isRunning: () => boolean;
  readonly start: () => Promise<void>;
  /** Resolves with the exit code when it is gone; null after a signal. Twice: a second signal while it stops. */
  readonly stop: (signal: "SIGKILL" | "SIGTERM", options?: { readonly twice: boolean }) => Promise<number | null>;
  readonly setFaults: (faults: Partial<Faults>) => void;
  /** False where this user may not mount a file system that can be filled. */
  readonly fillDisk: () => boolean;
  readonly freeDisk: () => void;
  /** The folder's file system is mounted again; only while nobody has a file of it open. False where it cannot be. */
  readonly setMountWritable: (isWritable: boolean) => boolean;
  /** Open files and memory (MiB), where the system has /proc. */
  readonly resources: () => Resources | null;
  readonly errors: () => string;
  readonly remove: () => void;
}

export interface Faults {
  readonly commitDelayMs: number;
  readonly clockOffsetMs: number;
  readonly readOnly: boolean;
}

export interface Resources {
  readonly files: number;
  readonly memory: number;
}

export interface HostOptions {
  /** The bundle that plays the fake agents: `node <bundle> agent <name>`. */
  readonly bundle: string;
  readonly project: string;
  /** bin/franca.js of another build than the project's. */
  readonly program?: string;
  /** How large the disk is that can be filled. */
  readonly diskMebibytes?: number;
  /** More for the daemon's config file. */
  readonly config?: object;
  /** A data folder to begin with. */
  readonly dataFrom?: string;
}

const START_MS = 60_000;
const STOP_MS = 20_000;
/** A person who presses twice. */
const AGAIN_MS = 30;
const DISK_MEBIBYTES = 96;
/** What fills the disk, in the data folder. */
export const BALLAST = "ballast";
const MEBIBYTE = 1024 * 1024;

export function openHost(options: HostOptions): DaemonHost {
  const {
    bundle,
    project,
    program = join(project, "bin", "franca.js"),
    dataFrom,
    diskMebibytes = DISK_MEBIBYTES,
  } = options;
  const folder = mkdtempSync(join(tmpdir(), "franca-faults-"));
  const data = join(folder, "data");
  const faultsFile = join(folder, "faults.json");
  const ballast = join(data, BALLAST);
  mkdirSync(data, { mode: 0o700 });
  for (const agent of agents) {
    const shim = `#!/bin/sh\nexec "${process.execPath}" "${bundle}" agent ${agent} "$@"\n`;
    writeFileSync(join(folder, agent), shim, { mode: 0o755 });
  }
  // The ACP agent is one of the user's own: its command is configured, and its folders are trusted.
  const config = { acpCommand: join(folder, "acp"), trustedFolders: [folder], ...options.config };
  mkdirSync(join(folder, "config", "franca"), { recursive: true });
  writeFileSync(join(folder, "config", "franca", "franca.config.json"), JSON.stringify(config));
  const size = diskMebibytes + (dataFrom === undefined ? 0 : mebibytesIn(dataFrom));
  const isMounted = mount(["-t", "tmpfs", "-o", `size=${size}m,mode=700`, "tmpfs", data]);
  if (dataFrom !== undefined) cpSync(dataFrom, data, { recursive: true });
  let faults: Faults = { commitDelayMs: 0, clockOffsetMs: 0, readOnly: false };
  let port = "0";
  let url = "";
  let child: ChildProcess | null = null;
  let errors = "";

  const isRunning = () => child !== null && child.exitCode === null && child.signalCode === null;
  const setFaults = (change: Partial<Faults>): void => {
    faults = { ...faults, ...change };
    // Whole: the daemon may be reading it because of the change before.
    writeFileSync(`${faultsFile}.next`, JSON.stringify(faults));
    renameSync(`${faultsFile}.next`, faultsFile);
    if (isRunning()) child?.kill("SIGUSR2");
  };
  setFaults({});

  const start = async (): Promise<void> => {
    const preload = join(project, "test", "faults", "preload.js");
    const args = ["--import", preload, program, "serve", "--no-token", "--port", port, "--data", data];
    const started = spawn(process.execPath, args, {
      stdio: ["ignore", "pipe", "pipe"],
      cwd: folder,
      env: {
        PATH: `${folder}:${process.env.PATH}`,
        HOME: folder,
        XDG_CONFIG_HOME: join(folder, "config"),
        FRANCA_FAULTS: faultsFile,
        FRANCA_MOCK_DELAY_MS: "0",
      },
    });
    child = started;
    started.stderr.setEncoding("utf8").on("data", (text: string) => {
      errors = (errors + text).slice(-20_000);
    });
    url = await addressOf(started, () => errors);
    port = new URL(url).port;
  };

  const stop: DaemonHost["stop"] = async (signal, { twice } = { twice: false }) => {
    if (child === null || !isRunning()) return null;
    const gone = once(child, "exit");
    child.kill(signal);
    if (twice) await after(AGAIN_MS).then(() => child?.kill(signal));
    const late = after(STOP_MS, "late", { ref: false });
    if ((await Promise.race([gone, late])) === "late") {
      child.kill("SIGKILL");
      await gone;
      throw new Error(`The daemon did not end within ${STOP_MS} ms of ${signal}.`);
    }
    return child.exitCode;
  };

  return {
    folder,
    data,
    url: () => url,
    isRunning,
    start,
    stop,
    setFaults,
    fillDisk: () => {
      if (isMounted) fill(ballast);
      return isMounted;
    },
    freeDisk: () => rmSync(ballast, { force: true }),
    setMountWritable: (isWritable) => isMounted && mount(["-o", `remount,${isWritable ? "rw" : "ro"}`, data]),
    resources: () => (child?.pid === undefined ? null : resourcesOf(child.pid)),
    errors: () => errors,
    remove: () => {
      if (isMounted) spawnSync("umount", ["-l", data], { stdio: "ignore" });
      rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
    },
  };
}

const mount = (args: readonly string[]): boolean =>
  process.getuid?.() === 0 && spawnSync("mount", args, { stdio: "ignore" }).status === 0;

const mebibytesIn = (folder: string): number =>
  Math.ceil(readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0) / MEBIBYTE);

/** Until nothing fits any more, in ever smaller pieces. */
function fill(file: string): void {
  for (const size of [MEBIBYTE, 4096]) {
    try {
      for (;;) writeFileSync(file, Buffer.alloc(size), { flag: "a" });
    } catch {
      // Full: that is what it is for.
    }
  }
}

async function addressOf(child: ChildProcess, errors: () => string): Promise<string> {
  if (child.stdout === null) throw new Error("The daemon has no output.");
  const lines = createInterface({ input: child.stdout });
  const listening = (async () => {
    for await (const line of lines) {
      const url = /http:\/\/[^\s/]+/.exec(line)?.[0];
      if (url !== undefined) return url;
    }
    if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
    throw new Error(`The daemon ended before it listened: ${errors().slice(-2_000)}`);
  })();
  const late = after(START_MS, null, { ref: false });
  const url = await Promise.race([listening, late]);
  if (url === null) throw new Error(`The daemon did not listen within ${START_MS} ms.`);
  child.stdout.resume();
  return url;
}

function resourcesOf(pid: number): Resources | null {
  try {
    const memory = Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1024;
    return { files: readdirSync(`/proc/${pid}/fd`).length, memory };
  } catch {
    return null;
  }
}
