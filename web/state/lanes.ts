/** The lanes of what is open: native lines are loaded beside the events, and rows are made a few ms at a time. */
import { computed, effect, signal } from "@preact/signals";
import {
  categoryOf as categoryOfEvent,
  type Group,
  type LaneCategory,
  type LaneRow,
  type LaneTable,
  type Merger,
  matchesCategory,
  matchesText,
  openMerger,
  openTable,
} from "../model/lanes.ts";
import { daemon } from "./link.ts";
import { loadLanes } from "./load.ts";
import { loadEarlier } from "./session.ts";
import type { SessionStore } from "./store.ts";

export const isFolded = signal(true);
export const laneSearch = signal("");
export const category = signal<LaneCategory | null>(null);
/** Lanes that are not shown, by name. */
export const hiddenLanes = signal<ReadonlySet<string>>(new Set());

interface Open {
  readonly store: SessionStore;
  readonly table: LaneTable;
  readonly merger: Merger;
  /** How many events were handed over. */
  taken: number;
  /** The first sequence that was handed over. */
  readonly first: number;
  lastLine: number;
  waiting: Group[];
  stopped: boolean;
}

export const table = signal<LaneTable | null>(null);
/** Grows when rows were added. */
export const laneRev = signal(0);
export const laneProgress = signal("");

let open: Open | null = null;

const SLICE_MS = 10;
const NATIVE_PAGE = 10_000;

/** Starts with the rows of a store, and follows it until the returned function is called. */
export function followLanes(store: SessionStore): () => void {
  const stop = { isStopped: false, dispose: () => {} };
  void start(store, stop);
  return () => {
    stop.isStopped = true;
    stop.dispose();
    if (open?.store === store) {
      open.stopped = true;
      open = null;
      table.value = null;
    }
  };
}

interface Stop {
  isStopped: boolean;
  dispose: () => void;
}

async function start(store: SessionStore, stop: Stop): Promise<void> {
  laneProgress.value = "Loading…";
  const lanes = await loadLanes();
  if (store.kind === "session") {
    laneProgress.value = "Loading events…";
    await loadEarlier(store, { all: true }).catch(() => {});
  }
  if (stop.isStopped) return;
  const first = store.events[0];
  const opened: Open = {
    store,
    table: openTable(lanes),
    merger: openMerger(),
    taken: 0,
    first: first?.sequence ?? 1,
    lastLine: firstLine(store) - 1,
    waiting: store.kind === "recording" ? [...store.groups] : [],
    stopped: false,
  };
  open = opened;
  table.value = opened.table;
  if (store.kind === "recording") return work(opened);
  stop.dispose = effect(() => {
    store.rev.value;
    void pull(opened);
  });
}

/** Of a session that is not loaded whole, lines before the first event are not wanted. */
function firstLine(store: SessionStore): number {
  if ((store.events[0]?.sequence ?? 1) <= 1) return 1;
  return store.events.find(({ cause }) => cause.line !== null)?.cause.line ?? 1;
}

let pulling: Promise<void> | null = null;

async function pull(opened: Open): Promise<void> {
  if (pulling !== null) return;
  pulling = readNew(opened).finally(() => {
    pulling = null;
    // What came in the meantime.
    if (!opened.stopped && opened.taken < opened.store.events.length) void pull(opened);
  });
  await pulling;
}

async function readNew(opened: Open): Promise<void> {
  const { store, merger } = opened;
  const events = store.events.slice(opened.taken);
  opened.taken = store.events.length;
  merger.addEvents(events);
  try {
    for (let hasMore = true; hasMore && !opened.stopped; ) {
      const page = await daemon().session(store.id).listNative({ offset: opened.lastLine, limit: NATIVE_PAGE });
      merger.addNative(page.lines);
      opened.lastLine = page.lines.at(-1)?.line ?? opened.lastLine;
      hasMore = page.hasMore && page.lines.length > 0;
      if (hasMore) laneProgress.value = `Loading native lines: ${opened.lastLine.toLocaleString("en")}`;
    }
  } catch {
    // The daemon is gone for the moment: the rows come without their lines, rather than not at all.
  }
  const isIdle = store.live.turn === null && opened.taken === store.events.length;
  opened.waiting.push(...merger.take({ all: isIdle }));
  await work(opened);
}

/** The page stays quick: other work comes between two slices. */
async function work(opened: Open): Promise<void> {
  const groups = opened.waiting;
  opened.waiting = [];
  for (let index = 0; index < groups.length && !opened.stopped; ) {
    const until = performance.now() + SLICE_MS;
    while (index < groups.length && performance.now() < until) {
      for (const end = Math.min(groups.length, index + 64); index < end; index += 1) {
        const group = groups[index];
        if (group !== undefined) opened.table.add(group);
      }
    }
    laneRev.value += 1;
    laneProgress.value = index < groups.length ? `${Math.floor((index / groups.length) * 100)} %` : "";
    await new Promise((resolve) => setTimeout(resolve, 0));
  }
  laneProgress.value = "";
  laneRev.value += 1;
}

interface Found {
  readonly source: readonly LaneRow[];
  readonly wanted: string;
  readonly kind: LaneCategory | null;
  readonly rows: LaneRow[];
  /** How much of the source was looked at. */
  upTo: number;
}

let found: Found | null = null;

/** The rows that the filters leave. While rows are added only the new ones are looked at. */
export const shownLaneRows = computed((): readonly LaneRow[] => {
  laneRev.value;
  const source = isFolded.value ? table.value?.folded : table.value?.rows;
  if (source === undefined) return [];
  const wanted = laneSearch.value.trim().toLowerCase();
  const kind = category.value;
  if (wanted === "" && kind === null) return source.slice();
  if (found === null || found.source !== source || found.wanted !== wanted || found.kind !== kind) {
    found = { source, wanted, kind, rows: [], upTo: 0 };
  }
  // The last folded row may have grown since.
  for (; found.upTo < source.length; found.upTo += 1) {
    const row = source[found.upTo];
    if (row === undefined) continue;
    if (kind !== null && !matchesCategory(row, kind)) continue;
    if (wanted === "" || matchesText(row, wanted)) found.rows.push(row);
  }
  return found.rows.slice();
});

export function categoryCounts(): ReadonlyMap<LaneCategory | null, number> {
  laneRev.value;
  const rows = table.value?.rows ?? [];
  if (counted.rows !== rows) counted = { rows, upTo: 0, counts: new Map() };
  for (; counted.upTo < rows.length; counted.upTo += 1) {
    for (const event of rows[counted.upTo]?.events ?? []) {
      add(counted.counts, null);
      const kind = categoryOfEvent(event);
      if (kind !== null) add(counted.counts, kind);
    }
  }
  return counted.counts;
}

interface Counted {
  readonly rows: readonly LaneRow[];
  upTo: number;
  readonly counts: Map<LaneCategory | null, number>;
}

let counted: Counted = { rows: [], upTo: 0, counts: new Map() };

function add(counts: Map<LaneCategory | null, number>, kind: LaneCategory | null): void {
  counts.set(kind, (counts.get(kind) ?? 0) + 1);
}
