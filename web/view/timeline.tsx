/** The timeline: turns above, the chosen one below as a strip of model steps, tools and waits, with totals. */
import { type Signal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { Turn } from "../model/entries.ts";
import { visibleText } from "../model/plain.ts";
import { barKinds, type TimelineRow, timeByKind, timelineOf } from "../model/timeline.ts";
import { clock, count, duration, money, plural, shapeOfEnd } from "../model/words.ts";
import { now } from "../state/clock.ts";
import { onKeys } from "../state/keys.ts";
import { loadEarlier } from "../state/session.ts";
import type { SessionStore } from "../state/store.ts";
import { why } from "./end-line.tsx";
import { Status } from "./icons.tsx";
import { UsageCharts } from "./usage-charts.tsx";

const MOST_ROWS = 500;

export function TimelineView({ store }: { readonly store: SessionStore }) {
  store.rev.value;
  const chosen = useSignal<string | null>(null);
  const zoom = useSignal(1);
  const at = useSignal(0);
  useEffect(() => void loadEarlier(store, { all: true }).catch(() => {}), [store]);
  const { turns, directory } = store.live;
  const turn = turns.find(({ id }) => id === chosen.value) ?? turns.at(-1);
  const rows =
    turn === undefined
      ? []
      : timelineOf({ events: store.events.filter((event) => event.turn_id === turn.id), directory });
  useTimelineKeys({ rows, store, zoom, at });
  if (turn === undefined) {
    return (
      <main class="main">
        <p class="empty dim">No turn yet: the timeline begins with the first prompt.</p>
      </main>
    );
  }
  return (
    <main class="tl" aria-label="Timeline">
      <Turns turns={turns} current={turn} chosen={chosen} />
      <Legend />
      <Strip turn={turn} rows={rows} store={store} zoom={zoom} at={at} />
      <div class="charts">
        <Spent rows={rows} turn={turn} />
        {store.kind === "session" && <UsageCharts days={7} />}
      </div>
    </main>
  );
}

function Turns({ turns, current, chosen }: { turns: readonly Turn[]; current: Turn; chosen: Signal<string | null> }) {
  return (
    <div class="tl-turns" role="group" aria-label="Turns">
      {turns.slice(-40).map((turn) => (
        <button
          key={turn.id}
          type="button"
          aria-pressed={turn === current}
          style={{ flexGrow: Math.max(1, Math.sqrt((turn.end?.at ?? now.value) - turn.startedAt)) }}
          onClick={() => {
            chosen.value = turn.id;
          }}
        >
          <span class="row">
            <Status shape={turn.end === null ? "running" : shapeOfEnd(turn.end.reason)} />
            <b>t{turn.number}</b>
            <span class="dim num">
              {turn.end === null
                ? `${clock(now.value - turn.startedAt)}, open`
                : duration(turn.end.at - turn.startedAt)}
            </span>
            <span class="grow" />
            <span class="dim cut">{extras(turn)}</span>
          </span>
          <span class="cut mut">{visibleText(turn.prompt.slice(0, 120)) || turn.origin}</span>
        </button>
      ))}
    </div>
  );
}

function extras({ retries, compactions, continuations }: Turn): string {
  const parts: string[] = [];
  if (retries > 0) parts.push(plural(retries, "retry", "retries"));
  if (compactions > 0) parts.push(plural(compactions, "compaction"));
  if (continuations > 0) parts.push(`continued ${continuations}×`);
  return parts.join(" · ");
}

const legend = [
  ["first", "waits for first token"],
  ["writes", "model writes"],
  ["tool", "tool"],
  ["failed", "tool failed"],
  ["subagent", "subagent"],
  ["waits", "waits for you"],
  ["retry", "retry"],
  ["compaction", "compaction"],
] as const;

const Legend = () => (
  <div class="legend">
    {legend.map(([kind, words]) => (
      <span key={kind}>
        <i class={`b-${kind}`} /> {words}
      </span>
    ))}
  </div>
);

interface StripProps {
  readonly turn: Turn;
  readonly rows: readonly TimelineRow[];
  readonly store: SessionStore;
  readonly zoom: Signal<number>;
  readonly at: Signal<number>;
}

/** The next round number of seconds above. */
function scaleOf(ms: number): { readonly total: number; readonly step: number } {
  const seconds = Math.max(0.006, ms / 1000);
  const power = 10 ** Math.floor(Math.log10(seconds / 6));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((one) => one * 6 >= seconds) ?? power * 10;
  return { total: step * 6 * 1000, step: step * 1000 };
}

function Strip({ turn, rows, store, zoom, at }: StripProps) {
  const end = turn.end?.at ?? now.value;
  const { total, step } = scaleOf((end - turn.startedAt) / zoom.value);
  const place = (time: number): string => `${((time - turn.startedAt) / total) * 100}%`;
  const ticks = Array.from({ length: 7 }, (_, index) => index * step);
  const usage = turn.usage?.tokens;
  return (
    <div class="strip" tabIndex={0} role="table" aria-label={`Turn ${turn.number}`}>
      <div class="g hd" role="row">
        <span class="nme" role="columnheader">
          Turn {turn.number}
        </span>
        <span class="tr" role="columnheader">
          {ticks.slice(0, 6).map((tick) => (
            <span key={tick} style={{ left: `${(tick / total) * 100}%` }}>
              {tick === 0 ? "0 s" : tickWords(tick)}
            </span>
          ))}
        </span>
        {["Time", "In", "Out", "Cost"].map((name) => (
          <span key={name} class="r" role="columnheader">
            {name}
          </span>
        ))}
      </div>
      <div class="g top" role="row">
        <span class="nme" role="cell">
          <Status shape={turn.end === null ? "running" : shapeOfEnd(turn.end.reason)} />
          Turn {turn.number}
        </span>
        <span class="tr" role="cell">
          <i class={turn.end === null ? "b b-turn live" : "b b-turn"} style={{ left: "0%", width: place(end) }} />
        </span>
        <Figures ms={end - turn.startedAt} tokens={usage ?? null} cost={turn.usage?.cost_usd ?? null} />
      </div>
      {rows.slice(0, MOST_ROWS).map((row, index) => (
        <Row key={row.key} row={row} place={place} total={total} isChosen={index === at.value} store={store} />
      ))}
      {rows.length > MOST_ROWS && <p class="dim nothing">{rows.length - MOST_ROWS} more rows are in the lanes.</p>}
    </div>
  );
}

const tickWords = (ms: number): string => (ms < 1000 ? `${Math.round(ms)} ms` : `${Number((ms / 1000).toFixed(2))} s`);

interface RowProps {
  readonly row: TimelineRow;
  readonly place: (time: number) => string;
  readonly total: number;
  readonly isChosen: boolean;
  readonly store: SessionStore;
}

function Row({ row, place, total, isChosen, store }: RowProps) {
  const first = row.bars[0]?.from ?? 0;
  const last = row.bars.at(-1);
  const end = last?.to ?? now.value;
  const label = row.note !== "" ? row.note : row.level > 1 || row.shape === "retrying" ? duration(end - first) : "";
  return (
    <div class={isChosen ? "g sel" : "g"} role="row" style={{ "--lv": row.level }}>
      <span class="nme" role="cell">
        <Status shape={row.shape} />
        <button type="button" class="cut" onClick={() => why(store, row)}>
          {row.level > 1 ? <code>{visibleText(row.name)}</code> : row.name} {visibleText(row.target)}
        </button>
      </span>
      <span class="tr" role="cell">
        {row.bars.map((bar) => {
          const to = bar.to ?? now.value;
          const width = `max(3px, ${((to - bar.from) / total) * 100}%)`;
          return (
            <i
              key={`${bar.kind}${bar.from}`}
              class={`b b-${bar.kind}${bar.to === null ? " live" : ""}`}
              style={{ left: place(bar.from), width }}
            />
          );
        })}
        {label !== "" && (
          <em class="num" style={{ left: `calc(max(3px, ${place(end)}) + 6px)` }}>
            {label}
          </em>
        )}
      </span>
      <Figures ms={end - first} tokens={row.tokens} cost={row.cost} />
    </div>
  );
}

interface FiguresProps {
  readonly ms: number;
  readonly tokens: {
    readonly input: number;
    readonly output: number;
    readonly cache_read: number;
    readonly reasoning: number;
  } | null;
  readonly cost: number | null;
}

function Figures({ ms, tokens, cost }: FiguresProps) {
  return (
    <>
      <span class="r" role="cell">
        {duration(ms)}
      </span>
      <span class="r" role="cell">
        {tokens === null ? "" : count(tokens.input + tokens.cache_read)}
      </span>
      <span class="r" role="cell">
        {tokens === null ? "" : count(tokens.output + tokens.reasoning)}
      </span>
      <span class="r" role="cell">
        {cost === null ? "" : money(cost)}
      </span>
    </>
  );
}

const spentWords = {
  writes: "Model writes",
  first: "First token",
  tool: "Tools",
  subagent: "Subagents",
  waits: "Waits for you",
  retry: "Retries",
  compaction: "Compaction",
} as const;

function Spent({ rows, turn }: { readonly rows: readonly TimelineRow[]; readonly turn: Turn }) {
  const sums = timeByKind(rows, now.value);
  const most = Math.max(1, ...sums.values());
  return (
    <section class="box-card">
      <h2>
        Where the time went <span>t{turn.number}, overlaps counted twice</span>
      </h2>
      {barKinds
        .filter((kind) => (sums.get(kind) ?? 0) > 0)
        .map((kind) => (
          <div key={kind} class="hb">
            <span>{spentWords[kind]}</span>
            <i class={`b-${kind}`} style={{ width: `${((sums.get(kind) ?? 0) / most) * 100}%` }} />
            <span>{duration(sums.get(kind) ?? 0)}</span>
          </div>
        ))}
    </section>
  );
}

interface Moving {
  readonly rows: readonly TimelineRow[];
  readonly store: SessionStore;
  readonly zoom: Signal<number>;
  readonly at: Signal<number>;
}

const MOST_ZOOM = 64;

function useTimelineKeys({ rows, store, zoom, at }: Moving): void {
  useEffect(() =>
    onKeys((event) => {
      switch (event.key) {
        case "j":
        case "k":
          at.value = Math.min(rows.length - 1, Math.max(0, at.value + (event.key === "j" ? 1 : -1)));
          return true;
        case "+":
        case "=":
          zoom.value = Math.min(MOST_ZOOM, zoom.value * 2);
          return true;
        case "-":
          zoom.value = Math.max(1, zoom.value / 2);
          return true;
        case "0":
          zoom.value = 1;
          return true;
        case "Enter": {
          const row = rows[at.value];
          if (row === undefined || document.activeElement instanceof HTMLButtonElement) return false;
          why(store, row);
          return true;
        }
        default:
          return false;
      }
    }),
  );
}
