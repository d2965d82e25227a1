/** Long work in small slices: other requests are served in between. */
import { setImmediate as nextTick } from "node:timers/promises";

/** How long work may run before others have their turn. */
const SLICE_MS = 4;

/** Called often: null while there is time left, else what to wait for before the work continues. */
export function openTimeSlices(): () => Promise<void> | null {
  let since = performance.now();
  const pause = async (): Promise<void> => {
    await nextTick();
    since = performance.now();
  };
  return () => (performance.now() - since < SLICE_MS ? null : pause());
}
