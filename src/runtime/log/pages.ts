/** Reading a session in pages: events by offset, with their native lines where asked, and items by number. */
import { isRemoved, itemsOf, type Snapshot } from "../../core/snapshot.ts";
import type { UniversalEvent } from "../../protocol/events.ts";
import { itemNumber, type SessionId } from "../../protocol/ids.ts";
import type { Item } from "../../protocol/items.ts";
import type { NativeLine } from "../../protocol/resources.ts";
import type { EventGroup, EventLog } from "./contract.ts";

const READ_BYTES = 256 * 1024;
const NATIVE_PAGE = 1_000;

export interface EventsQuery {
  readonly offset: number;
  readonly limit: number;
  readonly includeRaw: boolean;
}

export async function readEvents(log: EventLog, id: SessionId, { offset, limit, includeRaw }: EventsQuery) {
  const events: UniversalEvent[] = [];
  let after = offset;
  while (events.length <= limit) {
    const groups = await log.read(id, { after, maxBytes: READ_BYTES });
    if (groups.length === 0) break;
    for (const group of groups) {
      events.push(...group.events(after).slice(0, limit + 1 - events.length));
      after = group.last;
      if (events.length > limit) break;
    }
  }
  const page = events.slice(0, limit);
  return { events: includeRaw ? await withRaw(log, id, page) : page, hasMore: events.length > limit };
}

/** Native lines are stored once, beside the events: an event names the line that caused it. */
async function withRaw(log: EventLog, id: SessionId, events: readonly UniversalEvent[]): Promise<UniversalEvent[]> {
  const wanted = new Set(events.flatMap(({ cause }) => (cause.line === null ? [] : [cause.line])));
  const natives = new Map<number, NativeLine>();
  for (const line of [...wanted].sort((a, b) => a - b)) {
    if (natives.has(line)) continue;
    const { lines } = await log.readNative(id, { after: line - 1, limit: NATIVE_PAGE });
    for (const one of lines) if (wanted.has(one.line)) natives.set(one.line, one);
  }
  return events.map((event) => {
    const line = event.cause.line === null ? undefined : natives.get(event.cause.line);
    return { ...event, raw: promptOf(event, line) ?? line?.native ?? null };
  });
}

/** A prompt that had not been sent when its item was made, because the agent had still to start: as it was given. */
function promptOf(event: UniversalEvent, line: NativeLine | undefined): unknown {
  if (event.type !== "item.started" && event.type !== "item.completed") return null;
  if (event.cause.rule?.startsWith("prompt.") !== true || line?.from === "host") return null;
  const { content } = event.data.item;
  const text = content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("");
  const attachments = content.flatMap((part) => (part.type === "file_ref" ? [{ path: part.path }] : []));
  return { type: "prompt", text, ...(attachments.length === 0 ? {} : { attachments }) };
}

export interface ItemsQuery {
  /** The number of the item behind the page. */
  readonly before: number;
  readonly limit: number;
}

/** The latest items are in the snapshot, and those still open; older ones are read from the log. */
export async function readItems(
  log: EventLog,
  { id, snapshot, query }: { id: SessionId; snapshot: Snapshot; query: ItemsQuery },
): Promise<readonly Item[]> {
  const { limit } = query;
  const { removed } = snapshot;
  const known = new Map<number, Item>();
  let { before } = query;
  let finished = 0;
  for (const item of itemsOf(snapshot)) {
    const number = itemNumber(item.item_id);
    if (number === null || number >= query.before) continue;
    known.set(number, item);
    if (item.status === "in_progress") continue;
    // A snapshot forgets the oldest first: all that was finished behind this one is known.
    before = Math.min(before, number);
    finished += 1;
  }
  const older = finished >= limit ? [] : await finishedBefore(log, id, { before, limit: limit - finished });
  const items = new Map(older.filter((item) => !isRemoved(removed, item)).map((item) => [numberOf(item), item]));
  const ordered = [...items, ...known].sort(([a], [b]) => a - b).map(([, item]) => item);
  return ordered.slice(-limit);
}

const numberOf = ({ item_id }: Item): number => itemNumber(item_id) ?? 0;

async function finishedBefore(log: EventLog, id: SessionId, query: ItemsQuery): Promise<Item[]> {
  const items: Item[] = [];
  let group: EventGroup | undefined;
  for (const sequence of await log.itemsBefore(id, query)) {
    if (group === undefined || sequence < group.first || sequence > group.last) {
      [group] = await log.read(id, { after: sequence - 1, maxBytes: 1 });
    }
    const event = group?.notable().find((one) => one.sequence === sequence);
    if (event?.type === "item.completed") items.push(event.data.item);
  }
  return items;
}
