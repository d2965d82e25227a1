/** Server-sent events from committed groups: made once as bytes, shared by the readers who keep up. */

import { putInteger } from "../runtime/log/codec/lines-writer.ts";
import { type Told, tell } from "../runtime/log/codec/telling.ts";
import type { EventGroup } from "../runtime/session/contract.ts";

const DATA = "\ndata: ";
const ID = "id: ";
const DOT = 0x2e;

/** What a reader repeats to go on after an event: puts it down, and gives the place behind. */
export type FrameId = (
  bytes: Buffer,
  at: number,
  event: { readonly group: EventGroup; readonly index: number },
) => number;

/** The event's sequence. */
export const bySequence: FrameId = (bytes, at, { group, index }) =>
  putInteger(bytes, { at, value: group.first + index });

/** `<position>.<index>`: the group's place among those of all sessions, and the event's place in the group. */
export const byPosition: FrameId = (bytes, at, { group, index }) => {
  const dot = putInteger(bytes, { at, value: group.position });
  bytes[dot] = DOT;
  return putInteger(bytes, { at: dot + 1, value: index });
};

/** Readers who keep up want the same groups at about the same time; this much of them is kept. */
const KEPT_BYTES = 4 * 1024 * 1024;

interface Kept {
  readonly frames: Map<EventGroup, Told>;
  bytes: number;
}

const kept = new Map<FrameId, Kept>([
  [bySequence, { frames: new Map(), bytes: 0 }],
  [byPosition, { frames: new Map(), bytes: 0 }],
]);

/** A group as SSE frames: frame `i` starts at byte `starts[i]`. */
export function framesOf(group: EventGroup, id: FrameId): Told {
  const known = kept.get(id)?.frames.get(group);
  if (known !== undefined) return known;
  const made = tell(group.packed, (bytes, { at, index }) =>
    put(bytes, id(bytes, put(bytes, at, ID), { group, index }), DATA),
  );
  keep(kept.get(id), { group, made });
  return made;
}

/** The oldest are forgotten first. */
function keep(store: Kept | undefined, { group, made }: { group: EventGroup; made: Told }): void {
  if (store === undefined) return;
  store.frames.set(group, made);
  store.bytes += made.bytes.length;
  for (const [old, { bytes }] of store.frames) {
    if (store.bytes <= KEPT_BYTES || old === group) return;
    store.frames.delete(old);
    store.bytes -= bytes.length;
  }
}

/** For a few letters of ASCII, quicker than the calls that are made for much text. */
function put(bytes: Buffer, at: number, text: string): number {
  for (let index = 0; index < text.length; index += 1) bytes[at + index] = text.charCodeAt(index);
  return at + text.length;
}

/** The frames of a group from the event at `index` on. */
export function framesFrom(frames: Told, index: number): Buffer {
  return index <= 0 ? frames.bytes : frames.bytes.subarray(frames.starts[index] ?? frames.bytes.length);
}

/** One frame of an event that is not in a group as it stands (with its raw line, or of one turn only). */
export function frame({ id, data }: { id: string; data: string }): string {
  return `id: ${id}\ndata: ${data}\n\n`;
}
