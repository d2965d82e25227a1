/** A log that lives as long as the process: for tests, and for those who want no trace on disk. */
import type { SessionId } from "../../../protocol/ids.ts";
import type { NativeLine, SessionFilter, SessionSummary } from "../../../protocol/resources.ts";
import { isSameProcess } from "../../process-identity.ts";
import { type Codec, openCodec } from "../codec/codec.ts";
import type {
  Append,
  Checkpoint,
  EventGroup,
  EventLog,
  Owner,
  Run,
  SessionRecord,
  SessionSettings,
  StoredPrompt,
} from "../contract.ts";
import { noSession, sessionExists, writtenElsewhere } from "../errors.ts";
import { firstGroup } from "../search.ts";
import { memoryProjections, type StoredProjection } from "./projections.ts";

interface Stored {
  /** Sessions are counted as they are created. */
  readonly place: number;
  settings: SessionSettings;
  summary: SessionSummary;
  owner: Owner | null;
  last: number;
  readonly groups: EventGroup[];
  readonly native: NativeLine[];
  readonly items: Map<number, number>;
  readonly prompts: StoredPrompt[];
  checkpoint: Checkpoint | null;
  readonly projections: Map<string, StoredProjection>;
}

interface State {
  readonly codec: Codec;
  readonly sessions: Map<SessionId, Stored>;
  readonly runs: Map<string, Run>;
  readonly subscribers: ((groups: readonly EventGroup[]) => void)[];
  /** All groups in order; those of deleted sessions leave a hole. */
  readonly all: (EventGroup | null)[];
  readonly work: { rows: number; bytes: number };
  created: number;
}

export function openMemoryLog(): EventLog {
  const state: State = {
    codec: openCodec(),
    sessions: new Map(),
    runs: new Map(),
    subscribers: [],
    all: [],
    work: { rows: 0, bytes: 0 },
    created: 0,
  };
  return {
    shared: false,
    ...sessions(state),
    ...events(state),
    ...prompts(state),
    projections: memoryProjections((id) => stored(state, id)),
    async putRun(run) {
      state.runs.set(run.runId, run);
    },
    async endRun(runId) {
      state.runs.delete(runId);
    },
    runs: async () => [...state.runs.values()],
    onLost() {},
    onElsewhere() {},
    hosts: async () => [],
    cluster: null,
    changedElsewhere: () => false,
    async *verify() {},
    failure: () => null,
    work: () => ({ ...state.work }),
    async close() {},
  };
}

function stored(state: State, id: SessionId): Stored {
  const session = state.sessions.get(id);
  if (session === undefined) throw noSession(id);
  return session;
}

type Sessions = Pick<
  EventLog,
  "create" | "list" | "find" | "changeSettings" | "delete" | "claim" | "release" | "owned" | "size"
>;

/** As the SQLite log looks for it. */
function fits(summary: SessionSummary, { status, agent, directory, q }: SessionFilter): boolean {
  const { title, sessionId, nativeSessionId } = summary;
  const text = [title, sessionId, nativeSessionId, summary.directory].join("\n").toLowerCase();
  return (
    (status === undefined || summary.status === status) &&
    (agent === undefined || summary.agent === agent) &&
    (directory === undefined || summary.directory === directory) &&
    (q === undefined || text.includes(q.toLowerCase()))
  );
}

function sessions(state: State): Sessions {
  return {
    async create({ id, settings, summary }, owner) {
      if (state.sessions.has(id)) throw sessionExists(id);
      state.created += 1;
      const empty = {
        place: state.created,
        last: 0,
        groups: [],
        native: [],
        items: new Map(),
        prompts: [],
        checkpoint: null,
      };
      state.sessions.set(id, { settings, summary, owner, ...empty, projections: new Map() });
    },
    async list({ before, limit, ...filter }) {
      const found: (SessionRecord & { readonly place: number })[] = [];
      for (const [id, { settings, summary, owner, place }] of [...state.sessions].reverse()) {
        if (place >= (before ?? Number.MAX_SAFE_INTEGER) || !fits(summary, filter)) continue;
        found.push({ id, settings, summary, owner, place });
        if (found.length > limit) break;
      }
      const next = found.length > limit ? (found[limit - 1]?.place ?? null) : null;
      return { records: found.slice(0, limit), next };
    },
    async find(id) {
      const session = state.sessions.get(id);
      if (session === undefined) return null;
      return { id, settings: session.settings, summary: session.summary, owner: session.owner };
    },
    async changeSettings(id, settings) {
      stored(state, id).settings = settings;
    },
    owned: async () => [...state.sessions].flatMap(([id, { owner }]) => (owner === null ? [] : [{ id, owner }])),
    async delete(id) {
      for (const group of stored(state, id).groups) state.all[group.position - 1] = null;
      state.sessions.delete(id);
    },
    async claim(id, owner, isDead) {
      const session = stored(state, id);
      const { owner: current } = session;
      if (current !== null && !isSameProcess(current, owner) && !isDead(current)) return current;
      session.owner = owner;
      return owner;
    },
    async release(id, owner) {
      const session = state.sessions.get(id);
      if (session !== undefined && session.owner !== null && isSameProcess(session.owner, owner)) session.owner = null;
    },
    size: () => state.all.reduce((bytes, group) => bytes + (group?.size ?? 0), 0),
  };
}

type Events = Pick<
  EventLog,
  | "openWriter"
  | "append"
  | "onCommitted"
  | "read"
  | "readAll"
  | "readNative"
  | "lastNativeLine"
  | "itemsBefore"
  | "checkpoint"
  | "position"
>;

function events(state: State): Events {
  return {
    openWriter: state.codec.openWriter,
    append: async (entry) => append(state, entry),
    onCommitted: (subscriber) => state.subscribers.push(subscriber),
    async read(id, { after, maxBytes }) {
      const { groups } = stored(state, id);
      return take(state, { groups, from: firstGroup(groups, (group) => group.last > after), maxBytes });
    },
    readAll: async ({ after, maxBytes }) => take(state, { groups: state.all, from: after, maxBytes }),
    async readNative(id, { after, limit }) {
      const lines = stored(state, id).native.slice(after, after + limit + 1);
      return { lines: lines.slice(0, limit), hasMore: lines.length > limit };
    },
    lastNativeLine: async (id) => stored(state, id).native.length,
    async itemsBefore(id, { before, limit }) {
      const known = [...stored(state, id).items].filter(([number]) => number < before).sort(([a], [b]) => a - b);
      return known.slice(-limit).map(([, sequence]) => sequence);
    },
    checkpoint: async (id) => stored(state, id).checkpoint,
    position: () => state.all.length,
  };
}

function append(state: State, entry: Append): void {
  const session = stored(state, entry.session);
  const { events, native } = entry;
  if (events !== null && events.first !== session.last + 1) throw writtenElsewhere(entry.session);
  session.summary = entry.summary;
  if (native !== null) session.native.push(...state.codec.decodeNative(native.bytes));
  for (const { number, sequence } of entry.items) session.items.set(number, sequence);
  for (const { promptId, status } of entry.prompts) {
    const index = session.prompts.findIndex(({ prompt }) => prompt.prompt_id === promptId);
    const prompt = session.prompts[index];
    if (prompt !== undefined) session.prompts[index] = { ...prompt, status };
  }
  if (entry.checkpoint !== null) session.checkpoint = entry.checkpoint;
  if (events === null) return;
  const group = state.codec.committed({ session: entry.session, position: state.all.length + 1 }, events);
  session.last = events.last;
  session.groups.push(group);
  state.all.push(group);
  for (const subscriber of state.subscribers) subscriber([group]);
}

interface Take {
  readonly groups: readonly (EventGroup | null)[];
  readonly from: number;
  readonly maxBytes: number;
}

function take(state: State, { groups, from, maxBytes }: Take): EventGroup[] {
  const taken: EventGroup[] = [];
  let bytes = 0;
  for (let at = from; at < groups.length && bytes < maxBytes; at += 1) {
    const group = groups[at];
    if (group === null || group === undefined) continue;
    taken.push(group);
    bytes += group.size;
  }
  state.work.rows += taken.length;
  state.work.bytes += bytes;
  return taken;
}

function prompts(state: State): Pick<EventLog, "addPrompt" | "dropPrompt" | "queuedPrompts" | "sessionsWithQueue"> {
  return {
    async addPrompt(id, prompt) {
      const session = stored(state, id);
      const { idempotencyKey } = prompt;
      const seen = session.prompts.find((one) => idempotencyKey !== null && one.idempotencyKey === idempotencyKey);
      if (seen !== undefined) return { stored: seen, fresh: false };
      const fresh: StoredPrompt = { ...prompt, status: "queued" };
      session.prompts.push(fresh);
      return { stored: fresh, fresh: true };
    },
    async dropPrompt(id, promptId) {
      const { prompts } = stored(state, id);
      const index = prompts.findIndex(({ prompt }) => prompt.prompt_id === promptId);
      if (index >= 0) prompts.splice(index, 1);
    },
    queuedPrompts: async (id) => stored(state, id).prompts.filter(({ status }) => status === "queued"),
    sessionsWithQueue: async () =>
      [...state.sessions]
        .filter(([, { prompts }]) => prompts.some(({ status }) => status === "queued"))
        .map(([id]) => id),
  };
}
