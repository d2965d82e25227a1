/** Checkpoints of a session's snapshot: encoded as text, and loaded with the events after it applied. */
import { emptySnapshot, type Snapshot, snapshotFold } from "../../core/snapshot.ts";
import type { SessionId } from "../../protocol/ids.ts";
import type { EventLog } from "./contract.ts";

const READ_BYTES = 1024 * 1024;

export const encodeSnapshot = (snapshot: Snapshot): string =>
  JSON.stringify({
    ...snapshot,
    items: [...snapshot.items],
    texts: [...snapshot.texts],
    permissions: [...snapshot.permissions],
    questions: [...snapshot.questions],
  });

type Plain = Omit<Snapshot, "items" | "texts" | "permissions" | "questions"> & {
  readonly items: Iterable<[Key<"items">, Entry<"items">]>;
  readonly texts: Iterable<[Key<"texts">, Entry<"texts">]>;
  readonly permissions: Iterable<[Key<"permissions">, Entry<"permissions">]>;
  readonly questions: Iterable<[Key<"questions">, Entry<"questions">]>;
};
type Key<Name extends keyof Snapshot> = Snapshot[Name] extends Map<infer K, unknown> ? K : never;
type Entry<Name extends keyof Snapshot> = Snapshot[Name] extends Map<never, infer V> ? V : never;

/** Null for a checkpoint with other fields: a version may gain fields before it is released. */
function decodeSnapshot(text: string): Snapshot | null {
  const plain: Plain = JSON.parse(text);
  if (fieldsOf(plain) !== fieldsOf(emptySnapshot())) return null;
  return {
    ...plain,
    items: new Map(plain.items),
    texts: new Map(plain.texts),
    permissions: new Map(plain.permissions),
    questions: new Map(plain.questions),
  };
}

const fieldsOf = (value: object): string => Object.keys(value).sort().join();

/** Without a usable checkpoint the whole session is read, a part at a time. */
export async function loadSnapshot(log: EventLog, id: SessionId): Promise<Snapshot> {
  const checkpoint = await log.checkpoint(id);
  const snapshot = (checkpoint === null ? null : decodeSnapshot(checkpoint.state)) ?? emptySnapshot();
  for (;;) {
    const groups = await log.read(id, { after: snapshot.sequence, maxBytes: READ_BYTES });
    if (groups.length === 0) return snapshot;
    for (const group of groups) {
      for (const event of group.events(snapshot.sequence)) snapshotFold.step(snapshot, event);
      // Of a damaged group there may be no event to read: it is behind us all the same.
      snapshot.sequence = Math.max(snapshot.sequence, group.last);
    }
  }
}
