/** Idle unloading: a session that nobody uses has its agent stopped first, and is unloaded later. */
import { noExit } from "../agent/connection/contract.ts";
import { closeSession, type OpenSession, type OpenSessions, stopAgent } from "./open-session.ts";
import { shuttingDown } from "./refusals.ts";

/** A session without an agent is unloaded after this long, or after the idle time if that is shorter. */
const UNLOAD_MS = 30_000;
/**
 * An agent inside this process is connected again within a millisecond, from what the log has. While more sessions than
 * this are open, one is unloaded after the same time: each takes 20 kB.
 */
const KEPT_SESSIONS = 50;

export function isIdle(open: OpenSession): boolean {
  if (open.users > 0 || open.writer.isBusy()) return false;
  const { turn, items, permissions, questions } = open.session.snapshot();
  if (turn !== null || permissions.size > 0 || questions.size > 0) return false;
  // Work in the background: the agent is needed, although no turn is open.
  for (const item of items.values()) if (item.status === "in_progress") return false;
  return true;
}

/** One timer per session; activity only moves the moment from which it counts. */
export function watchIdle(table: OpenSessions, open: OpenSession): void {
  const { idleMs, system } = table.runtime;
  open.idleSince = system.elapsed();
  if (open.idleTimer !== null || open.closed) return;
  const unloadMs = Math.min(UNLOAD_MS, idleMs);
  const allowed = (): number => {
    const isKept = open.link.isInProcess() ? table.sessions.size <= KEPT_SESSIONS : open.link.isOpen();
    return isKept ? idleMs : unloadMs;
  };
  const look = (): void => {
    open.idleTimer = null;
    if (open.closed) return;
    const left = isIdle(open) ? open.idleSince + allowed() - system.elapsed() : allowed();
    // How many sessions are open may change meanwhile.
    if (left > 0) open.idleTimer = system.after(Math.min(left, unloadMs), look, { background: true });
    else table.runtime.background.run("idle-sessions", () => stopOrUnload(table, open));
  };
  open.idleTimer = system.after(unloadMs, look, { background: true });
}

/** While the log cannot be written, the session stays open and is checked again later. */
async function stopOrUnload(table: OpenSessions, open: OpenSession): Promise<void> {
  if (open.closed || !isIdle(open)) return watchIdle(table, open);
  try {
    if (!open.link.isOpen()) return await unload(table, open);
    table.runtime.logger.info("agent.idle", { session: open.id });
    if (open.link.isInProcess()) return await stopAndUnload(table, open);
    // The fold gets the disconnect first, so that a prompt that arrives now waits for a new agent.
    await stopAgent(open, noExit);
  } catch (error) {
    watchIdle(table, open);
    throw error;
  }
}

/** At once: another host may take it then. */
export async function stopAndUnload(table: OpenSessions, open: OpenSession): Promise<void> {
  if (open.link.isOpen()) await stopAgent(open, noExit);
  await open.writer.flushed();
  if (!open.closed && isIdle(open)) await unload(table, open);
}

export async function unload({ runtime, sessions }: OpenSessions, open: OpenSession): Promise<void> {
  closeSession(open, runtime.closed ? shuttingDown() : undefined);
  sessions.delete(open.id);
  runtime.unreleased.add(open.id);
  await runtime.log.release(open.id, runtime.owner);
  runtime.unreleased.delete(open.id);
}

/** Releases the sessions that could not be released when they were unloaded, unless they were opened again. */
export async function releaseUnloaded({ runtime, sessions }: OpenSessions): Promise<void> {
  const { log, owner, unreleased } = runtime;
  for (const id of [...unreleased]) {
    if (!sessions.has(id)) await log.release(id, owner);
    unreleased.delete(id);
  }
}
