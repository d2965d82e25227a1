/**
 * Returns memory to the system while the daemon has nothing to do. After a start or a burst of work V8 keeps the pages
 * of its young generation, and collects what is left of old garbage only when more is allocated: about 8 MiB of a
 * daemon that was just started, 60 MiB after a thousand sessions. A collection for low memory gives back both.
 */
import { getHeapStatistics } from "node:v8";

/** How often it is looked whether there is work. */
const LOOK_MS = 1_500;
/** A daemon that uses less of this time than that is idle. */
const IDLE_SHARE = 0.03;
/** So many looks in a row must find it idle: after a collection, the next flood takes twice the processor time. */
const IDLE_LOOKS = 8;
/** So much more of the heap's pages is free than after the last collection; less is not worth another. */
const FREED_BYTES = 3 * 1024 * 1024;
/** Garbage that V8 has not found yet counts as used: so much work may have left some. */
const WORKED_MS = 1_000;

/** What is looked at, and what is done. */
export interface Heap {
  /** How long there was work so far. */
  readonly workedMs: () => number;
  /** What the heap's pages have beside what is used. */
  readonly freeBytes: () => number;
  readonly collect: () => Promise<void>;
}

/** For a process of our own only: a collection stops all of it, for about three milliseconds per used megabyte. */
export function releaseMemoryWhenIdle(heap: Heap = ownHeap): void {
  let seen = heap.workedMs();
  let idleLooks = 0;
  let last = { workedMs: Number.NEGATIVE_INFINITY, freeBytes: 0 };
  const look = async (): Promise<void> => {
    const worked = heap.workedMs();
    idleLooks = worked - seen < LOOK_MS * IDLE_SHARE ? idleLooks + 1 : 0;
    seen = worked;
    const isWorthIt = worked - last.workedMs >= WORKED_MS || heap.freeBytes() >= last.freeBytes + FREED_BYTES;
    if (idleLooks >= IDLE_LOOKS && isWorthIt) {
      await heap.collect();
      seen = heap.workedMs();
      last = { workedMs: seen, freeBytes: heap.freeBytes() };
    }
    later();
  };
  // A failed collection only costs memory. The next check tries again.
  const later = (): void => void setTimeout(() => look().catch(later), LOOK_MS).unref();
  later();
}

const ownHeap: Heap = {
  workedMs: () => performance.eventLoopUtilization().active,
  freeBytes() {
    const { total_physical_size, used_heap_size } = getHeapStatistics();
    return total_physical_size - used_heap_size;
  },
  collect: collectForLowMemory,
};

/** V8 does it for debuggers, and has no other way to ask for it. A Node without a debugger does nothing. */
export async function collectForLowMemory(): Promise<void> {
  if (!process.features.inspector) return;
  const { Session } = await import("node:inspector");
  const session = new Session();
  session.connect();
  // V8 holds a lock while it calls back, which the end of the session waits for: the rest must come later.
  await new Promise<void>((resolve) => session.post("HeapProfiler.collectGarbage", () => setImmediate(resolve)));
  session.disconnect();
}
