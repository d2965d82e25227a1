/** Server-sent events from committed groups: encoded once as bytes, shared by every reader of the group. */
import type { EventGroup } from "../runtime/contract.ts";

/** A group as SSE frames. Frame `i` starts at byte `starts[i]`; the last start is the length. */
export interface Frames {
  readonly bytes: Buffer;
  readonly starts: readonly number[];
}

const DATA = Buffer.from("\ndata: ");
const ID = Buffer.from("id: ");
const NEWLINE = 0x0a;

/** What a reader repeats to go on after an event: the event's sequence, or its place among all sessions. */
export type FrameId = (group: EventGroup, index: number) => string;

export const bySequence: FrameId = (group, index) => String(group.first + index);

/** `<position>.<index>`: the group's place among those of all sessions, and the event's place in the group. */
export const byPosition: FrameId = (group, index) => `${group.position}.${index}`;

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
  const ids = offsets.map((_, index) => id(group, index));
  const overhead = ids.reduce((sum, text) => sum + ID.length + text.length + DATA.length + 1, 0);
  const bytes = Buffer.allocUnsafe(source.length + overhead);
  const starts: number[] = [];
  let at = 0;
  for (const [index, from] of offsets.entries()) {
    starts.push(at);
    at += ID.copy(bytes, at);
    at += bytes.write(ids[index] ?? "", at, "latin1");
    at += DATA.copy(bytes, at);
    at += source.copy(bytes, at, from, offsets[index + 1] ?? source.length);
    bytes[at] = NEWLINE;
    at += 1;
  }
  starts.push(at);
  return { bytes, starts };
}

/** The frames of a group from the event at `index` on. */
export function framesFrom(frames: Frames, index: number): Buffer {
  return index <= 0 ? frames.bytes : frames.bytes.subarray(frames.starts[index] ?? frames.bytes.length);
}

/** One frame of an event that is not in a group as it stands (with its raw line, or of one turn only). */
export function frame({ id, data }: { id: string; data: string }): string {
  return `id: ${id}\ndata: ${data}\n\n`;
}
