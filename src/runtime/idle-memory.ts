/**
 * Returns memory to the system while the daemon has nothing to do. After a start or a burst of work V8 keeps the pages
 * of its young generation, and collects what is left of old garbage only when more is allocated: about 12 MiB of a
 * daemon that was just started. V8 has a task that shrinks its heap; this starts it.
 */
import { getHeapStatistics, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** How often it is looked whether there is work. */
const LOOK_MS = 1_500;
/** A daemon that uses less of this time than that is idle. */
const IDLE_SHARE = 0.03;
/** So many looks in a row must find it idle. */
const IDLE_LOOKS = 2;
/** Less is not worth a collection. */
const GROWN_BYTES = 3 * 1024 * 1024;
/** V8's task begins so long after a collection, and is done with its own ones after the second time. */
const SHRINK_AFTER_MS = 100;
const SHRUNK_MS = 20_000;
/** V8's own value. */
const DEFAULT_SHRINK_AFTER_MS = 8_000;

/** For a process of our own only: V8's flags hold for all of it. */
export function releaseMemoryWhenIdle(): void {
  let seen = performance.eventLoopUtilization();
  let idleLooks = 0;
  let keptBytes = 0;
  const look = (): void => {
    const { utilization } = performance.eventLoopUtilization(seen);
    seen = performance.eventLoopUtilization();
    idleLooks = utilization < IDLE_SHARE ? idleLooks + 1 : 0;
    if (idleLooks < IDLE_LOOKS || heapBytes() < keptBytes + GROWN_BYTES) return later(LOOK_MS, look);
    shrink();
    later(SHRUNK_MS, () => {
      setFlagsFromString("--no-optimize-for-size");
      setFlagsFromString(`--gc-memory-reducer-start-delay-ms=${DEFAULT_SHRINK_AFTER_MS}`);
      keptBytes = heapBytes();
      later(LOOK_MS, look);
    });
  };
  later(LOOK_MS, look);
}

function later(delayMs: number, work: () => void): void {
  setTimeout(work, delayMs).unref();
}

const heapBytes = (): number => getHeapStatistics().total_physical_size;

/** V8's task begins after a whole collection, and where size is preferred to speed it does not wait for more. */
function shrink(): void {
  setFlagsFromString("--optimize-for-size");
  setFlagsFromString(`--gc-memory-reducer-start-delay-ms=${SHRINK_AFTER_MS}`);
  setFlagsFromString("--expose-gc");
  runInNewContext("gc()");
  setFlagsFromString("--no-expose-gc");
}
