/** Settings of V8 for a daemon, after those that bin/franca.js makes. They hold for the whole process. */
import { PerformanceObserver } from "node:perf_hooks";
import { getHeapSpaceStatistics, setFlagsFromString } from "node:v8";

/**
 * The capacity of one half of the young generation: 8 MiB less the headers of its pages. V8 starts a full collection
 * when less than that is left to grow, so a larger one means more of them: in a flood, one for each 20,000 deltas.
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
 * V8 reads its limit once, at the start of the process, but the growth factor at each collection. The factor is set
 * after each one, because V8 resets it for the whole process whenever a thread is started.
 */
function limitYoungGeneration(): void {
  const look = (): void => setFlagsFromString(`--semi-space-growth-factor=${youngBytes() < YOUNG_BYTES ? GROWTH : 1}`);
  look();
  new PerformanceObserver(look).observe({ entryTypes: ["gc"] });
}

/** The capacity, not the committed memory: V8 may have returned one half to the system for a while. */
function youngBytes(): number {
  const young = getHeapSpaceStatistics().find(({ space_name }) => space_name === "new_space");
  return young === undefined ? 0 : young.space_used_size + young.space_available_size;
}
