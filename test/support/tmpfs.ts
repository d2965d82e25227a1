/** A small file system of its own, where the user may mount one: the only honest way to fill a disk. */
import { spawnSync } from "node:child_process";
import { tempFolder } from "./sessions.ts";

export interface Tmpfs {
  readonly folder: string;
  readonly unmount: () => void;
}

const mount = (args: readonly string[]): boolean => spawnSync("mount", args, { stdio: "ignore" }).status === 0;
const mounted = (folder: string): Tmpfs => ({
  folder,
  unmount: () => void spawnSync("umount", ["-l", folder], { stdio: "ignore" }),
});

/** Null where this user may not mount. */
export function mountTmpfs(size: string): Tmpfs | null {
  const folder = tempFolder();
  if (process.getuid?.() !== 0 || !mount(["-t", "tmpfs", "-o", `size=${size}`, "tmpfs", folder])) return null;
  return mounted(folder);
}

/** The same folder, seen through a mount that cannot be written. */
export function readOnlyView(folder: string): Tmpfs {
  const view = tempFolder();
  if (!mount(["--bind", folder, view]) || !mount(["-o", "remount,bind,ro", view])) {
    throw new Error(`${folder} could not be mounted read-only.`);
  }
  return mounted(view);
}
