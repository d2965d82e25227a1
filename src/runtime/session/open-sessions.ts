/** The table of open sessions: a session is opened from the log when it is needed, and reopened when it breaks. */
import type { Exit } from "../../core/agent-io.ts";
import type { Snapshot } from "../../core/snapshot.ts";
import { ApiError, hasCode } from "../../protocol/errors.ts";
import type { SessionId } from "../../protocol/ids.ts";
import { noExit } from "../agent/connection/contract.ts";
import { loadSnapshot } from "../log/checkpoints.ts";
import type { PromptRefusal, StoredPrompt } from "../log/contract.ts";
import { buildOpenSession } from "./build-session.ts";
import { closeSession, type OpenSession, type OpenSessions, stopAgent } from "./open-session.ts";
import { isDeadOwner, isOwn, OwnedElsewhere, ownedBy } from "./owner.ts";
import { stopOrphanedRuns } from "./process-runs.ts";
import { enforceQuota } from "./quota.ts";
import { refuseDamaged, shuttingDown } from "./refusals.ts";
import { watchIdle } from "./unload.ts";
import type { Writer } from "./writer.ts";

export interface OpenOptions {
  /** Stored prompts that never started run now. */
  readonly runQueue: boolean;
  /** How its last agent was lost, where the reason is not the death of its owner. */
  readonly lost?: Exit;
}

/** Runs `work` with an open session, which is not unloaded meanwhile. A damaged one is refused. */
export const withSession = <T>(
  table: OpenSessions,
  id: SessionId,
  work: (open: OpenSession) => Promise<T>,
): Promise<T> =>
  withAnySession(table, id, async (open) => {
    refuseDamaged(open);
    return work(open);
  });

/** The same for a session that may be damaged. */
export async function withAnySession<T>(
  table: OpenSessions,
  id: SessionId,
  work: (open: OpenSession) => Promise<T>,
): Promise<T> {
  const open = await openStored(table, id, { runQueue: true });
  open.users += 1;
  try {
    return await work(open);
  } finally {
    open.users -= 1;
    watchIdle(table, open);
  }
}

export function openStored(table: OpenSessions, id: SessionId, options: OpenOptions): Promise<OpenSession> {
  const known = table.sessions.get(id);
  if (known !== undefined) return known;
  if (table.runtime.closed) return Promise.reject(shuttingDown());
  const opening = load(table, id, options);
  table.sessions.set(id, opening);
  // After a failure the next call tries again.
  opening.catch(() => deleteEntry(table, { id, entry: opening }));
  return opening;
}

function deleteEntry({ sessions }: OpenSessions, { id, entry }: { id: SessionId; entry: Promise<OpenSession> }): void {
  if (sessions.get(id) === entry) sessions.delete(id);
}

async function load(table: OpenSessions, id: SessionId, { runQueue, lost }: OpenOptions): Promise<OpenSession> {
  const { runtime } = table;
  const { log, owner } = runtime;
  const record = await log.find(id);
  if (record === null) throw new ApiError("session_not_found", `There is no session ${id}.`);
  const { settings } = record;
  const adapter = runtime.adapters.get(settings.create.agent);
  if (adapter === undefined) {
    throw new ApiError("unsupported_agent", `Session ${id} is of the agent ${settings.create.agent}, unknown here.`);
  }
  const holder = await log.claim(id, owner, isDeadOwner);
  if (!isOwn(holder, owner)) throw ownedBy(id, holder);
  if (record.owner !== null && !isOwn(record.owner, owner)) await stopOrphanedRuns(runtime);
  const snapshot = await loadSnapshot(log, id);
  const nativeLines = await log.lastNativeLine(id);
  const open = buildOpenSession(runtime, {
    id,
    adapter,
    settings,
    snapshot,
    nativeLines,
    onStored: (stored) => {
      enforceQuota(runtime, stored);
      watchIdle(table, stored);
      runtime.spending.changed(table.sessions);
      if (stored.session.snapshot().turn === null) runtime.delegateWork.end(stored.id);
    },
    onBroken: (broken, error) => void recoverBroken(table, { open: broken, error }),
  });
  // Stored prompts join the queue of the interrupted turn; its end then runs them in order.
  const mayRun = runQueue && !snapshot.ended && settings.damaged !== true;
  const queued = mayRun ? await log.queuedPrompts(id) : [];
  const feedQueue = (): void => {
    for (const stored of queued) open.writer.feed(inputOf(stored));
  };
  if (queued.length > 0) await runtime.spending.inform(open);
  // Asked once: the snapshot goes on with the session, and a turn that was open may have ended when we come to the end.
  const wasOpen = snapshot.turn !== null;
  if (wasOpen) feedQueue();
  try {
    if (lost !== undefined) await open.writer.submit({ type: "disconnected", exit: lost });
    else if (isUnfinished(snapshot)) await open.writer.submit({ type: "restarted" });
  } catch (error) {
    closeSession(open);
    throw error;
  }
  const { cluster } = log;
  if (cluster !== null && record.home !== cluster.self) {
    open.writer.feed({ type: "placed", placement: await cluster.placement(id) });
  }
  if (!wasOpen) feedQueue();
  watchIdle(table, open);
  return open;
}

/** A stored prompt for the turn machine; one that must not run becomes an error. */
function inputOf({ prompt, delivery, refusal }: StoredPrompt): Parameters<Writer["feed"]>[0] {
  if (refusal === undefined) return { type: "command", command: { type: "prompt", prompt, delivery } };
  const { prompt_id: refused_prompt } = prompt;
  return { type: "notice", ...REFUSED[refusal], details: { prompt_id: refused_prompt }, refused_prompt };
}

const REFUSED: Readonly<Record<PromptRefusal, { readonly message: string; readonly code: string }>> = {
  damaged: {
    message: "A prompt that was waiting is damaged and does not run. Send it again.",
    code: "prompt_damaged",
  },
  may_have_run: {
    message:
      "A prompt that was waiting may have run already, since the log was damaged: it does not run again. Send it again " +
      "if its result is missing.",
    code: "prompt_interrupted",
  },
};

function isUnfinished({ turn, items, permissions, questions, queue }: Snapshot): boolean {
  if (turn !== null || permissions.size > 0 || questions.size > 0 || queue.length > 0) return true;
  for (const item of items.values()) if (item.status === "in_progress") return true;
  return false;
}

/** Opens a session again from the log, for example with the adapter of another agent. Commands wait for it. */
export async function reopen(table: OpenSessions, open: OpenSession): Promise<void> {
  const { id } = open;
  closeSession(open);
  const reopened = load(table, id, { runQueue: true });
  table.sessions.set(id, reopened);
  reopened.catch(() => deleteEntry(table, { id, entry: reopened }));
  await reopened;
}

/** Runs `work` while nobody has the session open in this process, then opens it again. Commands wait for it. */
export async function whileClosed(table: OpenSessions, open: OpenSession, work: () => Promise<void>): Promise<void> {
  const { id } = open;
  if (open.link.isOpen()) await stopAgent(open, noExit);
  closeSession(open);
  const reopened = work().then(() => load(table, id, { runQueue: true }));
  table.sessions.set(id, reopened);
  reopened.catch(() => deleteEntry(table, { id, entry: reopened }));
  await reopened;
}

/**
 * Closes the session at once, and `work` makes it another host's. Commands that come meanwhile wait for that, and then
 * go where the session went.
 */
export async function giveAway(table: OpenSessions, open: OpenSession, work: () => Promise<void>): Promise<void> {
  const { id } = open;
  closeSession(open);
  const given = open.link
    .stopSilently()
    .then(work)
    .then(() => load(table, id, { runQueue: true }));
  table.sessions.set(id, given);
  await given.catch((error: unknown) => {
    deleteEntry(table, { id, entry: given });
    if (!(error instanceof OwnedElsewhere)) throw error;
  });
}

/** A bug of ours broke the fold, or another process has written: the session is reopened from what is stored. */
async function recoverBroken(
  table: OpenSessions,
  { open, error }: { open: OpenSession; error: unknown },
): Promise<void> {
  const { id } = open;
  table.runtime.logger.error("session.broken", { session: id, error });
  closeSession(open, error);
  const message = `Something went wrong inside Franca: ${error instanceof Error ? error.message : String(error)}`;
  const isTaken = hasCode(error, "session_owned");
  const reopened = open.link.stopSilently().then(() => {
    if (isTaken) throw error;
    return load(table, id, { runQueue: false, lost: { ...noExit, message, error_code: "internal" } });
  });
  table.sessions.set(id, reopened);
  await reopened.catch(() => deleteEntry(table, { id, entry: reopened }));
}
