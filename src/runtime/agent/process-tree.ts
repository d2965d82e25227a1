/**
 * Ends a process tree and makes sure: the group, its descendants, and stragglers that left both but still carry our
 * variable. Interrupt, then terminate, then kill; never by name.
 */
import { setImmediate as nextTick, setTimeout as sleep } from "node:timers/promises";
import { isAlive, type ProcessInfo, processTable } from "./process-table.ts";

export interface TreeRoot {
  readonly runId: string;
  /** The process that leads the group; null when it never ran. */
  readonly leader: { readonly pid: number; readonly started: string } | null;
  /**
   * We are its parent, or were a moment ago: the group's number is still its own. Of an earlier owner's process only
   * the leader's start time and the variable prove anything.
   */
  readonly ours: boolean;
  /**
   * The leader only waits for the program that it started (`StartInView`): it gets no signal while others of the tree
   * live, because its end would be taken for the program's.
   */
  readonly wrapped?: boolean;
}

export interface Rung {
  readonly signal: NodeJS.Signals;
  readonly waitMs: number;
}

/** What a person's stop does: interrupt at once, terminate at 0.5 s, kill at 1.2 s. */
export const STOP_LADDER: readonly Rung[] = [
  { signal: "SIGINT", waitMs: 500 },
  { signal: "SIGTERM", waitMs: 700 },
];
/** For what is left when its leader has gone by itself, and for agents nobody needs at the moment. */
export const SWEEP_LADDER: readonly Rung[] = [{ signal: "SIGTERM", waitMs: 300 }];

const POLL_MS = 20;
/** After the kill: how long until we say that something cannot be ended (a process stuck in the kernel). */
const KILL_LIMIT_MS = 5_000;

/** Resolves with the pids that could not be ended: none, unless the kernel holds them. */
export async function endTree(root: TreeRoot, ladder: readonly Rung[]): Promise<readonly number[]> {
  const known = new Map<number, string>();
  let since = performance.now();
  // All that are stopped in one tick share one look at the process table.
  await nextTick();
  for (const { signal, waitMs } of ladder) {
    if (signalAll(recipients(root, living(root, { known, since })), signal) === 0) return [];
    const deadline = performance.now() + waitMs;
    while (performance.now() < deadline) {
      since = performance.now();
      await sleep(POLL_MS);
      if (living(root, { known, since }).length === 0) return [];
    }
  }
  const deadline = performance.now() + KILL_LIMIT_MS;
  for (;;) {
    // Every time anew: a tree that forks while it is killed is looked for until nothing is found.
    const members = living(root, { known, since });
    if (members.length === 0) return [];
    if (performance.now() > deadline) return members.map((member) => member.pid);
    // A wrapper ends after its program and reaps it; killed together, the program would stay as a zombie.
    signalAll(recipients(root, members), "SIGKILL");
    since = performance.now();
    await sleep(POLL_MS);
  }
}

/** Sends a signal to the leader's process group, once. */
export function signalGroup(root: TreeRoot, signal: NodeJS.Signals): void {
  const { leader, wrapped = false } = root;
  if (leader === null) return;
  if (wrapped) {
    const members = living(root, { known: new Map(), since: performance.now() });
    signalAll(
      recipients(root, members).filter(({ group }) => group === leader.pid),
      signal,
    );
    return;
  }
  try {
    process.kill(-leader.pid, signal);
  } catch {
    // The group has gone already.
  }
}

function recipients({ leader, wrapped = false }: TreeRoot, members: readonly ProcessInfo[]): readonly ProcessInfo[] {
  const others = wrapped ? members.filter(({ pid }) => pid !== leader?.pid) : members;
  return others.length === 0 ? members : others;
}

/** What of the tree still runs. */
export const livingMembers = (root: TreeRoot): readonly number[] =>
  living(root, { known: new Map(), since: performance.now() }).map(({ pid }) => pid);

interface Look {
  /** Members seen so far: a process that lost its parent no longer shows whose it was. */
  readonly known: Map<number, string>;
  readonly since: number;
}

function living({ leader, runId, ours }: TreeRoot, { known, since }: Look): ProcessInfo[] {
  const all = processTable.list(since).filter((info) => !info.zombie && info.pid !== process.pid);
  const groupIsOurs = leader !== null && (ours || isAlive(leader));
  const members = new Map<number, ProcessInfo>();
  for (const info of all) {
    const isMember =
      info.run === runId || known.get(info.pid) === info.started || (groupIsOurs && info.group === leader?.pid);
    if (isMember) members.set(info.pid, info);
  }
  let grew = members.size > 0;
  while (grew) {
    grew = false;
    for (const info of all) {
      if (members.has(info.pid) || !members.has(info.parent)) continue;
      members.set(info.pid, info);
      grew = true;
    }
  }
  for (const info of members.values()) known.set(info.pid, info.started);
  return [...members.values()];
}

function signalAll(members: readonly ProcessInfo[], signal: NodeJS.Signals): number {
  for (const { pid, started } of members) {
    try {
      if (isAlive({ pid, started })) process.kill(pid, signal);
    } catch {
      // It went between the look and the signal.
    }
  }
  return members.length;
}
