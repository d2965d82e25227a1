/**
 * Group commit: one append is under way at a time, and all that comes meanwhile, of whichever session, is the next one.
 * Of one session there is at most one entry in it.
 */
import { randomUUID } from "node:crypto";
import { assert } from "../../../core/fold.ts";
import type { SessionId } from "../../../protocol/ids.ts";
import type { SessionSummary } from "../../../protocol/resources.ts";
import { checksum, textChecksum } from "../checksum.ts";
import type { Codec } from "../codec/codec.ts";
import type { Append, Checkpoint, Encoded, EventGroup } from "../contract.ts";
import { noSession, writtenElsewhere } from "../errors.ts";
import { integer, type Row, text } from "../rows.ts";
import type { Store } from "./store.ts";

/** So much is sent at once; a single entry may be larger. */
const BATCH_BYTES = 4 * 1024 * 1024;
const APPEND = "SELECT outcome, place FROM franca.append($1::text::jsonb, $2, $3, $4, $5)";

interface Waiting {
  readonly entry: Append;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

export interface Appender {
  readonly append: (entry: Append) => Promise<void>;
  readonly onCommitted: (subscriber: (groups: readonly EventGroup[]) => void) => void;
  /** Resolves when nothing waits any more. */
  readonly flushed: () => Promise<void>;
}

interface AppenderOptions {
  readonly version: string;
  readonly codec: Codec;
}

export function openAppender(store: Store, { version, codec }: AppenderOptions): Appender {
  const subscribers: ((groups: readonly EventGroup[]) => void)[] = [];
  /** An entry that is tried again, because its answer was lost, is the same entry. */
  const ids = new WeakMap<Append, string>();
  let waiting: Waiting[] = [];
  let running: Promise<void> | null = null;

  const idOf = (entry: Append): string => {
    const id = ids.get(entry) ?? randomUUID();
    ids.set(entry, id);
    return id;
  };
  const commit = async (batch: readonly Waiting[]): Promise<void> => {
    let rows: readonly Row[];
    try {
      const { meta, bodies } = pack(batch.map(({ entry }) => ({ entry, id: idOf(entry) })));
      const { host, epoch } = store.holder();
      rows = await store.write(APPEND, JSON.stringify(meta), bodies, version, host, epoch);
      assert(rows.length === batch.length, "every entry has an answer");
    } catch (error) {
      for (const { reject } of batch) reject(error);
      return;
    }
    const answers = batch.map(({ entry }, index) => answerOf(entry, rows[index] ?? {}));
    const groups = answers.flatMap((answer) => (answer.type === "stored" ? answer.groups(codec) : []));
    if (groups.length > 0) for (const subscriber of subscribers) subscriber(groups);
    for (const [index, answer] of answers.entries()) {
      if (answer.type === "stored") batch[index]?.resolve();
      else {
        if (answer.isFenced) store.counts.fencedWrites += 1;
        batch[index]?.reject(answer.error);
      }
    }
  };
  const run = async (): Promise<void> => {
    // What is appended in one tick is stored together.
    await null;
    while (waiting.length > 0) {
      const { batch, rest } = nextBatch(waiting);
      waiting = rest;
      await commit(batch);
    }
    running = null;
  };
  return {
    append: (entry) =>
      new Promise<void>((resolve, reject) => {
        waiting.push({ entry, resolve, reject });
        running ??= run();
      }),
    onCommitted: (subscriber) => subscribers.push(subscriber),
    flushed: async () => running ?? undefined,
  };
}

/** The first entry of each session, in order, up to a size. */
function nextBatch(waiting: readonly Waiting[]): { batch: Waiting[]; rest: Waiting[] } {
  const batch: Waiting[] = [];
  const rest: Waiting[] = [];
  const held = new Set<SessionId>();
  let bytes = 0;
  for (const one of waiting) {
    const { session, events, native } = one.entry;
    const fits = batch.length === 0 || bytes < BATCH_BYTES;
    if (fits && !held.has(session)) batch.push(one);
    else rest.push(one);
    held.add(session);
    bytes += (events?.bytes.length ?? 0) + (native?.bytes.length ?? 0);
  }
  return { batch, rest };
}

type Answer =
  | { readonly type: "stored"; readonly groups: (codec: Codec) => readonly EventGroup[] }
  | { readonly type: "refused"; readonly error: unknown; readonly isFenced: boolean };

function answerOf({ session, events }: Append, row: Row): Answer {
  const outcome = text(row, "outcome");
  if (outcome === "missing") return { type: "refused", error: noSession(session), isFenced: false };
  if (outcome !== "stored") return { type: "refused", error: writtenElsewhere(session), isFenced: true };
  const position = integer(row, "place");
  return {
    type: "stored",
    groups: (codec) => (events === null ? [] : [codec.committed({ session, position }, events)]),
  };
}

interface Named {
  readonly entry: Append;
  readonly id: string;
}

/** All bytes one after the other, and entries that say where theirs are (Postgres counts from 1). */
function pack(entries: readonly Named[]): { meta: unknown[]; bodies: Buffer } {
  const bodies: Uint8Array[] = [];
  let at = 1;
  const slice = (bytes: Uint8Array): { at: number; length: number } => {
    bodies.push(bytes);
    at += bytes.length;
    return { at: at - bytes.length, length: bytes.length };
  };
  const encoded = (part: Encoded) => ({
    first: part.first,
    last: part.last,
    checksum: checksum(part),
    ...slice(part.bytes),
  });
  const meta = entries.map(({ entry, id }) => {
    const { session, events, native, prompts, items, checkpoint, summary } = entry;
    const before = events === null ? summary.lastSequence : events.first - 1;
    const summarised = wellFormed(JSON.stringify(summary));
    return {
      entry: id,
      session: wellFormed(session),
      before,
      last: events?.last ?? before,
      summary: summarised,
      summary_checksum: textChecksum(summarised),
      ...listed(summary),
      ...(events === null ? {} : { events: encoded(events) }),
      ...(native === null ? {} : { native: encoded(native) }),
      ...(items.length === 0 ? {} : { items }),
      ...(prompts.length === 0 ? {} : { prompts: prompts.map(({ promptId, status }) => ({ id: promptId, status })) }),
      ...(checkpoint === null ? {} : { checkpoint: packCheckpoint(checkpoint, slice) }),
    };
  });
  return { meta, bodies: Buffer.concat(bodies) };
}

const packCheckpoint = ({ sequence, state }: Checkpoint, slice: (bytes: Uint8Array) => object): object => {
  const bytes = Buffer.from(state, "utf8");
  return { sequence, checksum: textChecksum(bytes.toString("utf8")), ...slice(bytes) };
};

/** What lists of sessions are filtered by. */
export function listed(summary: SessionSummary): { readonly status: string; readonly search: string } {
  const { title, sessionId, nativeSessionId, directory, status } = summary;
  const search = [title, sessionId, nativeSessionId, directory].join("\n").toLowerCase();
  return { status, search: wellFormed(search).replaceAll("\0", "") };
}

/** Postgres takes no half of a character in JSON; elsewhere it is replaced on its way in the same manner. */
const wellFormed = (value: string): string => Buffer.from(value, "utf8").toString("utf8");
