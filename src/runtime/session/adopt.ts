/**
 * Adopts a conversation out of its agent's files: its turns are imported, once each, and the next prompt resumes it in
 * its agent. What a person allowed in it then is not allowed now: the mode is `default`, and trust is the folder's.
 */
import { randomUUID } from "node:crypto";
import { isAbsolute } from "node:path";
import type { AgentFiles } from "../../adapters/session-files.ts";
import { defined } from "../../core/defined.ts";
import {
  type Conversation,
  type FileTurn,
  type FoundConversation,
  SessionFileError,
} from "../../core/session-files.ts";
import { emptySnapshot } from "../../core/snapshot.ts";
import { isTime, timeText } from "../../core/time-text.ts";
import type { Adoption } from "../../protocol/adoption.ts";
import { ApiError } from "../../protocol/errors.ts";
import { type SessionId, sessionId } from "../../protocol/ids.ts";
import { loadSnapshot } from "../log/checkpoints.ts";
import type { ImportedTurns, SessionRecord, SessionSettings } from "../log/contract.ts";
import { openAgentFolder } from "../session-files/folder.ts";
import { folderOf } from "../session-files/places.ts";
import { cleanTitle } from "./adopted-title.ts";
import type { AdoptOptions } from "./contract.ts";
import { forkSession } from "./create.ts";
import { deleteStored } from "./delete.ts";
import { chosen, conversationsOf } from "./discover.ts";
import { importTurns } from "./import-turns.ts";
import { newTurns } from "./new-turns.ts";
import type { OpenSession, OpenSessions } from "./open-session.ts";
import { openStored, whileClosed, withSession } from "./open-sessions.ts";
import { overQuota } from "./quota.ts";
import { refuseDamaged } from "./refusals.ts";
import { summarise } from "./summary.ts";

/** A file that changed this recently may have a turn that still runs. */
const FRESH_MS = 120_000;

export async function adopt(table: OpenSessions, asked: AdoptOptions): Promise<Adoption> {
  const message = overQuota(table.runtime);
  if (message !== null) throw new ApiError("storage_error", message);
  const adoption = await adoptOnce(table, asked);
  if (!asked.fork) return adoption;
  const into = sessionId(randomUUID());
  await withSession(table, sessionId(adoption.sessionId), (open) => forkSession(table, open, { into }));
  return { ...adoption, sessionId: into, outcome: "adopted" };
}

async function adoptOnce(table: OpenSessions, { agent, nativeSessionId }: AdoptOptions): Promise<Adoption> {
  const [source] = chosen(agent);
  if (source === undefined) throw new ApiError("unsupported_agent", `No session files of ${agent} are known.`);
  const id = sessionId(`${agent}-${nativeSessionId}`);
  const record = await table.runtime.log.find(id);
  const other = record === null ? await sessionOf(table, { agent, nativeSessionId }) : null;
  if (other !== null) return { ...nothing(other), outcome: "known" };
  if (record !== null) refuseDamaged(record);
  const found = await find(source, nativeSessionId);
  const { conversation, isFresh } = read(source, found);
  const reading: Reading = { source, conversation, isFresh };
  if (record !== null && record.settings.imported?.complete === true) return update(table, { record, ...reading });
  // An import that a crash cut is done again from the start.
  if (record !== null) await deleteStored(table, id);
  return create(table, { id, ...reading });
}

const nothing = (id: SessionId): Omit<Adoption, "outcome"> => ({
  sessionId: id,
  turns: 0,
  abandoned: 0,
  open: false,
  notes: [],
});

/** A session that was not adopted: Franca has begun the conversation itself. */
async function sessionOf(
  { runtime }: OpenSessions,
  { agent, nativeSessionId }: Pick<AdoptOptions, "agent" | "nativeSessionId">,
): Promise<SessionId | null> {
  const { records } = await runtime.log.list({ before: null, limit: 100, agent, q: nativeSessionId });
  return records.find(({ summary }) => summary.nativeSessionId === nativeSessionId)?.id ?? null;
}

async function find(source: AgentFiles, nativeId: string): Promise<FoundConversation> {
  for await (const found of conversationsOf(source)) {
    if (!("problem" in found) && found.nativeId === nativeId) return found;
  }
  const { name } = source.adapter;
  throw new ApiError("conversation_not_found", `There is no conversation ${nativeId} in the files of ${name}.`);
}

interface Reading {
  readonly source: AgentFiles;
  readonly conversation: Conversation;
  /** Somebody may be working on it. */
  readonly isFresh: boolean;
}

function read({ files, adapter }: AgentFiles, found: FoundConversation): Omit<Reading, "source"> {
  const path = folderOf(files, process.env);
  const folder = path === null ? null : openAgentFolder(path);
  if (folder === null) throw new ApiError("conversation_unreadable", `The files of ${adapter.name} cannot be read.`);
  try {
    const conversation = files.read(folder, found);
    if (conversation.directory === null || !isAbsolute(conversation.directory)) {
      throw new SessionFileError(`Conversation ${found.nativeId} does not say in which folder it worked.`);
    }
    const inUse = files.userOf?.(folder, found.nativeId) != null;
    return { conversation, isFresh: inUse || Date.now() - found.updatedAt < FRESH_MS };
  } catch (error) {
    if (!(error instanceof SessionFileError)) throw error;
    throw new ApiError("conversation_unreadable", error.message, { cause: error });
  } finally {
    folder.close();
  }
}

/** A turn that has no end yet is left to the next time, unless nobody can be working on it. */
function importable({ conversation: { turns }, isFresh }: Reading): { turns: readonly FileTurn[]; open: boolean } {
  const open = isFresh && turns.at(-1)?.ended === false;
  return { turns: open ? turns.slice(0, -1) : turns, open };
}

async function create(table: OpenSessions, { id, ...reading }: Reading & { id: SessionId }): Promise<Adoption> {
  const { source, conversation } = reading;
  const { runtime } = table;
  const { turns, open } = importable(reading);
  const { nativeId, directory, model } = conversation;
  const title = cleanTitle(conversation.title);
  const imported: ImportedTurns = { from: source.files.form, complete: false, turns: {} };
  const settings: SessionSettings = {
    create: {
      agent: source.adapter.agent,
      nativeSessionId: nativeId,
      permissionMode: "default",
      ...defined({ directory: directory ?? undefined, title: title ?? undefined }),
    },
    forkOf: null,
    imported,
  };
  const at = turns.flatMap(({ entries }) => entries).find((entry) => isTime(entry.at))?.at ?? Date.now();
  const now = timeText(at);
  const snapshot = { ...emptySnapshot(), createdAt: now, time: now };
  await runtime.log.create({ id, settings, summary: summarise({ id, settings, snapshot }) }, runtime.owner);
  const metadata = {
    agent: source.adapter.agent,
    agent_version: null,
    model,
    directory,
    permission_mode: "default",
    tools: [],
    imported: { from: source.files.form, file_id: nativeId },
  };
  try {
    const opened = { type: "opened" as const, metadata, at, ...defined({ title: title ?? undefined }) };
    const records = turns.flatMap(({ entries }) => entries);
    await importTurns(runtime, { id, adapter: source.adapter, settings, records, opened });
    const complete = { ...settings, imported: { ...imported, complete: true, turns: counted(turns) } };
    await runtime.log.changeSettings(id, complete);
    await runtime.log.release(id, runtime.owner);
  } catch (error) {
    await deleteStored(table, id);
    throw error;
  }
  return adoption(id, { outcome: "adopted", conversation, turns, open });
}

const counted = (turns: readonly FileTurn[]): Readonly<Record<string, number>> =>
  Object.fromEntries(turns.map(({ key, entries }) => [key, entries.filter(({ type }) => type !== "exit").length]));

interface Outcome {
  readonly outcome: Adoption["outcome"];
  readonly conversation: Conversation;
  readonly turns: readonly FileTurn[];
  readonly open: boolean;
}

const adoption = (id: SessionId, { outcome, conversation, turns, open }: Outcome): Adoption => ({
  sessionId: id,
  outcome,
  turns: turns.length,
  abandoned: conversation.abandoned,
  open,
  notes: conversation.unread,
});

/** What others have added since. What this session itself said is in the log already. */
async function update(
  table: OpenSessions,
  { record, ...reading }: Reading & { record: SessionRecord },
): Promise<Adoption> {
  const { runtime } = table;
  const { id } = record;
  const { source, conversation } = reading;
  const { turns, open } = importable(reading);
  const opened = await openStored(table, id, { runQueue: true });
  refuseBusy(opened);
  const { settings } = opened;
  const imported = settings.imported ?? { from: source.files.form, complete: true, turns: {} };
  const added = await newTurns(runtime.log, { id, adapter: source.adapter, known: imported.turns, turns });
  if (added.length === 0) return adoption(id, { outcome: "unchanged", conversation, turns: [], open });
  const changed = { ...settings, imported: { ...imported, turns: { ...imported.turns, ...counted(turns) } } };
  await whileClosed(table, opened, async () => {
    const begun = { snapshot: await loadSnapshot(runtime.log, id), nativeLines: await runtime.log.lastNativeLine(id) };
    const records = added.flatMap(({ entries }) => entries);
    await importTurns(runtime, { id, adapter: source.adapter, settings: changed, records, begun });
    await runtime.log.changeSettings(id, changed);
  });
  return adoption(id, { outcome: "updated", conversation, turns: added, open });
}

function refuseBusy({ id, session, writer }: OpenSession): void {
  if (session.snapshot().turn === null && !writer.isBusy()) return;
  throw new ApiError(
    "session_busy",
    `Session ${id} is running a turn: adopt its conversation again when that has ended.`,
  );
}
