/**
 * The programs that start another program in a view of the file system with parts hidden: bubblewrap on Linux,
 * sandbox-exec on macOS. Each is tested once by running it.
 */
import { execFile } from "node:child_process";
import { accessSync, constants, existsSync } from "node:fs";
import { join } from "node:path";
import type { ProgramStart } from "../../core/in-process.ts";
import { packageFolder } from "../package-folder.ts";
import { programFolders } from "../program-path.ts";

const PROBE_MS = 10_000;
const REASON_LENGTH = 200;

/** Paths without links. */
export interface HiddenPlaces {
  readonly hiddenFolder: string;
  readonly hiddenFiles: readonly string[];
  /** Parts of the hidden folder that can be read. */
  readonly readable: readonly string[];
}

export interface ViewProgram {
  /** Whether programs in the view can start sandboxes of their own. */
  readonly nests: boolean;
  /** Whether it stays running as the parent of the program instead of replacing itself with it. */
  readonly wraps: boolean;
  readonly commandLine: (places: HiddenPlaces, program: Pick<ProgramStart, "command" | "args">) => CommandLine;
}

interface CommandLine {
  readonly command: string;
  readonly args: readonly string[];
}

type Found = { readonly program: ViewProgram } | { readonly reason: string };

let found: Promise<Found> | null = null;

/** The program of this system, or the reason why there is none. */
export function findViewProgram(): Promise<Found> {
  found ??= find();
  return found;
}

async function find(): Promise<Found> {
  if (process.platform === "linux") {
    const path = programIn(process.env.PATH, "bwrap");
    if (path === null) return { reason: "bubblewrap is not installed (install the package bubblewrap)." };
    return tried(bubblewrap(path, { asRoot: process.getuid?.() === 0 }), "bubblewrap does not work here");
  }
  if (process.platform === "darwin") {
    const path = programIn(process.env.PATH, "sandbox-exec");
    if (path === null) return { reason: "sandbox-exec is not installed." };
    return tried(sandboxExec(path), "sandbox-exec does not work here");
  }
  return { reason: "There is no program for it on this system." };
}

export const programIn = (path: string | undefined, name: string): string | null =>
  programFolders(path)
    .map((folder) => join(folder, name))
    .find(isExecutable) ?? null;

export function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Hides a folder that is there, and looks for a file in it: user namespaces may be forbidden. */
async function tried(program: ViewProgram, failure: string): Promise<Found> {
  const hiddenFolder = packageFolder();
  const { command, args } = program.commandLine(
    { hiddenFolder, hiddenFiles: [], readable: [] },
    { command: "/bin/sh", args: ["-c", 'test ! -e "$0/package.json"', hiddenFolder] },
  );
  return new Promise((resolve) => {
    execFile(command, args, { cwd: "/", timeout: PROBE_MS }, (error, _stdout, stderr) => {
      const [line = ""] = stderr.trim().split("\n");
      const why = line === "" ? (error?.message ?? "") : line;
      resolve(error === null ? { program } : { reason: `${failure}: ${why.slice(0, REASON_LENGTH)}.` });
    });
  });
}

/**
 * Capabilities that a view of the superuser keeps: the usual ones of containers. With the others a program could
 * unmount the view, or read the memory and the files of the daemon.
 */
const KEPT_CAPABILITIES = [
  "CHOWN",
  "DAC_OVERRIDE",
  "FOWNER",
  "FSETID",
  "KILL",
  "SETGID",
  "SETUID",
  "SETPCAP",
  "NET_BIND_SERVICE",
  "NET_RAW",
  "SYS_CHROOT",
  "AUDIT_WRITE",
  "SETFCAP",
] as const;

/**
 * Process ids, network and terminals stay those of the system. For an ordinary user, bubblewrap makes a user namespace:
 * from there the kernel allows no access to the daemon by way of `/proc/<pid>` or ptrace.
 */
export function bubblewrap(path: string, { asRoot }: { readonly asRoot: boolean }): ViewProgram {
  const capabilities = KEPT_CAPABILITIES.flatMap((name) => ["--cap-add", `CAP_${name}`]);
  return {
    nests: true,
    wraps: true,
    commandLine: ({ hiddenFolder, hiddenFiles, readable }, { command, args }) => ({
      command: path,
      args: [
        ...["--dev-bind", "/", "/"],
        // bubblewrap would create a folder that does not exist.
        ...(existsSync(hiddenFolder) ? ["--tmpfs", hiddenFolder] : []),
        ...readable.flatMap((folder) => ["--ro-bind-try", folder, folder]),
        ...(existsSync(hiddenFolder) ? ["--remount-ro", hiddenFolder] : []),
        ...hiddenFiles.filter(existsSync).flatMap((file) => ["--ro-bind", "/dev/null", file]),
        ...(asRoot ? ["--cap-drop", "ALL", ...capabilities] : []),
        ...["--", command, ...args],
      ],
    }),
  };
}

/** The last rule that matches counts. */
export function sandboxExec(path: string): ViewProgram {
  const subpath = (folder: string): string => `(subpath ${JSON.stringify(folder)})`;
  return {
    nests: false,
    wraps: false,
    commandLine({ hiddenFolder, hiddenFiles, readable }, { command, args }) {
      const profile = [
        "(version 1)",
        "(allow default)",
        `(deny file-read* file-write* ${subpath(hiddenFolder)})`,
        // Programs look at every folder on the way to a file.
        `(allow file-read-metadata (literal ${JSON.stringify(hiddenFolder)}))`,
        ...readable.map((folder) => `(allow file-read* ${subpath(folder)})`),
        ...hiddenFiles.map((file) => `(deny file-read* file-write* (literal ${JSON.stringify(file)}))`),
      ];
      return { command: path, args: ["-p", profile.join("\n"), command, ...args] };
    },
  };
}
