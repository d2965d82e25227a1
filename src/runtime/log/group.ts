/** Groups of events as bytes: encoded once, shared by the log and by every reader. */
import type { UniversalEvent } from "../../protocol/events.ts";
import type { SessionId } from "../../protocol/ids.ts";
import type { EventGroup } from "../contract.ts";
import type { Encoded } from "./contract.ts";

const NEWLINE = 10;

export interface GroupFields extends Encoded {
  readonly session: SessionId;
  readonly position: number;
}

export function makeGroup({ session, first, last, position, bytes }: GroupFields): EventGroup {
  let offsets: readonly number[] | null = null;
  return {
    session,
    first,
    last,
    position,
    bytes,
    // Found when somebody needs them: JSON holds no bare newline, so each one ends an event.
    get offsets() {
      offsets ??= lineStarts(bytes);
      return offsets;
    },
  };
}

function lineStarts(bytes: Uint8Array): number[] {
  const starts: number[] = [];
  for (let at = 0; at < bytes.length; ) {
    starts.push(at);
    const end = bytes.indexOf(NEWLINE, at);
    if (end < 0) break;
    at = end + 1;
  }
  return starts;
}

/** The events of a group after a sequence. */
export function eventsOf(group: EventGroup, after: number): UniversalEvent[] {
  const skip = Math.max(0, after - group.first + 1);
  const start = group.offsets[skip];
  if (start === undefined) return [];
  return parseLines<UniversalEvent>(group.bytes.subarray(start));
}

/** Binary search from `low` on: the index of the first group for which it holds. */
export function firstAfter(
  groups: readonly (EventGroup | undefined)[],
  holds: (group: EventGroup) => boolean,
  low = 0,
): number {
  let from = low;
  let to = groups.length;
  while (from < to) {
    const middle = (from + to) >>> 1;
    const group = groups[middle];
    if (group !== undefined && holds(group)) to = middle;
    else from = middle + 1;
  }
  return from;
}

/** What we encoded ourselves is trusted: stored lines are not checked again. */
export function parseLines<T>(bytes: Uint8Array): T[] {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8").trimEnd();
  if (text === "") return [];
  const lines: T[] = JSON.parse(`[${text.replaceAll("\n", ",")}]`);
  return lines;
}
