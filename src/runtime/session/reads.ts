/** Reading sessions. It needs no ownership: a session that another process has open can be read here. */
import { noCapabilities } from "../../core/capabilities.ts";
import { defined } from "../../core/defined.ts";
import type { Snapshot } from "../../core/snapshot.ts";
import { ApiError } from "../../protocol/errors.ts";
import type { SessionStatus } from "../../protocol/events.ts";
import { itemNumber, type SessionId } from "../../protocol/ids.ts";
import type { Placement } from "../../protocol/placement.ts";
import { loadSnapshot } from "../log/checkpoints.ts";
import type { SessionRecord, SessionSettings } from "../log/contract.ts";
import { readEvents, readItems } from "../log/pages.ts";
import type { Sessions } from "./contract.ts";
import type { OpenSession, OpenSessions } from "./open-session.ts";
import type { Runtime } from "./runtime.ts";
import { detail, keptWith, summarise } from "./summary.ts";
import { waitingQueue } from "./waiting.ts";

/** How many items a session is shown with. */
const ITEMS = 200;

/** How many sessions a page has. */
const SESSIONS = 100;

type Reads = Pick<
  Sessions,
  | "list"
  | "get"
  | "events"
  | "native"
  | "follow"
  | "followAll"
  | "position"
  | "recovered"
  | "projections"
  | "storageFailure"
  | "salvaged"
  | "storedBytes"
  | "verify"
  | "hosts"
  | "hostStats"
  | "drain"
  | "host"
  | "diskOf"
  | "homeOf"
  | "working"
  | "usage"
>;

export function reads(table: OpenSessions): Reads {
  const { log, tail, recovered, trust, adapters, usage, fileView } = table.runtime;
  return {
    async list({ limit = SESSIONS, cursor, ...filter } = {}) {
      const open = await readyHere(table);
      const { records, next } = await log.list({ ...filter, limit, before: pageOf(cursor) });
      const summaries = records.map(async ({ id, settings, summary, summaryDamaged }) => {
        const own = open.get(id);
        if (own !== undefined && !own.writer.isAhead()) {
          return summarise({ id, settings, snapshot: own.session.snapshot() });
        }
        // The events give the same result, but take longer to read.
        if (summaryDamaged === true) return summarise({ id, settings, snapshot: await loadSnapshot(log, id) });
        return { ...summary, ...keptWith(settings) };
      });
      const sessions = await Promise.all(summaries);
      return { sessions, nextCursor: next === null ? null : String(next) };
    },
    async get(id, { itemsBefore, limit = ITEMS } = {}) {
      const { settings, snapshot } = await stateOf(table, id);
      const { agent, directory = "" } = settings.create;
      const { name = agent, capabilities = noCapabilities } = adapters.get(agent) ?? {};
      const placement = await log.cluster?.placement(id);
      const facts = { trusted: trust.isTrusted(directory), capabilities, ...defined({ placement }) };
      const queue = isWaiting(placement) ? await waitingQueue(log, id, snapshot.queue) : snapshot.queue;
      const described = { id, settings, snapshot, queue, ...facts };
      // Described before anything else happens to it.
      const shown = detail(described);
      const before = itemsBefore === undefined ? snapshot.itemCount + 1 : numberIn(id, itemsBefore);
      const items = limit === 0 ? [] : await readItems(log, { id, snapshot, query: { before, limit } });
      const hideData = await fileView.stateFor({ name, capabilities });
      return { ...shown, hideData, items };
    },
    events: (id, query) => readEvents(log, id, query),
    native: (id, { offset, limit }) => log.readNative(id, { after: offset, limit }),
    follow: tail.follow,
    followAll: tail.followAll,
    position: log.position,
    recovered,
    storageFailure: log.failure,
    salvaged: log.salvaged ?? [],
    storedBytes: log.size,
    verify: log.verify,
    hosts: () => log.hosts(),
    hostStats: () => (log.cluster === null ? null : { ...log.cluster.stats(), openSessions: table.sessions.size }),
    host: log.cluster,
    diskOf: async (directory) => (await log.cluster?.diskOf(directory)) ?? null,
    homeOf: async (id) => (await log.cluster?.homeOf(id)) ?? null,
    drain: (host) => drain(table.runtime, host),
    async working() {
      const all = [...(await readyHere(table)).values()];
      return all.filter(({ session }) => WORKING.has(session.snapshot().status)).length;
    },
    usage: usage.rows,
    projections: log.projections,
  };
}

const isWaiting = (placement: Placement | undefined): boolean => (placement?.waiting ?? null) !== null;

const WORKING: ReadonlySet<SessionStatus> = new Set(["running", "retrying", "compacting"]);

async function drain({ log }: Runtime, host?: string): Promise<void> {
  const { cluster } = log;
  if (cluster === null) {
    if (host === undefined) return;
    throw new ApiError(
      "invalid_request",
      "This daemon shares its log with no other: it runs without --store postgres.",
    );
  }
  const id = host ?? cluster.self;
  if (await cluster.drain(id)) return;
  throw new ApiError("not_found", `There is no host ${id}: franca hosts lists them.`);
}

function numberIn(id: SessionId, item: string): number {
  const number = itemNumber(item);
  if (number === null) throw new ApiError("invalid_request", `${item} is no item of session ${id}.`);
  return number;
}

function pageOf(cursor: string | undefined): number | null {
  if (cursor === undefined) return null;
  if (/^\d{1,15}$/.test(cursor)) return Number(cursor);
  throw new ApiError("invalid_request", `${JSON.stringify(cursor)} is no cursor of this list.`);
}

async function readyHere({ sessions }: OpenSessions): Promise<Map<SessionId, OpenSession>> {
  const all = await Promise.allSettled(sessions.values());
  const ready = all.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
  return new Map(ready.map((open) => [open.id, open]));
}

export async function stateOf(
  { runtime, sessions }: OpenSessions,
  id: SessionId,
): Promise<{ settings: SessionSettings; snapshot: Snapshot }> {
  const own = await sessions.get(id)?.catch(() => undefined);
  const isStored = await own?.writer.stored().then(
    () => true,
    () => false,
  );
  // What is not stored is not shown: while the log cannot be written, the session is as the log has it.
  if (own !== undefined && isStored === true && !own.writer.isAhead()) {
    return { settings: own.settings, snapshot: own.session.snapshot() };
  }
  const record: SessionRecord | null = await runtime.log.find(id);
  if (record === null) throw new ApiError("session_not_found", `There is no session ${id}.`);
  return { settings: record.settings, snapshot: await loadSnapshot(runtime.log, id) };
}
