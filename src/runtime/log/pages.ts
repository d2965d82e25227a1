/** Reading a session in pages: events by offset, with their native lines where asked, and items by number. */
import { isRemoved, itemsOf, type Snapshot } from "../../core/snapshot.ts";
import { ApiError } from "../../protocol/errors.ts";
import type { UniversalEvent } from "../../protocol/events.ts";
import { itemNumber, type SessionId } from "../../protocol/ids.ts";
import type { Item } from "../../protocol/items.ts";
import type { NativeLine } from "../../protocol/resources.ts";
import type { EventLog } from "./contract.ts";

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
  readonly before: string;
  readonly limit: number;
}

/** Items are finished in about the order they began; those still open are in the snapshot. */
export async function readItems(
  log: EventLog,
  { id, snapshot, query }: { id: SessionId; snapshot: Snapshot; query: ItemsQuery },
): Promise<readonly Item[]> {
  const before = itemNumber(query.before);
  if (before === null) throw new ApiError("invalid_request", `${query.before} is no item of session ${id}.`);
  const items = new Map<number, Item>();
  const sequences = await log.itemsBefore(id, { before, limit: query.limit });
  for (const sequence of sequences) {
    const [group] = await log.read(id, { after: sequence - 1, maxBytes: 1 });
    const [event] = group === undefined ? [] : group.events(sequence - 1);
    if (event?.type !== "item.completed" || isRemoved(snapshot.removed, event.data.item)) continue;
    items.set(itemNumber(event.data.item.item_id) ?? 0, event.data.item);
  }
  for (const item of itemsOf(snapshot)) {
    const number = itemNumber(item.item_id);
    if (number !== null && number < before) items.set(number, item);
  }
  const ordered = [...items].sort(([a], [b]) => a - b).map(([, item]) => item);
  return ordered.slice(-query.limit);
}
