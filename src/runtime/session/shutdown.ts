/** Stops all open sessions when the runtime closes: agents stopped, writes finished. Queued prompts stay stored. */
import { noExit } from "../agent/connection/contract.ts";
import { type OpenSession, type OpenSessions, stopAgent } from "./open-session.ts";
import { unload } from "./unload.ts";

const STOP_MS = 10_000;

export async function stopAll(table: OpenSessions): Promise<void> {
  const all = await Promise.allSettled(table.sessions.values());
  const sessions = all.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
  await Promise.all(sessions.map((open) => within(STOP_MS, stopSession(table, open))));
}

async function stopSession(table: OpenSessions, open: OpenSession): Promise<void> {
  // With prompts in the queue the turn's end would start the next one: recovery ends the turn at the next start.
  const waiting = open.session.snapshot().queue.length > 0;
  await open.shell?.stop({ silently: waiting });
  await (waiting || !open.link.isOpen() ? open.link.stopSilently() : stopAgent(open, noExit));
  await open.writer.flushed();
  await unload(table, open);
}

async function within(ms: number, work: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  // A session that could not be stored keeps its owner, which is dead then: the next start recovers it.
  await Promise.race([work.catch(() => {}), limit]);
  clearTimeout(timer);
}
