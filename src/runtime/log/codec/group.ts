/** Committed groups of events: finding one, and reading what it holds. */
import type { UniversalEvent } from "../../../protocol/events.ts";
import type { EventGroup } from "../../session/contract.ts";
import { parsePacked } from "./telling.ts";

/** The events of a group after a sequence. */
export function eventsOf(group: EventGroup, after = 0): UniversalEvent[] {
  const events = parsePacked(group.packed);
  return after < group.first ? events : events.slice(after - group.first + 1);
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
