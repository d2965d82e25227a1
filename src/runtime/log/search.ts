/** Finding a group among those that are held in memory, which are in order. */
import type { EventGroup } from "./contract.ts";

/** Binary search: the index of the first group for which it holds. Entries that were dropped count as before it. */
export function firstGroup(groups: readonly (EventGroup | undefined)[], holds: (group: EventGroup) => boolean): number {
  let from = 0;
  let to = groups.length;
  while (from < to) {
    const middle = (from + to) >>> 1;
    const group = groups[middle];
    if (group !== undefined && holds(group)) to = middle;
    else from = middle + 1;
  }
  return from;
}
