/**
 * A session's projection persisted in the log and restored from there: its state after many events, so that it can be
 * rendered from any of them, and its messages as records. What cannot be read is rendered again from the events.
 */
import type { OpenCodePart } from "../../dialects/opencode.ts";
import {
  dropSaved,
  emptySession,
  type OpenCodeOptions,
  type OpenCodeState,
  recordChanges,
  type StoredSession,
  scopes,
} from "../../projections/opencode/index.ts";
import type { SessionId } from "../../protocol/ids.ts";
import type { ProjectionCheckpoint, Projections } from "../../runtime/log/contract.ts";
import { readState, writeState } from "../rendering/checkpoints.ts";
import { checkpointName } from "../rendering/dialects.ts";
import { type RenderedSession, startSession, type Unsaved } from "./session-view.ts";

/** A checkpoint is written at a turn's end, and at the latest after this much… */
const UNSAVED_EVENTS = 5_000;
const UNSAVED_BYTES = 1024 * 1024;
/** …unless it is so large that it would be written again and again: an event weighs at least this much against it. */
const EVENT_BYTES = 64;
const SHARE = 2;

/** The session at its latest checkpoint, or before its first event. */
export async function openFromCheckpoint(
  projections: Projections,
  id: SessionId,
  options: OpenCodeOptions,
): Promise<RenderedSession> {
  const name = checkpointName(options);
  const checkpoint = await projections.checkpoint(id, { name, upTo: Number.MAX_SAFE_INTEGER });
  const session = checkpoint === null ? null : await restore(projections, { id, options, checkpoint });
  if (session !== null) return session;
  await projections.clear(id, name);
  return startSession(options);
}

export function isDue({ events, bytes, turnEnded, rewrittenBytes }: Unsaved): boolean {
  if (!turnEnded && events < UNSAVED_EVENTS && bytes < UNSAVED_BYTES) return false;
  return bytes + events * EVENT_BYTES >= SHARE * rewrittenBytes;
}

/** False when another process has written a checkpoint: what is in memory does not continue it. */
export async function saveCheckpoint(
  projections: Projections,
  id: SessionId,
  session: RenderedSession,
): Promise<boolean> {
  const { state, store, sequence, unsaved } = session;
  const checkpoint = { sequence, state: writeState(state), known: writeState(knownOf(session)) };
  const records = recordChanges(store);
  const open = openParts(state);
  unsaved.events = 0;
  unsaved.bytes = 0;
  unsaved.turnEnded = false;
  const change = { after: unsaved.after, checkpoint, records };
  if (!(await projections.keep(id, checkpointName(state.options), change))) return false;
  const again = records.filter((record) => record.type === "put" && open.has(record.id));
  unsaved.after = sequence;
  unsaved.rewrittenBytes =
    checkpoint.state.length +
    checkpoint.known.length +
    again.reduce((sum, record) => sum + (record.type === "put" ? record.body.length : 0), 0);
  dropSaved(store, (part) => open.has(part));
  return true;
}

/** The parts that are being written: deltas are added to them. */
const openParts = ({ texts }: OpenCodeState): ReadonlySet<string> =>
  new Set([...texts.values()].filter(({ begun }) => begun).map(({ id }) => id));

interface Known extends Pick<RenderedSession, "requests" | "running" | "ended" | "queue" | "left"> {
  readonly sessions: readonly (readonly [string, Pick<StoredSession, "info" | "status" | "todos">])[];
  readonly permissions: RenderedSession["store"]["permissions"];
  readonly questions: RenderedSession["store"]["questions"];
}

function knownOf({ store, requests, running, ended, queue, left }: RenderedSession): Known {
  const { permissions, questions } = store;
  const sessions = [...store.sessions].map(([id, { info, status, todos }]) => [id, { info, status, todos }] as const);
  return { sessions, permissions, questions, requests, running, ended, queue, left };
}

async function restore(
  projections: Projections,
  { id, options, checkpoint }: { id: SessionId; options: OpenCodeOptions; checkpoint: ProjectionCheckpoint },
): Promise<RenderedSession | null> {
  const fresh = startSession(options);
  const state = readState(checkpoint.state, fresh.state);
  const known = checkpoint.known === null ? null : readState(checkpoint.known, knownOf(fresh));
  if (state === null || known === null) return null;
  const { sessions, permissions, questions, ...more } = known;
  const store = {
    sessions: new Map(sessions.map(([own, session]) => [own, { ...emptySession(), ...session }])),
    permissions,
    questions,
  };
  const rewrittenBytes = checkpoint.state.length + (checkpoint.known?.length ?? 0);
  const unsaved = { ...fresh.unsaved, after: checkpoint.sequence, rewrittenBytes };
  const session: RenderedSession = { ...more, state, store, sequence: checkpoint.sequence, unsaved };
  return (await restoreOpenParts(projections, id, session)) ? session : null;
}

/** Deltas are added to what the parts had so far. */
async function restoreOpenParts(projections: Projections, id: SessionId, session: RenderedSession): Promise<boolean> {
  const { state, store, unsaved } = session;
  const name = checkpointName(state.options);
  for (const { begun, id: partId, messageID, conversation } of state.texts.values()) {
    if (!begun) continue;
    const record = await projections.record(id, { name, scope: scopes.parts(messageID), id: partId });
    const stored = store.sessions.get(state.conversations.get(conversation)?.id ?? "");
    if (record === null || stored === undefined) return false;
    const part = readPart(record.body);
    if (part === null) return false;
    const message = stored.messages.get(messageID) ?? { info: null, parts: new Map() };
    message.parts.set(partId, part);
    stored.messages.set(messageID, message);
    unsaved.rewrittenBytes += record.body.length;
  }
  return true;
}

function readPart(body: string): OpenCodePart | null {
  try {
    return JSON.parse(body);
  } catch {
    return null;
  }
}
