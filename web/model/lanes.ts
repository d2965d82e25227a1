/** Rows of the lanes: one per cause, with the native line, the events it led to and what each client was sent. */
import { type Lane, type LaneCell, summariseEvent, summariseNative } from "../../src/core/lanes.ts";
import type { UniversalEvent } from "../../src/protocol/events.ts";
import type { NativeLine } from "../../src/protocol/resources.ts";

/** What one cause led to: a native line, or something the daemon did by itself. */
export interface Group {
  readonly native: NativeLine | null;
  readonly events: readonly UniversalEvent[];
}

export interface Cell extends LaneCell {
  /** The event that it renders. */
  readonly event: UniversalEvent;
}

export type Band = "busy" | "waiting" | "idle";

export interface LaneRow {
  readonly key: number;
  readonly natives: readonly NativeLine[];
  readonly native: string;
  readonly events: readonly UniversalEvent[];
  /** One column per lane. */
  readonly columns: readonly (readonly Cell[])[];
  /** What the session does when the row is over. */
  readonly band: Band;
  readonly at: number;
  /** Not null where a turn begins with this row. */
  readonly turn: string | null;
  /** How many causes were folded into it. */
  readonly count: number;
  /** Rows with the same key that follow one another may be folded; null for those that stand alone. */
  readonly fold: string | null;
  readonly unparsed: boolean;
}

export interface LaneTable {
  readonly lanes: readonly Lane[];
  /** Every row, in order. */
  readonly rows: LaneRow[];
  /** The same with deltas of one block, and ignored lines alike, folded into one. */
  readonly folded: LaneRow[];
  readonly add: (group: Group) => void;
}

export function openTable(lanes: readonly Lane[]): LaneTable {
  const readers = lanes.map((lane) => lane.open());
  const rows: LaneRow[] = [];
  const folded: LaneRow[] = [];
  const open = new Set<string>();
  let isWaiting = false;
  let at = 0;

  const rowOf = ({ native, events }: Group): LaneRow => {
    const columns: Cell[][] = lanes.map(() => []);
    let turn: string | null = null;
    for (const event of events) {
      if (event.type === "turn.started") {
        open.add(event.data.turn_id);
        turn = event.data.turn_id;
      }
      if (event.type === "turn.ended") open.delete(event.data.turn_id);
      if (event.type === "turn.state") isWaiting = event.data.state === "requires_action";
      if (event.type === "turn.started" || event.type === "turn.ended") isWaiting = false;
      at = Date.parse(event.time);
      for (const [index, read] of readers.entries()) {
        for (const cell of read(event)) columns[index]?.push({ ...cell, event });
      }
    }
    if (events.length === 0 && native !== null) at = Math.max(at, Date.parse(native.time));
    return {
      key: rows.length,
      natives: native === null ? [] : [native],
      native: native === null ? "" : summariseNative(native),
      events,
      columns,
      band: open.size === 0 ? "idle" : isWaiting ? "waiting" : "busy",
      at,
      turn,
      count: 1,
      fold: foldKey({ native, events }),
      unparsed: events.some(({ type }) => type === "agent.unparsed"),
    };
  };

  return {
    lanes,
    rows,
    folded,
    add(group) {
      const row = rowOf(group);
      rows.push(row);
      const last = folded.at(-1);
      if (last === undefined || row.fold === null || last.fold !== row.fold || last.band !== row.band) folded.push(row);
      else folded[folded.length - 1] = joined(last, row);
    },
  };
}

function foldKey({ native, events }: Group): string | null {
  const [event] = events;
  if (event === undefined) return native === null ? null : `quiet ${native.from}`;
  if (events.length !== 1 || event.type !== "item.delta") return null;
  return `${event.session_id} ${event.data.item_id}`;
}

/** Pushing onto the arrays of the row before keeps a flood linear: nobody else holds them. */
function joined(before: LaneRow, row: LaneRow): LaneRow {
  const grow = before.count > 1;
  const natives = appended(before.natives, row.natives, grow);
  const events = appended(before.events, row.events, grow);
  const columns = before.columns.map((cells, index) => appended(cells, row.columns[index] ?? [], grow));
  const native =
    row.events.length > 0 || before.native.split(", ").includes(row.native) || before.native.length > 60
      ? before.native
      : `${before.native}, ${row.native}`;
  return { ...before, natives, events, columns, native, at: row.at, count: before.count + 1 };
}

function appended<T>(before: readonly T[], more: readonly T[], grow: boolean): readonly T[] {
  if (!grow || !isGrowing(before)) return [...before, ...more];
  before.push(...more);
  return before;
}

const isGrowing = <T>(list: readonly T[]): list is T[] => Array.isArray(list);

/** How many lines a row takes: its longest column, at least one. */
export function rowLines(row: LaneRow): number {
  if (row.count > 1) return 1;
  return Math.max(1, row.events.length, ...row.columns.map((cells) => cells.length));
}

/** Puts native lines and events together, as far as both are known. */
export interface Merger {
  readonly addEvents: (events: readonly UniversalEvent[]) => void;
  readonly addNative: (lines: readonly NativeLine[]) => void;
  /** Groups that are complete; with `all`, what is left too. */
  readonly take: (options: { readonly all: boolean }) => Group[];
}

export function openMerger(): Merger {
  const events: UniversalEvent[] = [];
  const lines: NativeLine[] = [];
  let nextEvent = 0;
  let nextLine = 0;
  const lineAt = (): number => lines[nextLine]?.line ?? Number.POSITIVE_INFINITY;
  const group = (native: NativeLine | null): Group => {
    const first = events[nextEvent];
    const taken: UniversalEvent[] = [];
    const isSame = (event: UniversalEvent): boolean =>
      native === null ? event.cause.line === first?.cause.line : event.cause.line === native.line;
    for (let event = first; event !== undefined && isSame(event); event = events[nextEvent]) {
      taken.push(event);
      nextEvent += 1;
    }
    if (native !== null) nextLine += 1;
    return { native, events: taken };
  };
  return {
    addEvents(more) {
      for (const event of more) events.push(event);
    },
    addNative(more) {
      for (const line of more) lines.push(line);
    },
    take({ all }) {
      const out: Group[] = [];
      for (;;) {
        const event = events[nextEvent];
        if (event === undefined) {
          // Lines that led to nothing may still be followed by their events.
          if (!all || nextLine >= lines.length) return out;
          out.push(group(lines[nextLine] ?? null));
          continue;
        }
        const { line } = event.cause;
        if (line === null || line < lineAt()) {
          // Its line came earlier (and has its row), or there is none; one that is not loaded yet is waited for.
          if (line !== null && lineAt() === Number.POSITIVE_INFINITY && !all && line > (lines.at(-1)?.line ?? 0)) {
            return out;
          }
          out.push(group(null));
        } else out.push(group(lines[nextLine] ?? null));
      }
    },
  };
}

export const laneCategories = ["turn", "text", "tools", "permissions", "usage", "errors"] as const;
export type LaneCategory = (typeof laneCategories)[number];

export function categoryOf(event: UniversalEvent): LaneCategory | null {
  switch (event.type) {
    case "turn.started":
    case "turn.state":
    case "turn.continued":
    case "turn.ended":
      return "turn";
    case "item.delta":
      return event.data.part === "tool_output" ? "tools" : "text";
    case "item.started":
    case "item.completed":
      return event.data.item.kind === "tool_call" || event.data.item.kind === "tool_result" ? "tools" : "text";
    case "permission.requested":
    case "permission.resolved":
    case "question.requested":
    case "question.resolved":
      return "permissions";
    case "usage.updated":
      return "usage";
    case "error":
    case "agent.unparsed":
      return "errors";
    default:
      return null;
  }
}

export const matchesCategory = (row: LaneRow, category: LaneCategory): boolean =>
  row.events.some((event) => categoryOf(event) === category);

/** Text is looked for in every column, and in the whole of events that are not deltas. */
export function matchesText(row: LaneRow, wanted: string): boolean {
  if (row.native.toLowerCase().includes(wanted)) return true;
  if (row.columns.some((cells) => cells.some(({ text }) => text.toLowerCase().includes(wanted)))) return true;
  return row.events.some((event) => {
    const text =
      event.type === "item.delta" ? event.data.delta : `${summariseEvent(event)} ${JSON.stringify(event.data)}`;
    return text.toLowerCase().includes(wanted);
  });
}
