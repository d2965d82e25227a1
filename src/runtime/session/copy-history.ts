/** Copies what was said and done in a session into a fork of it, so that the fork can be read by itself. */
import type { CopiedItem } from "../../core/copied-history.ts";
import { isRemoved } from "../../core/snapshot.ts";
import type { MessagePlace } from "../../protocol/events.ts";
import type { ItemId, SessionId } from "../../protocol/ids.ts";
import type { Item } from "../../protocol/items.ts";
import type { EventLog } from "../log/contract.ts";
import type { OpenSession } from "./open-session.ts";

const READ_BYTES = 256 * 1024;
/** How many items are stored at once. */
const CHUNK = 100;

export interface Origin {
  readonly id: SessionId;
  /** Up to this event. */
  readonly until: number;
  /** Up to this message, without it. */
  readonly before?: string | undefined;
}

export async function copyHistory(log: EventLog, open: OpenSession, origin: Origin): Promise<void> {
  const items = await readConversation(log, origin);
  const places = new Map(items.map(({ item_id }, place) => [item_id, place]));
  const copied = items.map(
    (item): CopiedItem => ({ item, parent: item.parent_id === null ? null : (places.get(item.parent_id) ?? null) }),
  );
  for (let at = 0; at < copied.length; at += CHUNK)
    await open.writer.submit({ type: "copied", items: copied.slice(at, at + CHUNK) });
}

/** The session's own conversation, without what is open and what was removed; that of its subagents is theirs. */
export async function readConversation(log: EventLog, { id, until, before }: Origin): Promise<readonly Item[]> {
  const begun = new Map<ItemId, Item | null>();
  const removed: MessagePlace[] = [];
  for (let after = 0; after < until; ) {
    const groups = await log.read(id, { after, maxBytes: READ_BYTES });
    if (groups.length === 0) break;
    for (const group of groups) {
      after = group.last;
      for (const event of group.events()) {
        if (event.sequence > until) break;
        if (event.type === "session.updated") removed.push(...(event.data.removed ?? []));
        if (event.type === "item.started" && isCopied(event.data.item)) begun.set(event.data.item.item_id, null);
        if (event.type === "item.completed" && begun.has(event.data.item.item_id))
          begun.set(event.data.item.item_id, event.data.item);
      }
    }
  }
  const items = [...begun.values()].flatMap((item) => (item === null || isRemoved(removed, item) ? [] : [item]));
  const end = before === undefined ? -1 : items.findIndex((item) => isNamed(item, before));
  return end < 0 ? items : items.slice(0, end);
}

const kinds: ReadonlySet<Item["kind"]> = new Set<Item["kind"]>(["message", "tool_call", "tool_result"]);

const isCopied = ({ kind, subagent }: Item): boolean => kinds.has(kind) && subagent === undefined;

const isNamed = ({ message_id, native_item_id }: Item, name: string): boolean =>
  message_id === name || native_item_id === name;
