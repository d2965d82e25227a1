/** Every TCP port on which a process or one of its descendants listens, read from /proc. Linux only. */
import { readdirSync, readFileSync, readlinkSync } from "node:fs";

export interface Listener {
  readonly pid: number;
  readonly port: number;
}

const LISTENING = "0A";

export function listenersOf(root: number): Listener[] {
  const ports = listeningPorts();
  return familyOf(root).flatMap((pid) =>
    socketsOf(pid).flatMap((inode) => {
      const port = ports.get(inode);
      return port === undefined ? [] : [{ pid, port }];
    }),
  );
}

function listeningPorts(): Map<string, number> {
  const lines = ["/proc/net/tcp", "/proc/net/tcp6"].flatMap((file) => (readOrNull(file) ?? "").trim().split("\n"));
  const ports = new Map<string, number>();
  for (const line of lines) {
    const fields = line.trim().split(/\s+/);
    const [local = "", state, inode = ""] = [fields[1], fields[3], fields[9]];
    if (state === LISTENING) ports.set(inode, Number.parseInt(local.split(":")[1] ?? "", 16));
  }
  return ports;
}

export function familyOf(root: number): number[] {
  const children = new Map<number, number[]>();
  for (const name of readdirSync("/proc").filter((entry) => /^\d+$/.test(entry))) {
    // The command in parentheses may contain anything; the parent is the second field after it.
    const parent = Number(readOrNull(`/proc/${name}/stat`)?.split(") ").at(-1)?.split(" ")[1]);
    children.set(parent, [...(children.get(parent) ?? []), Number(name)]);
  }
  const found = [root];
  for (const pid of found) found.push(...(children.get(pid) ?? []));
  return found;
}

function socketsOf(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/fd`).flatMap((name) => {
      const inode = /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/${pid}/fd/${name}`))?.[1];
      return inode === undefined ? [] : [inode];
    });
  } catch {
    // It ended, or closed a file, while we looked.
    return [];
  }
}

function readOrNull(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return null;
  }
}
