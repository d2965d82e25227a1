/** Stops all open sessions when the runtime closes: agents stopped, writes finished. Queued prompts stay stored. */
import { ApiError } from "../../protocol/errors.ts";
import { noExit } from "../agent/connection/contract.ts";
import type { Timer } from "../system.ts";
import { closeSession, type OpenSession, type OpenSessions, stopAgent } from "./open-session.ts";
import { shuttingDown } from "./refusals.ts";
import type { Runtime } from "./runtime.ts";
import { unload } from "./unload.ts";

const STOP_MS = 10_000;

export async function stopAll(table: OpenSessions): Promise<void> {
  const sessions = await openedOf(table);
  await Promise.all(sessions.map((open) => within(table.runtime, stopSession(table, open))));
  // One that could not be stored would try again for ever, and keep the process.
  for (const open of sessions) if (!open.closed) closeSession(open, shuttingDown());
}

/** This process may not write any more: nothing more is stored, and agents are stopped at once. */
export async function giveUpAll(table: OpenSessions): Promise<void> {
  const why = new ApiError("session_owned", "This host has lost its right to write: ask again in a moment.");
  const entries = [...table.sessions.values()];
  table.sessions.clear();
  // One that is still being opened waits for the database; the others do not wait for it.
  const stopped = entries.map(async (entry) => {
    const open = await entry;
    closeSession(open, why);
    await open.link.stopSilently();
  });
  await Promise.all(stopped.map((one) => within(table.runtime, one)));
}

async function openedOf({ sessions }: OpenSessions): Promise<OpenSession[]> {
  const all = await Promise.allSettled(sessions.values());
  return all.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
}

async function stopSession(table: OpenSessions, open: OpenSession): Promise<void> {
  // With prompts in the queue the turn's end would start the next one: recovery ends the turn at the next start.
  const hasQueue = (): boolean => open.session.snapshot().queue.length > 0;
  const waiting = hasQueue();
  await open.shell?.stop({ silently: waiting });
  await (waiting || !open.link.isOpen() ? open.link.stopSilently() : stopAgent(open, noExit));
  await open.writer.flushed();
  // A prompt that began meanwhile has no agent, and no next start would look for its turn.
  while (open.session.snapshot().turn !== null && !hasQueue()) {
    await open.writer.submit({ type: "disconnected", exit: noExit });
  }
  await unload(table, open);
}

async function within({ system }: Runtime, work: Promise<void>): Promise<void> {
  let timer: Timer | undefined;
  const limit = new Promise<void>((resolve) => {
    timer = system.after(STOP_MS, resolve);
  });
  // A session that could not be stored keeps its owner, which is dead then: the next start recovers it.
  await Promise.race([work.catch(() => {}), limit]);
  timer?.cancel();
}
