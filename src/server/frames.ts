/** Server-sent events from committed groups: encoded once as bytes, shared by every reader of the group. */
import type { EventGroup } from "../runtime/contract.ts";
import { putInteger } from "../runtime/log/lines-writer.ts";

/** A group as SSE frames. Frame `i` starts at byte `starts[i]`; the last start is the length. */
export interface Frames {
  readonly bytes: Buffer;
  readonly starts: readonly number[];
}

const DATA = "\ndata: ";
const ID = "id: ";
const NEWLINE = 0x0a;
const DOT = 0x2e;

/** Puts down what a reader repeats to go on after an event, and gives the place behind it. */
export type FrameId = (
  bytes: Buffer,
  at: number,
  event: { readonly group: EventGroup; readonly index: number },
) => number;

/** Two numbers of sixteen digits at most, and what is between them. */
const LONGEST_ID = 33;

/** The event's sequence. */
export const bySequence: FrameId = (bytes, at, { group, index }) =>
  putInteger(bytes, { at, value: group.first + index });

/** `<position>.<index>`: the group's place among those of all sessions, and the event's place in the group. */
export const byPosition: FrameId = (bytes, at, { group, index }) => {
  const dot = putInteger(bytes, { at, value: group.position });
  bytes[dot] = DOT;
  return putInteger(bytes, { at: dot + 1, value: index });
};

const caches = new Map<FrameId, WeakMap<EventGroup, Frames>>([
  [bySequence, new WeakMap()],
  [byPosition, new WeakMap()],
]);

export function framesOf(group: EventGroup, id: FrameId): Frames {
  const cache = caches.get(id);
  const known = cache?.get(group);
  if (known !== undefined) return known;
  const made = encodeFrames(group, id);
  cache?.set(group, made);
  return made;
}

/** Each line of the group ends in a newline already: a frame needs its id before and one more newline after. */
function encodeFrames(group: EventGroup, id: FrameId): Frames {
  const { offsets } = group;
  const source = Buffer.from(group.bytes.buffer, group.bytes.byteOffset, group.bytes.byteLength);
  const room = Buffer.allocUnsafe(source.length + offsets.length * (ID.length + LONGEST_ID + DATA.length + 1));
  const starts: number[] = [];
  let at = 0;
  for (let index = 0; index < offsets.length; index += 1) {
    starts.push(at);
    at = put(room, at, ID);
    at = id(room, at, { group, index });
    at = put(room, at, DATA);
    at += source.copy(room, at, offsets[index], offsets[index + 1] ?? source.length);
    room[at] = NEWLINE;
    at += 1;
  }
  starts.push(at);
  return { bytes: room.subarray(0, at), starts };
}

/** For a few letters of ASCII, quicker than the calls that are made for much text. */
function put(bytes: Buffer, at: number, text: string): number {
  for (let index = 0; index < text.length; index += 1) bytes[at + index] = text.charCodeAt(index);
  return at + text.length;
}

/** The frames of a group from the event at `index` on. */
export function framesFrom(frames: Frames, index: number): Buffer {
  return index <= 0 ? frames.bytes : frames.bytes.subarray(frames.starts[index] ?? frames.bytes.length);
}

/** One frame of an event that is not in a group as it stands (with its raw line, or of one turn only). */
export function frame({ id, data }: { id: string; data: string }): string {
  return `id: ${id}\ndata: ${data}\n\n`;
}
