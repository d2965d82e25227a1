/** Groups of stored events as consumers see them: values, or shared bytes of server-sent events. */
import type { SessionId } from "../../../protocol/ids.ts";
import type { EncodedEvents, EventGroup, SseCursor } from "../contract.ts";
import { type Cache, openCache } from "./cache.ts";
import { decodeEvents, decodeFirst, decodeNotable } from "./decode.ts";
import { encodeFrames, type FrameId, type Frames } from "./frames.ts";
import { newScratch } from "./line-writer.ts";

/**
 * Consumers who keep up want the same groups at about the same time. The events of the writer are kept for them, as
 * much as would be this many bytes of JSON, and so many bytes of frames for each kind of cursor.
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
  const scratch = newScratch();
  const events = openCache<EventGroup, EncodedEvents>({ maxBytes: EVENTS_BYTES });
  const frames: Record<SseCursor, Cache<EventGroup, Frames>> = {
    sequence: openCache({ maxBytes: FRAMES_BYTES }),
    position: openCache({ maxBytes: FRAMES_BYTES }),
  };
  const makeFrames = (stored: StoredGroup, cursor: SseCursor): Frames =>
    encodeFrames(stored.bytes, { id: frameId(stored, cursor), scratch });

  return {
    committed({ session, position }, encoded) {
      const { first, last, bytes } = encoded;
      const stored = { session, position, first, last, bytes };
      const shared: MakeFrames = (cursor) => {
        const known = frames[cursor].get(group);
        if (known !== undefined) return known;
        const made = makeFrames(stored, cursor);
        frames[cursor].add(group, made, made.bytes.length);
        return made;
      };
      const group = openGroup(stored, { frames: shared, written: () => events.get(group) });
      events.add(group, encoded, encoded.wholeBytes);
      return group;
    },
    stored: (stored) => openGroup(stored, { frames: (cursor) => makeFrames(stored, cursor), written: () => undefined }),
  };
}

interface Sources {
  readonly frames: MakeFrames;
  /** What the writer had, as long as it is kept. */
  readonly written: () => EncodedEvents | undefined;
}

function openGroup({ session, position, first, last, bytes }: StoredGroup, { frames, written }: Sources): EventGroup {
  return {
    session,
    first,
    last,
    position,
    size: bytes.length,
    time: () => (written()?.events[0] ?? decodeFirst(bytes)).time,
    events(after = 0) {
      const events = written()?.events ?? decodeEvents(bytes);
      return after < first ? events : events.slice(after - first + 1);
    },
    notable: () => written()?.notable ?? decodeNotable(bytes),
    sse: (cursor, { from = first, to = Number.POSITIVE_INFINITY } = {}) =>
      cut(frames(cursor), { from: from - first, to: to - first + 1 }),
  };
}

const frameId = ({ first, position }: StoredGroup, cursor: SseCursor): FrameId =>
  cursor === "sequence" ? { text: "", first } : { text: `${position}.`, first: 0 };

/** The frames `[from, to)`. */
function cut({ bytes, starts }: Frames, { from, to }: { from: number; to: number }): Buffer {
  if (from <= 0 && to >= starts.length) return bytes;
  return bytes.subarray(starts[Math.max(0, from)] ?? bytes.length, starts[to] ?? bytes.length);
}
