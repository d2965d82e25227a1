/** Group commit: all that was appended in one tick is one transaction, whichever session it belongs to. */
import { assert } from "../../../core/fold.ts";
import { hasCode } from "../../../protocol/errors.ts";
import type { SessionId } from "../../../protocol/ids.ts";
import { checksum, textChecksum } from "../checksum.ts";
import type { Codec } from "../codec/codec.ts";
import type { Append, EncodedEvents, EventGroup } from "../contract.ts";
import { writtenElsewhere } from "../errors.ts";
import { integer } from "../rows.ts";
import type { Store } from "./store.ts";

interface Waiting {
  readonly entry: Append;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

export interface Appender {
  readonly append: (entry: Append) => Promise<void>;
  readonly onCommitted: (subscriber: (groups: readonly EventGroup[]) => void) => void;
  /** Stores what is waiting at once, held back or not. */
  readonly flush: () => void;
  /** What is appended from now on waits… */
  readonly hold: () => void;
  /** …until this. */
  readonly release: () => void;
}

interface AppenderOptions {
  readonly version: string;
  readonly codec: Codec;
}

/** A group in the database. */
interface Written {
  readonly session: SessionId;
  readonly position: number;
  readonly events: EncodedEvents;
}

export function openAppender(store: Store, { version, codec }: AppenderOptions): Appender {
  const subscribers: ((groups: readonly EventGroup[]) => void)[] = [];
  let waiting: Waiting[] = [];
  let held = false;

  const commit = (batch: readonly Waiting[]): void => {
    let written: Written[];
    try {
      written = store.transaction(() => batch.flatMap(({ entry }) => write(store, entry, version)));
    } catch (error) {
      // A session that is not ours to write to is no fault of the others.
      if (batch.length > 1 && !hasCode(error, "storage_error")) for (const one of batch) commit([one]);
      else for (const { reject } of batch) reject(error);
      return;
    }
    const groups = written.map(({ session, position, events }) => codec.committed({ session, position }, events));
    for (const subscriber of subscribers) subscriber(groups);
    for (const { resolve } of batch) resolve();
  };
  const flush = (): void => {
    const batch = waiting;
    waiting = [];
    if (batch.length > 0) commit(batch);
  };

  return {
    append: (entry) =>
      new Promise<void>((resolve, reject) => {
        if (waiting.length === 0) queueMicrotask(() => (held ? undefined : flush()));
        waiting.push({ entry, resolve, reject });
      }),
    onCommitted: (subscriber) => subscribers.push(subscriber),
    flush,
    hold() {
      held = true;
    },
    release() {
      held = false;
      flush();
    },
  };
}

/** Deltas change nothing in the summary but its count of events, which `last` says too, and its time. */
const isOnlyDeltas = ({ events, prompts }: Append): boolean =>
  events !== null && prompts.length === 0 && events.wholes.every(({ type }) => type === "item.delta");

/**
 * Notes how far the session is, and gives its key. The fence: a writer that does not continue from the last event is
 * not the one writer of this session.
 */
function advance(store: Store, entry: Append): number {
  const { session, events, summary } = entry;
  const before = events === null ? summary.lastSequence : events.first - 1;
  const last = events?.last ?? before;
  const where = "WHERE id = ? AND last = ? RETURNING key";
  const summarised = isOnlyDeltas(entry) ? null : JSON.stringify(summary);
  const row =
    summarised === null
      ? store.prepare(`UPDATE sessions SET last = ? ${where}`).get(last, session, before)
      : store
          .prepare(`UPDATE sessions SET summary = ?, summary_checksum = ?, last = ? ${where}`)
          .get(summarised, textChecksum(summarised), last, session, before);
  if (row !== undefined) return integer(row, "key");
  store.keyOf(session);
  throw writtenElsewhere(session);
}

function write(store: Store, entry: Append, version: string): Written[] {
  const { events, native, checkpoint } = entry;
  const key = advance(store, entry);
  if (native !== null) {
    const insert = "INSERT INTO native (session, first, last, body, checksum) VALUES (?, ?, ?, ?, ?)";
    store.prepare(insert).run(key, native.first, native.last, native.bytes, checksum(native));
  }
  for (const { promptId, status } of entry.prompts) {
    store.prepare("UPDATE prompts SET status = ? WHERE session = ? AND id = ?").run(status, key, promptId);
  }
  for (const { number, sequence } of entry.items) {
    store.prepare("INSERT OR REPLACE INTO items VALUES (?, ?, ?)").run(key, number, sequence);
  }
  if (checkpoint !== null) {
    const { sequence, state } = checkpoint;
    const replace = "INSERT OR REPLACE INTO checkpoints VALUES (?, ?, ?, ?, ?)";
    store.prepare(replace).run(key, version, sequence, state, textChecksum(state));
  }
  if (events === null) return [];
  const insert = "INSERT INTO groups (session, first, last, body, checksum) VALUES (?, ?, ?, ?, ?)";
  const { first, last, bytes } = events;
  const { lastInsertRowid } = store.prepare(insert).run(key, first, last, bytes, checksum(events));
  const position = Number(lastInsertRowid);
  assert(position > 0, "a stored group has a position");
  return [{ session: entry.session, position, events }];
}
