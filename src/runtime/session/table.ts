/** Which sessions are driven here: taken when somebody needs them, taken up after a crash, let go when quiet. */
import type { Exit } from "../../core/agent-io.ts";
import type { Snapshot } from "../../core/snapshot.ts";
import { ApiError, hasCode } from "../../protocol/errors.ts";
import type { SessionId } from "../../protocol/ids.ts";
import { noExit } from "../agent/connection/contract.ts";
import { isDead } from "../agent/process-table.ts";
import { reapRuns } from "../agent/reap.ts";
import { isSame } from "../log/sqlite-records.ts";
import type { Runtime } from "../runtime.ts";
import { loadSnapshot } from "./checkpoint.ts";
import { cut, isQuiet, type Live, openLive, watchQuiet } from "./live.ts";

export interface TakeOptions {
  /** Prompts that are stored and were never begun run now. */
  readonly runQueue: boolean;
  /** How its last agent was lost, where that is not simply the death of its owner. */
  readonly lost?: Exit;
}

/** Works with a session that is driven here; it is taken first if need be. */
export async function withLive<T>(runtime: Runtime, id: SessionId, work: (live: Live) => Promise<T>): Promise<T> {
  const live = await take(runtime, id, { runQueue: true });
  live.pins += 1;
  try {
    return await work(live);
  } finally {
    live.pins -= 1;
    watchQuiet(runtime, { live, onQuiet: (quiet) => void retire(runtime, quiet) });
  }
}

export function take(runtime: Runtime, id: SessionId, options: TakeOptions): Promise<Live> {
  const known = runtime.live.get(id);
  if (known !== undefined) return known;
  if (runtime.closed) return Promise.reject(new ApiError("internal", "Franca is shutting down."));
  const taking = load(runtime, id, options);
  runtime.live.set(id, taking);
  // A session that could not be taken may be asked for again.
  taking.catch(() => forget(runtime, { id, entry: taking }));
  return taking;
}

function forget(runtime: Runtime, { id, entry }: { id: SessionId; entry: Promise<Live> | undefined }): void {
  if (runtime.live.get(id) === entry) runtime.live.delete(id);
}

async function load(runtime: Runtime, id: SessionId, { runQueue, lost }: TakeOptions): Promise<Live> {
  const { log, owner } = runtime;
  const record = await log.find(id);
  if (record === null) throw new ApiError("session_not_found", `There is no session ${id}.`);
  const { settings } = record;
  const adapter = runtime.adapters.get(settings.create.agent);
  if (adapter === undefined) {
    throw new ApiError("unsupported_agent", `Session ${id} is of the agent ${settings.create.agent}, unknown here.`);
  }
  const holder = await log.claim(id, owner, isDead);
  if (!isSame(holder, owner)) {
    throw new ApiError("session_owned", `Session ${id} is being driven by process ${holder.pid}: ask there.`);
  }
  if (record.owner !== null && !isSame(record.owner, owner)) await reapRuns(runtime);
  const snapshot = await loadSnapshot(log, id);
  const nativeLines = await log.lastNativeLine(id);
  const live = openLive(runtime, {
    id,
    adapter,
    settings,
    snapshot,
    nativeLines,
    onQuiet: (quiet) => void retire(runtime, quiet),
    onBroken: (broken, error) => void mend(runtime, { live: broken, error }),
  });
  // Prompts that wait join the queue of the turn that was cut; its end then runs them in order.
  const queued = runQueue && !snapshot.ended ? await log.queuedPrompts(id) : [];
  const at = Date.now();
  const feedQueue = (): void => {
    for (const { prompt, delivery } of queued) {
      live.drive.feed({ type: "command", command: { type: "prompt", prompt, delivery }, at });
    }
  };
  if (snapshot.turn !== null) feedQueue();
  try {
    if (lost !== undefined) await live.drive.put({ type: "disconnected", exit: lost, at });
    else if (isUnfinished(snapshot)) await live.drive.put({ type: "restarted", at });
  } catch (error) {
    shut(live);
    throw error;
  }
  if (snapshot.turn === null) feedQueue();
  watchQuiet(runtime, { live, onQuiet: (quiet) => void retire(runtime, quiet) });
  return live;
}

function isUnfinished({ turn, items, permissions, questions, queue }: Snapshot): boolean {
  if (turn !== null || permissions.size > 0 || questions.size > 0 || queue.length > 0) return true;
  for (const item of items.values()) if (item.status === "in_progress") return true;
  return false;
}

/** Nobody needs the session now: its agent is stopped, then the session is let go. */
async function retire(runtime: Runtime, live: Live): Promise<void> {
  if (live.closed || !isQuiet(live)) return watchQuiet(runtime, { live, onQuiet: (one) => void retire(runtime, one) });
  if (live.link.isOpen()) {
    runtime.logger.info("agent.idle", { session: live.id });
    // The machine hears of it first: a prompt that comes now waits for a fresh agent.
    await cut(live, noExit);
    return;
  }
  await letGo(runtime, live);
}

export async function letGo(runtime: Runtime, live: Live): Promise<void> {
  shut(live);
  runtime.live.delete(live.id);
  await runtime.log.release(live.id, runtime.owner);
}

export function shut(live: Live, why?: unknown): void {
  live.closed = true;
  live.drive.close(why);
  for (const answer of live.asks.values()) answer({ status: 0, body: { message: "The session was let go." } });
  if (live.quietTimer !== null) clearTimeout(live.quietTimer);
}

/** Opens a session again from the log, for example with the adapter of another agent. Commands wait for it. */
export async function reopen(runtime: Runtime, live: Live): Promise<void> {
  const { id } = live;
  shut(live);
  const reopened = load(runtime, id, { runQueue: true });
  runtime.live.set(id, reopened);
  reopened.catch(() => forget(runtime, { id, entry: reopened }));
  await reopened;
}

/** The session is gone, with everything about it. */
export async function discard(runtime: Runtime, { id }: Pick<Live, "id">): Promise<void> {
  const live = await runtime.live.get(id)?.catch(() => undefined);
  if (live !== undefined) shut(live);
  runtime.live.delete(id);
  await live?.link.end({ unheard: true });
  await runtime.log.delete(id);
  runtime.tail.remove(id);
  await runtime.options.onDeleted?.(id);
}

/** Our own mistake broke the fold, or somebody else has written: what is stored is the truth, and we go on from it. */
async function mend(runtime: Runtime, { live, error }: { live: Live; error: unknown }): Promise<void> {
  const { id } = live;
  runtime.logger.error("session.broken", { session: id, error });
  shut(live, error);
  const message = `Something went wrong inside Franca: ${error instanceof Error ? error.message : String(error)}`;
  const isTaken = hasCode(error, "session_owned");
  const reopened = live.link.end({ unheard: true }).then(() => {
    if (isTaken) throw error;
    return load(runtime, id, { runQueue: false, lost: { ...noExit, message, error_code: "internal" } });
  });
  runtime.live.set(id, reopened);
  await reopened.catch(() => forget(runtime, { id, entry: reopened }));
}

/** For a session that was taken only to be put in order. */
export async function putInOrder(runtime: Runtime, id: SessionId): Promise<void> {
  const live = await take(runtime, id, { runQueue: false });
  await live.drive.settled();
  if (isQuiet(live)) await letGo(runtime, live);
}

const CLOSE_MS = 10_000;

/** All that is driven here is brought to an end: agents stopped, writes finished. Prompts that wait stay stored. */
export async function closeAll(runtime: Runtime): Promise<void> {
  const all = await Promise.allSettled(runtime.live.values());
  const lives = all.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
  await Promise.all(lives.map((live) => within(CLOSE_MS, closeLive(runtime, live))));
}

async function closeLive(runtime: Runtime, live: Live): Promise<void> {
  // With prompts waiting the turn's end would begin the next one: it is left to the next start to end it.
  const waiting = live.session.snapshot().queue.length > 0;
  await (waiting || !live.link.isOpen() ? live.link.end({ unheard: true }) : cut(live, noExit));
  await live.drive.settled();
  await letGo(runtime, live);
}

async function within(ms: number, work: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  // What could not be stored is not lost silently: the session keeps its dead owner, and the next start ends its turn.
  await Promise.race([work.catch(() => {}), limit]);
  clearTimeout(timer);
}
