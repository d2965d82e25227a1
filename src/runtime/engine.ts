/** Settings of V8 for a daemon, after those that bin/franca.js makes. They hold for the whole process. */
import { PerformanceObserver } from "node:perf_hooks";
import { getHeapSpaceStatistics, setFlagsFromString } from "node:v8";

/**
 * One half of the young generation, which is some pages' heads less. V8 begins to collect everything when less than it
 * is left to grow, so a larger one means more collections of everything: in a flood, one for each 20,000 deltas.
 */
const YOUNG_BYTES = 7.5 * 1024 * 1024;
/** V8's own: the young generation doubles. */
const GROWTH = 2;

/**
 * What a flood leaves behind is collected when the heap has grown by so much. V8's own choice lets a small heap become
 * four times as large: 60 MiB more at the same speed. Less growth means more collections.
 */
const HEAP_GROWTH_PERCENT = 100;

/** Before anything is opened. */
export function startEngine(): void {
  setFlagsFromString(`--heap-growing-percent=${HEAP_GROWTH_PERCENT}`);
}

/** When the daemon is open. */
export function tuneEngine(): void {
  // The start is over: bin/franca.js has turned the compilers off for it.
  setFlagsFromString("--opt");
  setFlagsFromString("--sparkplug");
  limitYoungGeneration();
}

/**
 * Its limit is read once, at the start of the process; how much it grows is read each time. It is said each time too:
 * whenever a thread is started, V8 sets it back for all.
 */
function limitYoungGeneration(): void {
  const look = (): void => setFlagsFromString(`--semi-space-growth-factor=${youngBytes() < YOUNG_BYTES ? GROWTH : 1}`);
  look();
  new PerformanceObserver(look).observe({ entryTypes: ["gc"] });
}

/** Not what the system has lent for it: V8 may have returned one of the halves for a while. */
function youngBytes(): number {
  const young = getHeapSpaceStatistics().find(({ space_name }) => space_name === "new_space");
  return young === undefined ? 0 : young.space_used_size + young.space_available_size;
}
