/** Groups of stored events as consumers see them: values, or shared bytes of server-sent events. */
import type { UniversalEvent } from "../../../protocol/events.ts";
import type { SessionId } from "../../../protocol/ids.ts";
import type { EncodedEvents, EventGroup, SseCursor } from "../contract.ts";
import { type Cache, openCache } from "./cache.ts";
import { decodeEvents, decodeFirst, decodeNotable } from "./decode.ts";
import { encodeFrames, type FrameId, type Frames, newFrameScratch } from "./frames.ts";

/**
 * Consumers who keep up want the same groups at about the same time. What the writer had and what was made for the
 * first of them is kept for the others: as many events as would be this many bytes of JSON, and so many bytes of frames
 * for each kind of cursor.
 */
const EVENTS_BYTES = 1024 * 1024;
const FRAMES_BYTES = 4 * 1024 * 1024;

/** A group as a log stores it. */
export interface StoredGroup {
  readonly session: SessionId;
  readonly position: number;
  readonly first: number;
  readonly last: number;
  readonly bytes: Uint8Array;
}

export interface Groups {
  /** A group that this process has just committed: its events are at hand for a while, its frames are shared. */
  readonly committed: (place: Pick<StoredGroup, "session" | "position">, encoded: EncodedEvents) => EventGroup;
  /** A group that was read back, by one reader. */
  readonly stored: (group: StoredGroup) => EventGroup;
}

type MakeFrames = (cursor: SseCursor) => Frames;

export function openGroups(): Groups {
  const scratch = newFrameScratch();
  const written = openCache<EventGroup, Written>({ maxBytes: EVENTS_BYTES });
  const frames: Record<SseCursor, Cache<EventGroup, Frames>> = {
    sequence: openCache({ maxBytes: FRAMES_BYTES }),
    position: openCache({ maxBytes: FRAMES_BYTES }),
  };
  const makeFrames = (stored: StoredGroup, cursor: SseCursor): Frames =>
    encodeFrames(stored.bytes, { id: frameId(stored, cursor), scratch });

  return {
    committed({ session, position }, encoded) {
      const { first, last, bytes, wholes, wholeBytes } = encoded;
      const stored = { session, position, first, last, bytes };
      const shared: MakeFrames = (cursor) => {
        const known = frames[cursor].get(group);
        if (known !== undefined) return known;
        const made = makeFrames(stored, cursor);
        frames[cursor].add(group, made, made.bytes.length);
        return made;
      };
      const group = openGroup(stored, { frames: shared, written: () => written.get(group) });
      written.add(group, { wholes, events: null, wasAsked: false }, wholeBytes);
      return group;
    },
    stored: (stored) => openGroup(stored, { frames: (cursor) => makeFrames(stored, cursor), written: () => undefined }),
  };
}

/** What is at hand of a group without decoding it. */
interface Written {
  readonly wholes: readonly UniversalEvent[];
  /** All events, when somebody asks for them a second time: of a flood they would fill the heap for one reader. */
  events: readonly UniversalEvent[] | null;
  wasAsked: boolean;
}

interface Sources {
  readonly frames: MakeFrames;
  /** As long as it is kept. */
  readonly written: () => Written | undefined;
}

function openGroup({ session, position, first, last, bytes }: StoredGroup, { frames, written }: Sources): EventGroup {
  return {
    session,
    first,
    last,
    position,
    size: bytes.length,
    time: () => (written()?.wholes[0] ?? decodeFirst(bytes)).time,
    events(after = 0) {
      const events = eventsOf(bytes, written());
      return after < first ? events : events.slice(after - first + 1);
    },
    notable: () => written()?.wholes.filter(({ type }) => type !== "item.delta") ?? decodeNotable(bytes),
    sse: (cursor, { from = first, to = Number.POSITIVE_INFINITY } = {}) =>
      cut(frames(cursor), { from: from - first, to: to - first + 1 }),
  };
}

function eventsOf(bytes: Uint8Array, written: Written | undefined): readonly UniversalEvent[] {
  if (written === undefined) return decodeEvents(bytes);
  const events = written.events ?? decodeEvents(bytes, written.wholes);
  if (written.wasAsked) written.events = events;
  written.wasAsked = true;
  return events;
}

const frameId = ({ first, position }: StoredGroup, cursor: SseCursor): FrameId =>
  cursor === "sequence" ? { text: "", first } : { text: `${position}.`, first: 0 };

/** The frames `[from, to)`. */
function cut({ bytes, starts }: Frames, { from, to }: { from: number; to: number }): Buffer {
  if (from <= 0 && to >= starts.length) return bytes;
  return bytes.subarray(starts[Math.max(0, from)] ?? bytes.length, starts[to] ?? bytes.length);
}
