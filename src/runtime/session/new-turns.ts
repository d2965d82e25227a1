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
  const own = await saidIn(log, id);
  return grown.filter((turn) => {
    const events = [...convertRecords({ adapter, id, records: turn.entries })];
    return !events.some((event) => isNamed(own, event) || isAsked(own, event));
  });
}

/** What a session has said. */
interface Said {
  /** Every name that its items have with the agent. */
  readonly names: Set<string>;
  /** The words of its prompts. */
  readonly prompts: Set<string>;
  /** From when to when its turns were, in epoch milliseconds. */
  readonly turns: { readonly from: number; until: number }[];
}

async function saidIn(log: EventLog, id: SessionId): Promise<Said> {
  const said: Said = { names: new Set(), prompts: new Set(), turns: [] };
  for (let after = 0; ; ) {
    const groups = await log.read(id, { after, maxBytes: READ_BYTES });
    if (groups.length === 0) return said;
    for (const group of groups) {
      after = group.last;
      for (const event of group.notable()) note(said, event);
    }
  }
}

function note({ names, prompts, turns }: Said, event: UniversalEvent): void {
  for (const name of nameOf(event)) names.add(name);
  const prompt = promptOf(event);
  if (prompt !== null) prompts.add(prompt);
  const time = Date.parse(event.time);
  if (event.type === "turn.started") turns.push({ from: time, until: time });
  const last = turns.at(-1);
  if (event.type === "turn.ended" && last !== undefined) last.until = time;
}

const isNamed = ({ names }: Said, event: UniversalEvent): boolean => nameOf(event).some((name) => names.has(name));

/** Some agents name nothing in their live stream: the same words were then asked during a turn of ours. */
function isAsked({ prompts, turns }: Said, event: UniversalEvent): boolean {
  const prompt = promptOf(event);
  if (prompt === null || !prompts.has(prompt)) return false;
  const time = Date.parse(event.time);
  return turns.some(({ from, until }) => from <= time && time <= until);
}

function promptOf(event: UniversalEvent): string | null {
  if (event.type !== "item.completed") return null;
  const { role, kind, content }: Item = event.data.item;
  if (role !== "user" || kind !== "message") return null;
  return content.map((part) => (part.type === "text" ? part.text : "")).join("\n");
}

function nameOf(event: UniversalEvent): string[] {
  if (event.type !== "item.completed") return [];
  const item: Item = event.data.item;
  // Live and in the files, a prompt has different names.
  if (item.role === "user") return [];
  return [item.native_item_id, item.message_id].filter((name) => typeof name === "string");
}
