/** Which turns of a conversation's files are news to its session: neither imported before nor run by it. */
import type { Adapter } from "../../core/adapter.ts";
import { convertRecords } from "../../core/replay.ts";
import type { FileTurn } from "../../core/session-files.ts";
import type { UniversalEvent } from "../../protocol/events.ts";
import type { SessionId } from "../../protocol/ids.ts";
import type { Item } from "../../protocol/items.ts";
import type { EventLog } from "../log/contract.ts";

const READ_BYTES = 256 * 1024;

export interface KnownTurns {
  readonly id: SessionId;
  readonly adapter: Adapter;
  /** How many lines of each turn were imported, by its key. */
  readonly known: Readonly<Record<string, number>>;
  readonly turns: readonly FileTurn[];
}

/** A turn that was cut when it was imported, and has grown since, comes with its rest. */
export async function newTurns(log: EventLog, { id, adapter, known, turns }: KnownTurns): Promise<FileTurn[]> {
  const grown = turns.flatMap((turn): FileTurn[] => {
    const lines = known[turn.key];
    if (lines === undefined) return [turn];
    const entries = turn.entries.slice(lines);
    return turn.entries.length > lines && entries.some(({ type }) => type !== "exit") ? [{ ...turn, entries }] : [];
  });
  if (grown.length === 0) return [];
  const own = await namesIn(log, id);
  return grown.filter((turn) => {
    const events = [...convertRecords({ adapter, id, records: turn.entries })];
    return !events.some((event) => nameOf(event).some((name) => own.has(name)));
  });
}

/** Every name that the session's items have with the agent. */
async function namesIn(log: EventLog, id: SessionId): Promise<ReadonlySet<string>> {
  const names = new Set<string>();
  for (let after = 0; ; ) {
    const groups = await log.read(id, { after, maxBytes: READ_BYTES });
    if (groups.length === 0) return names;
    for (const group of groups) {
      after = group.last;
      for (const event of group.notable()) for (const name of nameOf(event)) names.add(name);
    }
  }
}

function nameOf(event: UniversalEvent): string[] {
  if (event.type !== "item.completed") return [];
  const item: Item = event.data.item;
  // Live and in the files, a prompt has different names.
  if (item.role === "user") return [];
  return [item.native_item_id, item.message_id].filter((name) => typeof name === "string");
}
