/** Lanes: what the agent said, what it meant and how each dialect renders it, side by side, row by row. */
import type { UniversalEvent } from "../protocol/events.ts";
import type { Item } from "../protocol/items.ts";

/** One dialect's column. */
export interface Lane {
  readonly name: string;
  readonly title: string;
  /** How much of the table's width it takes, beside the 26 of the universal column. */
  readonly share: number;
  /** Begins a recording: gives what the dialect says when an event happens. */
  readonly open: () => (event: UniversalEvent) => readonly LaneCell[];
}

export interface LaneCell {
  /** One output in a few words; empty where there is none. */
  readonly text: string;
  /** Whether the session becomes busy or idle with it. */
  readonly isEdge: boolean;
  /** The output itself; undefined where there is none. */
  readonly output: unknown;
}

export interface LaneRow {
  /** Place of the native line in the recording; null for what happened at its end. */
  readonly line: number | null;
  /** In a few words, or empty where the row goes on about the line above. */
  readonly native: string;
  readonly universal: string;
  /** One cell per lane. */
  readonly cells: readonly LaneCell[];
  /** Whether a turn is open when the row is over. */
  readonly busy: boolean;
  /** Which line caused it, and which rule of the turn machine. */
  readonly why: string;
}

/** What one native line led to. */
export interface LaneInput {
  readonly line: number | null;
  /** What was said, as parsed JSON; undefined at the end of the recording. */
  readonly native: unknown;
  readonly from: "agent" | "host" | "process";
  readonly events: readonly UniversalEvent[];
}

export interface Lanes {
  readonly step: (input: LaneInput) => readonly LaneRow[];
  readonly end: () => readonly LaneRow[];
}

interface Merged {
  readonly key: string;
  readonly row: LaneRow;
  count: number;
  text: string;
}

/** Deltas of one block, and ignored lines alike, become one row with their number: people read it. */
export function openLanes(lanes: readonly Lane[]): Lanes {
  const open = new Set<string>();
  const readers = lanes.map((lane) => lane.open());
  let merged: Merged | null = null;

  const flush = (): LaneRow[] => {
    if (merged === null) return [];
    const { row, count, text } = merged;
    merged = null;
    if (count === 1) return [row];
    const said = text === "" ? "" : ` ${JSON.stringify(text)}`;
    const times = (cell: string): string => (cell === "" ? "" : `${headOf(cell)} ×${count}${said}`);
    const native = row.native === "" ? "" : `${row.native} ×${count}`;
    const cells = row.cells.map((cell) => ({ ...cell, text: times(cell.text) }));
    return [{ ...row, native, universal: times(row.universal), cells }];
  };

  return {
    step(input) {
      const rows = rowsOf({ input, readers, open });
      const delta = mergeable(input, rows);
      const [first] = rows;
      if (delta === null || rows.length !== 1 || first === undefined) return [...flush(), ...rows];
      if (merged !== null && merged.key === delta.key) {
        merged.count += 1;
        merged.text += delta.text;
        return [];
      }
      const before = flush();
      merged = { key: delta.key, row: first, count: 1, text: delta.text };
      return before;
    },
    end: flush,
  };
}

function mergeable(
  { events, native }: LaneInput,
  rows: readonly LaneRow[],
): { readonly key: string; readonly text: string } | null {
  if (events.length === 0 && native !== undefined) return { key: `quiet ${rows[0]?.native ?? ""}`, text: "" };
  const [event] = events;
  if (events.length !== 1 || event?.type !== "item.delta") return null;
  return { key: `${event.session_id} ${event.data.item_id}`, text: event.data.delta };
}

/** `message.part.delta "Hello"` without what was said. */
const headOf = (cell: string): string => cell.replace(/ ".*$/s, "");

interface Reading {
  readonly input: LaneInput;
  readonly readers: readonly ReturnType<Lane["open"]>[];
  /** Sessions with an open turn. */
  readonly open: Set<string>;
}

function rowsOf({ input, readers, open }: Reading): LaneRow[] {
  const { line, events } = input;
  const native = input.native === undefined ? "(end)" : summariseNative(input);
  const rows: LaneRow[] = [];
  for (const event of events) {
    if (event.type === "turn.started") open.add(event.session_id);
    if (event.type === "turn.ended") open.delete(event.session_id);
    const columns = readers.map((read) => read(event));
    const height = Math.max(1, ...columns.map((cells) => cells.length));
    for (let index = 0; index < height; index += 1) {
      rows.push({
        line,
        native: rows.length === 0 ? native : "",
        universal: index === 0 ? summariseEvent(event) : "",
        cells: columns.map((cells) => cells[index] ?? noCell),
        busy: open.size > 0,
        why: index === 0 ? whyOf(event) : "",
      });
    }
  }
  if (rows.length > 0 || input.native === undefined) return rows;
  const cells = readers.map(() => noCell);
  return [{ line, native, universal: "", cells, busy: open.size > 0, why: "ignored line" }];
}

const noCell: LaneCell = { text: "", isEdge: false, output: undefined };

function whyOf({ cause, synthetic, source }: UniversalEvent): string {
  const line = cause.line === null ? source : `line ${cause.line}`;
  const rule = cause.rule === undefined ? "" : `, ${cause.rule}`;
  return `${line}${rule}${synthetic ? ", made" : ""}`;
}

export function summariseEvent(event: UniversalEvent): string {
  switch (event.type) {
    case "turn.started":
      return `turn.started (${event.data.origin})`;
    case "turn.state":
      return `turn.state ${event.data.state}`;
    case "turn.ended":
      return `turn.ended ${event.data.reason} (${event.data.evidence})`;
    case "item.started":
    case "item.completed":
      return `${event.type} (${itemWords(event.data.item)})`;
    case "item.delta":
      return `item.delta ${event.data.part} ${JSON.stringify(event.data.delta)}`;
    case "permission.requested":
    case "permission.resolved":
      return `${event.type} (${event.data.action}, ${event.data.status})`;
    case "question.requested":
    case "question.resolved":
      return `${event.type} (${event.data.status})`;
    case "usage.updated":
      return `usage.updated${event.data.step === null ? "" : ` (step ${event.data.step.index})`}`;
    case "error":
      return `error ${JSON.stringify(event.data.message)}`;
    default:
      return event.type;
  }
}

function itemWords({ kind, role, status, content, subagent }: Item): string {
  const of = subagent === undefined ? "" : `, subagent ${subagent.name ?? subagent.id}`;
  const failed = status === "failed" ? ", failed" : "";
  const [part] = content;
  switch (part?.type) {
    case "tool_call":
      return `tool_call ${part.name}${failed}${of}`;
    case "tool_result":
      return `tool_result${part.is_error ? " error" : ""}${failed}${of}`;
    case "reasoning":
      return `reasoning${failed}${of}`;
    case "text":
      return `${role} ${kind}${failed}${of}`;
    default:
      return `${kind}${failed}${of}`;
  }
}

/** The words that distinguish one native line from another, whatever agent wrote it. */
export function summariseNative({ native, from }: Pick<LaneInput, "native" | "from">): string {
  const arrow = from === "host" ? "→ " : from === "process" ? "× " : "";
  const words = new Set<string>();
  gather(native, { words, depth: 0 });
  if (words.size > 0) return arrow + [...words].slice(0, MAX_WORDS).join(" ");
  return arrow + (JSON.stringify(native) ?? "").slice(0, MAX_TEXT);
}

const MAX_WORDS = 5;
const MAX_TEXT = 120;
const MAX_DEPTH = 4;

/** Fields that name things in agents' streams, the most informative first. */
const informative = ["type", "subtype", "method", "name", "tool", "status"] as const;
const nested = [
  "event",
  "properties",
  "params",
  "payload",
  "item",
  "part",
  "state",
  "message",
  "content",
  "content_block",
  "delta",
  "request",
  "response",
] as const;

function gather(value: unknown, { words, depth }: { words: Set<string>; depth: number }): void {
  if (depth > MAX_DEPTH || typeof value !== "object" || value === null) return;
  if (Array.isArray(value)) {
    for (const one of value.slice(0, 3)) gather(one, { words, depth: depth + 1 });
    return;
  }
  const fields = new Map<string, unknown>(Object.entries(value));
  for (const key of informative) {
    const field = fields.get(key);
    if (typeof field === "string" && field.length < 60) words.add(field);
  }
  for (const key of nested) gather(fields.get(key), { words, depth: depth + 1 });
}
