/** Lanes: native | universal | every projection, aligned by cause, with the reason of each event beside them. */
import { type Signal, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { Virtualizer, type VirtualizerHandle } from "virtua";
import type { UniversalEvent } from "../../src/protocol/events.ts";
import { type LaneCategory, type LaneRow, laneCategories } from "../model/lanes.ts";
import { agentName } from "../model/words.ts";
import { onKeys } from "../state/keys.ts";
import {
  category,
  categoryCounts,
  followLanes,
  hiddenLanes,
  isFolded,
  laneProgress,
  laneRev,
  laneSearch,
  shownLaneRows,
  table,
} from "../state/lanes.ts";
import { selected } from "../state/selection.ts";
import type { SessionStore } from "../state/store.ts";
import { Icon } from "./icons.tsx";
import { LaneDetail } from "./lane-detail.tsx";
import { LaneRowView } from "./lane-row.tsx";
import { Menu } from "./menu.tsx";
import { Sheet } from "./panel-sheet.tsx";
import { Scrubber, stepBy } from "./scrubber.tsx";

export function LanesView({ store }: { readonly store: SessionStore }) {
  useEffect(() => followLanes(store), [store]);
  return (
    <main class="lanes-view" aria-label="Lanes">
      <Filters />
      <div class="lanes-body">
        <Table store={store} />
        <aside class="detail panel" aria-label="Event">
          <LaneDetail store={store} />
        </aside>
      </div>
      <Scrubber store={store} />
    </main>
  );
}

const labels: Readonly<Record<LaneCategory, string>> = {
  turn: "Turn",
  text: "Text",
  tools: "Tools",
  permissions: "Permissions",
  usage: "Usage",
  errors: "Errors",
};

function Filters() {
  const counts = categoryCounts();
  const chip = (name: LaneCategory | null, label: string) => (
    <button
      key={label}
      type="button"
      class="chip"
      aria-pressed={category.value === name}
      onClick={() => {
        category.value = name;
      }}
    >
      {label} <span class="num">{(counts.get(name) ?? 0).toLocaleString("en")}</span>
    </button>
  );
  return (
    <div class="filter">
      <label class="field">
        <Icon sign="search" />
        <input
          id="lane-search"
          type="search"
          placeholder="Search events"
          aria-label="Search events"
          value={laneSearch.value}
          onInput={(event) => {
            laneSearch.value = event.currentTarget.value;
          }}
        />
        <kbd>/</kbd>
      </label>
      {chip(null, "All")}
      {laneCategories.map((name) => chip(name, labels[name]))}
      <span class="grow" />
      <span class="dim num" role="status">
        {laneProgress.value}
      </span>
      <button
        type="button"
        class="chip"
        aria-pressed={isFolded.value}
        onClick={() => {
          isFolded.value = !isFolded.value;
        }}
      >
        Fold deltas
      </button>
      <LaneMenu />
    </div>
  );
}

function LaneMenu() {
  const lanes = table.value?.lanes ?? [];
  return (
    <Menu label="Lanes shown">
      {lanes.map(({ name, title }) => (
        <button
          key={name}
          type="button"
          onClick={() => {
            const next = new Set(hiddenLanes.value);
            if (!next.delete(name)) next.add(name);
            hiddenLanes.value = next;
          }}
        >
          <Icon sign={hiddenLanes.value.has(name) ? "box" : "checked"} />
          {title}
        </button>
      ))}
    </Menu>
  );
}

/** On a phone one lane is shown; which one. */
function LaneSwitch({ shown }: { readonly shown: Signal<number> }) {
  const titles = ["Native", "Universal", ...(table.value?.lanes ?? []).map(({ title }) => title)];
  return (
    <div class="seg lane-switch phone-only" role="group" aria-label="Lane">
      {titles.map((title, index) => (
        <button
          key={title}
          type="button"
          aria-pressed={shown.value === index}
          onClick={() => {
            shown.value = index;
          }}
        >
          {title}
        </button>
      ))}
    </div>
  );
}

function Table({ store }: { readonly store: SessionStore }) {
  laneRev.value;
  const frame = useRef<HTMLDivElement>(null);
  const list = useRef<VirtualizerHandle>(null);
  const isSheetOpen = useSignal(false);
  const lane = useSignal(1);
  const rows = shownLaneRows.value;
  const lanes = table.value?.lanes ?? [];
  const visible = lanes.map((one, index) => ({ ...one, index })).filter(({ name }) => !hiddenLanes.value.has(name));
  const columns = `52px 18px 40px ${"minmax(0, 1.2fr) ".repeat(2 + visible.length)}`;
  const start = Date.parse(store.events[0]?.time ?? "");
  useKeys({ rows, store, list });
  useShown({ rows, store, list });
  const select = (event: UniversalEvent): void => {
    selected.value = event.sequence;
    isSheetOpen.value = matchMedia("(max-width: 1199px)").matches;
  };
  return (
    <div class="lanes-frame" data-lane={lane.value} style={{ "--columns": columns }}>
      <LaneSwitch shown={lane} />
      <div
        class="lanes"
        ref={frame}
        role="grid"
        aria-label="Lanes"
        aria-rowcount={rows.length}
        aria-colcount={5}
        tabIndex={0}
      >
        <TableHead store={store} shown={visible} />
        {rows.length === 0 && <p class="dim nothing">{laneProgress.value === "" ? "No event fits." : "Loading…"}</p>}
        <Virtualizer ref={list} scrollRef={frame} startMargin={32} itemSize={23} data={rows}>
          {(row: LaneRow, index: number) => (
            <LaneRowView
              key={row.key}
              row={row}
              index={index}
              start={start}
              shown={visible}
              store={store}
              onSelect={select}
            />
          )}
        </Virtualizer>
      </div>
      {isSheetOpen.value && (
        <Sheet label="Event" side onClose={() => (isSheetOpen.value = false)}>
          <LaneDetail store={store} />
        </Sheet>
      )}
    </div>
  );
}

interface HeadProps {
  readonly store: SessionStore;
  readonly shown: readonly { readonly name: string; readonly title: string }[];
}

function TableHead({ store, shown }: HeadProps) {
  return (
    <div class="lr lh" role="row">
      <span class="tm" role="columnheader">
        s
      </span>
      <span role="columnheader" aria-label="Busy, waiting or idle" />
      <span class="ln" role="columnheader">
        #
      </span>
      <span class="c" role="columnheader">
        Native <small>{agentName(store.live.agent)}</small>
      </span>
      <span class="c" role="columnheader">
        Universal <small>{store.events.length.toLocaleString("en")}</small>
      </span>
      {shown.map(({ name, title }) => (
        <span key={name} class="c" role="columnheader">
          {title}
        </span>
      ))}
    </div>
  );
}

interface Moving {
  readonly rows: readonly LaneRow[];
  readonly store: SessionStore;
  readonly list: { readonly current: VirtualizerHandle | null };
}

const rowWith = (rows: readonly LaneRow[], sequence: number): number => {
  // Rows are in the order of their events: halve until it is found.
  let low = 0;
  let high = rows.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    let at = middle;
    while (at > low && rows[at]?.events.length === 0) at -= 1;
    const first = rows[at]?.events[0]?.sequence ?? 0;
    if (first <= sequence) low = middle;
    else high = Math.min(middle, at) - 1;
  }
  while (low > 0 && rows[low]?.events.length === 0) low -= 1;
  return Math.max(0, low);
};

function useKeys({ rows, store }: Moving): void {
  useEffect(
    () =>
      onKeys((event) => {
        switch (event.key) {
          case "j":
          case "k":
            return move(rows, event.key === "j" ? 1 : -1);
          case "f":
            isFolded.value = !isFolded.value;
            return true;
          case " ":
            document.querySelector<HTMLElement>("[data-play]")?.click();
            return true;
          case "ArrowLeft":
          case "ArrowRight":
            stepBy(store, { by: event.key === "ArrowLeft" ? -1 : 1, turns: event.shiftKey });
            return true;
          default:
            return false;
        }
      }),
    [rows, store],
  );
}

function move(rows: readonly LaneRow[], by: number): boolean {
  let at = selected.value === null ? (by > 0 ? -1 : rows.length) : rowWith(rows, selected.value);
  const here = rows[at]?.events ?? [];
  const place = here.findIndex(({ sequence }) => sequence === selected.value);
  const inRow = (rows[at]?.count ?? 1) > 1 ? undefined : here[place + by];
  if (place !== -1 && inRow !== undefined) {
    selected.value = inRow.sequence;
    return true;
  }
  do at += by;
  while (at >= 0 && at < rows.length && rows[at]?.events.length === 0);
  const events = rows[at]?.events;
  const next = by > 0 ? events?.[0] : events?.at(-1);
  if (next !== undefined) selected.value = next.sequence;
  return true;
}

/** What is selected, or looked at, is in sight. */
function useShown({ rows, store, list }: Moving): void {
  const wanted = selected.value;
  const at = store.at.value;
  const isEmpty = rows.length === 0;
  useEffect(() => {
    if (wanted === null || isEmpty) return;
    list.current?.scrollToIndex(rowWith(rows, wanted), { align: "nearest" });
  }, [wanted, isEmpty]);
  useEffect(() => {
    if (at === null || isEmpty) return;
    const sequence = store.events[at - 1]?.sequence;
    if (sequence !== undefined) list.current?.scrollToIndex(rowWith(rows, sequence), { align: "nearest" });
  }, [at, isEmpty]);
}
