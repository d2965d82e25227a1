/** The whole session as one strip: drag to any moment, play it, and return to now. */
import { useComputed, useSignal, useSignalEffect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { UniversalEvent } from "../../src/protocol/events.ts";
import { lookAt, placeOf, type SessionStore } from "../state/store.ts";
import { Icon } from "./icons.tsx";
import { Select } from "./select.tsx";

const BARS = 96;

interface Strip {
  readonly bars: readonly number[];
  readonly bands: readonly { readonly kind: "busy" | "waiting" | "idle"; readonly from: number; readonly to: number }[];
}

/** Events per part of the strip, and what the session did. Places are numbers of events, not times. */
export function stripOf(events: readonly UniversalEvent[]): Strip {
  const bars = new Array<number>(BARS).fill(0);
  const bands: { kind: "busy" | "waiting" | "idle"; from: number; to: number }[] = [];
  let kind: "busy" | "waiting" | "idle" = "idle";
  let from = 0;
  const change = (next: typeof kind, at: number): void => {
    if (next === kind) return;
    if (at > from) bands.push({ kind, from, to: at });
    kind = next;
    from = at;
  };
  for (const [index, event] of events.entries()) {
    if (event.type === "turn.started") change("busy", index);
    else if (event.type === "turn.state") change(event.data.state === "requires_action" ? "waiting" : "busy", index);
    else if (event.type === "turn.ended") change("idle", index + 1);
    const bar = Math.min(BARS - 1, Math.floor((index / events.length) * BARS));
    // What is not a delta weighs more: it is what one looks for.
    bars[bar] = (bars[bar] ?? 0) + (event.type === "item.delta" ? 0.25 : 1);
  }
  change(kind === "idle" ? "busy" : "idle", events.length);
  const most = Math.max(1, ...bars);
  return { bars: bars.map((value) => value / most), bands };
}

const speeds = [
  ["1", "1×"],
  ["4", "4×"],
  ["16", "16×"],
  ["0", "all"],
] as const;

/** A pause of an agent is played no longer than this. */
const LONGEST_PAUSE_MS = 1_500;

export function Scrubber({ store }: { readonly store: SessionStore }) {
  const isPlaying = useSignal(false);
  const speed = useSignal("1");
  usePlaying(store, { isPlaying, speed });
  store.rev.value;
  const total = Math.max(1, store.events.length);
  const at = store.at.value ?? total;
  const { sequence, last, time } = placeOf(store);
  const start = Date.parse(store.events[0]?.time ?? time);
  const play = (): void => {
    if (!isPlaying.value && at >= total) lookAt(store, 1);
    isPlaying.value = !isPlaying.value;
  };
  return (
    <footer class="scrub">
      <button type="button" class="btn icon" data-play aria-label={isPlaying.value ? "Pause" : "Play"} onClick={play}>
        <Icon sign={isPlaying.value ? "pause" : "play"} />
      </button>
      <Select label="Speed" value={speed.value} options={speeds} onChange={(value) => (speed.value = value)} />
      <span class="num where">
        {sequence} / {last} <span class="dim">· {((Date.parse(time) - start) / 1000).toFixed(3)} s</span>
      </span>
      <Track store={store} onSeek={() => (isPlaying.value = false)} />
      {store.at.value === null ? (
        <span class="legend-band">
          <i class="k-busy" /> busy <i class="k-waiting" /> waiting <i class="k-idle" /> idle
        </span>
      ) : (
        <button type="button" class="btn" onClick={() => lookAt(store, null)}>
          {store.kind === "session" ? "Back to now" : "To the end"}
        </button>
      )}
    </footer>
  );
}

function Track({ store, onSeek }: { readonly store: SessionStore; readonly onSeek: () => void }) {
  const track = useRef<HTMLDivElement>(null);
  const strip = useComputed(() => {
    store.rev.value;
    return stripOf(store.events);
  });
  const total = Math.max(1, store.events.length);
  const { sequence, last } = placeOf(store);
  const seek = (event: PointerEvent): void => {
    const box = track.current?.getBoundingClientRect();
    if (box === undefined || box.width === 0) return;
    onSeek();
    const share = Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
    lookAt(store, Math.max(1, Math.round(share * total)));
  };
  return (
    <div
      class="track"
      ref={track}
      role="slider"
      tabIndex={0}
      aria-label="Event that is looked at"
      aria-valuemin={1}
      aria-valuemax={last}
      aria-valuenow={sequence}
      onPointerDown={(event) => {
        event.currentTarget.setPointerCapture(event.pointerId);
        seek(event);
      }}
      onPointerMove={(event) => {
        if (event.currentTarget.hasPointerCapture(event.pointerId)) seek(event);
      }}
      onKeyDown={(event) => {
        const by = event.key === "ArrowLeft" ? -1 : event.key === "ArrowRight" ? 1 : 0;
        if (by === 0) return;
        event.preventDefault();
        event.stopPropagation();
        stepBy(store, { by, turns: event.shiftKey });
      }}
    >
      <Bars strip={strip.value} share={(store.at.value ?? total) / total} />
    </div>
  );
}

/** One event, or with `turns` to where the next turn begins or ends. */
export function stepBy(store: SessionStore, { by, turns }: { readonly by: number; readonly turns: boolean }): void {
  const total = store.events.length;
  let at = (store.at.value ?? total) + by;
  const isEdge = (index: number): boolean => {
    const type = store.events[index - 1]?.type;
    return type === "turn.started" || type === "turn.ended";
  };
  while (turns && at > 1 && at < total && !isEdge(at)) at += by;
  lookAt(store, Math.max(1, at));
}

function Bars({ strip, share }: { readonly strip: Strip; readonly share: number }) {
  const total = strip.bands.at(-1)?.to ?? 1;
  return (
    <>
      <div class="bars" aria-hidden="true">
        {strip.bars.map((height, index) => (
          <i
            key={index}
            class={index / BARS >= share ? "later" : ""}
            style={{ height: `${height === 0 ? 0 : 12 + height * 88}%` }}
          />
        ))}
      </div>
      <div class="band" aria-hidden="true">
        {strip.bands.map(({ kind, from, to }) => (
          <i key={from} class={`k-${kind}`} style={{ width: `${((to - from) / total) * 100}%` }} />
        ))}
      </div>
      <div class="at" style={{ left: `${share * 100}%` }} aria-hidden="true" />
    </>
  );
}

interface Playing {
  readonly isPlaying: { value: boolean };
  readonly speed: { readonly value: string };
}

/** One timer at a time, for as long as it plays. */
function usePlaying(store: SessionStore, { isPlaying, speed }: Playing): void {
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useSignalEffect(() => {
    clearTimeout(timer.current);
    if (!isPlaying.value) return;
    const at = store.at.value;
    if (at === null) {
      isPlaying.value = false;
      return;
    }
    const factor = Number(speed.value);
    const gap = Date.parse(store.events[at]?.time ?? "") - Date.parse(store.events[at - 1]?.time ?? "");
    const wait = factor === 0 ? 0 : Math.min(LONGEST_PAUSE_MS, Number.isNaN(gap) ? 0 : gap) / factor;
    const by = factor === 0 ? Math.max(1, Math.round(store.events.length / 200)) : 1;
    timer.current = setTimeout(() => lookAt(store, at + by), Math.max(16, wait));
  });
  useEffect(() => () => clearTimeout(timer.current), []);
}
