/**
 * A session's projection put by in the log, and taken up again from there: its state at many places, so that it can go
 * on from any of them, and its messages as records. Whatever cannot be read is made again from the events.
 */
import { deserialize, serialize } from "node:v8";
import type { OpenCodePart } from "../../dialects/opencode.ts";
import {
  emptySession,
  letGo,
  type OpenCodeOptions,
  type OpenCodeState,
  openCodeFold,
  recordChanges,
  type StoredSession,
  scopes,
} from "../../projections/opencode/index.ts";
import type { SessionId } from "../../protocol/ids.ts";
import type { ProjectionCheckpoint, Projections } from "../../runtime/log/contract.ts";
import { type Live, openLive } from "./live.ts";

/** Something is put by at a turn's end, and at the latest after this much… */
const KEPT_EVENTS = 5_000;
const KEPT_BYTES = 1024 * 1024;
/** …unless it is so large that it would be written again and again: an event weighs at least this much against it. */
const EVENT_BYTES = 64;
const SHARE = 2;

/** Other options tell other events: each way of telling has a book of its own. */
export const bookName = ({ messages, deltas }: OpenCodeOptions): string => `opencode/${messages}/${deltas}`;

/** The session as it was last put by, or as before its first event. */
export async function openFromCheckpoint(
  projections: Projections,
  id: SessionId,
  options: OpenCodeOptions,
): Promise<Live> {
  const name = bookName(options);
  const checkpoint = await projections.checkpoint(id, { name, upTo: Number.MAX_SAFE_INTEGER });
  const live = checkpoint === null ? null : await revive(projections, { id, options, checkpoint });
  if (live !== null) return live;
  await projections.clear(id, name);
  return openLive(id, options);
}

/** The fold alone, as it stood at a sequence or at a place before it that was put by. */
export async function stateBefore(
  projections: Projections,
  id: SessionId,
  { options, sequence }: { options: OpenCodeOptions; sequence: number },
): Promise<{ readonly state: OpenCodeState; readonly sequence: number }> {
  const name = bookName(options);
  const checkpoint = sequence < 1 ? null : await projections.checkpoint(id, { name, upTo: sequence });
  const state = checkpoint === null ? null : readState(checkpoint.state, options);
  if (checkpoint === null || state === null) return { state: openCodeFold(options).start(), sequence: 0 };
  return { state, sequence: checkpoint.sequence };
}

export function isDue({ events, bytes, turnEnded, keptBytes }: Live["pace"]): boolean {
  if (!turnEnded && events < KEPT_EVENTS && bytes < KEPT_BYTES) return false;
  return bytes + events * EVENT_BYTES >= SHARE * keptBytes;
}

/** False when somebody else has put something by: what is in memory no longer fits to it. */
export async function keep(projections: Projections, live: Live): Promise<boolean> {
  const { id, state, store, sequence, pace } = live;
  const checkpoint = { sequence, state: serialize(state), known: serialize(knownOf(live)) };
  const records = recordChanges(store);
  const open = openParts(state);
  pace.events = 0;
  pace.bytes = 0;
  pace.turnEnded = false;
  const kept = await projections.keep(id, bookName(state.options), { after: pace.kept, checkpoint, records });
  if (!kept) return false;
  const again = records.filter((change) => change.type === "put" && open.has(change.id));
  pace.kept = sequence;
  pace.keptBytes =
    checkpoint.state.length +
    checkpoint.known.length +
    again.reduce((sum, change) => sum + (change.type === "put" ? change.body.length : 0), 0);
  letGo(store, (part) => open.has(part));
  return true;
}

/** The parts that are being written: deltas are added to them. */
const openParts = ({ texts }: OpenCodeState): ReadonlySet<string> =>
  new Set([...texts.values()].filter(({ begun }) => begun).map(({ id }) => id));

interface Known extends Pick<Live, "requests" | "running" | "ended" | "queue" | "left"> {
  readonly sessions: readonly (readonly [string, Pick<StoredSession, "info" | "status" | "todos">])[];
  readonly permissions: Live["store"]["permissions"];
  readonly questions: Live["store"]["questions"];
}

function knownOf({ store, requests, running, ended, queue, left }: Live): Known {
  const { permissions, questions } = store;
  const sessions = [...store.sessions].map(([id, { info, status, todos }]) => [id, { info, status, todos }] as const);
  return { sessions, permissions, questions, requests, running, ended, queue, left };
}

async function revive(
  projections: Projections,
  { id, options, checkpoint }: { id: SessionId; options: OpenCodeOptions; checkpoint: ProjectionCheckpoint },
): Promise<Live | null> {
  const state = readState(checkpoint.state, options);
  const known = checkpoint.known === null ? null : readKnown(checkpoint.known);
  if (state === null || known === null) return null;
  const { sessions, permissions, questions, ...more } = known;
  const fresh = openLive(id, options);
  const store = {
    sessions: new Map(sessions.map(([own, session]) => [own, { ...emptySession(), ...session }])),
    permissions,
    questions,
  };
  const keptBytes = checkpoint.state.length + (checkpoint.known?.length ?? 0);
  const pace = { ...fresh.pace, kept: checkpoint.sequence, keptBytes };
  const live: Live = { ...fresh, ...more, state, store, sequence: checkpoint.sequence, pace };
  return (await reopenParts(projections, live)) ? live : null;
}

/** Deltas are added to what was said before. */
async function reopenParts(projections: Projections, live: Live): Promise<boolean> {
  const name = bookName(live.state.options);
  for (const { begun, id, messageID, conversation } of live.state.texts.values()) {
    if (!begun) continue;
    const record = await projections.record(live.id, { name, scope: scopes.parts(messageID), id });
    const session = live.store.sessions.get(live.state.conversations.get(conversation)?.id ?? "");
    if (record === null || session === undefined) return false;
    const part = readPart(record.body);
    if (part === null) return false;
    const message = session.messages.get(messageID) ?? { info: null, parts: new Map() };
    message.parts.set(id, part);
    session.messages.set(messageID, message);
    live.pace.keptBytes += record.body.length;
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

/** Null for what is damaged, or has not the fields that this code gives a state. */
function readState(bytes: Uint8Array, options: OpenCodeOptions): OpenCodeState | null {
  const fresh = openCodeFold(options).start();
  const state: OpenCodeState | null = read(bytes);
  return hasFieldsOf(state, fresh) && hasFieldsOf(state.turn, fresh.turn) ? state : null;
}

const knownFields: Known = {
  sessions: [],
  permissions: new Map(),
  questions: new Map(),
  requests: new Map(),
  running: null,
  ended: new Set(),
  queue: [],
  left: new Set(),
};

function readKnown(bytes: Uint8Array): Known | null {
  const known: Known | null = read(bytes);
  return hasFieldsOf(known, knownFields) ? known : null;
}

function read<T>(bytes: Uint8Array): T | null {
  try {
    return deserialize(bytes);
  } catch {
    return null;
  }
}

function hasFieldsOf<T extends object>(value: T | null, fresh: T): value is T {
  if (typeof value !== "object" || value === null) return false;
  const kind = (one: unknown): string => (one instanceof Map ? "map" : one instanceof Set ? "set" : typeof one);
  const structured = (one: unknown): boolean => one instanceof Map || one instanceof Set;
  const given = new Map(Object.entries(value));
  const wanted = Object.entries(fresh);
  return (
    given.size === wanted.length &&
    wanted.every(([key, one]) => given.has(key) && (!structured(one) || kind(given.get(key)) === kind(one)))
  );
}
