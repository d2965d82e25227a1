/** Long work in small slices: whoever waits for the daemon meanwhile is served in between. */
import { setImmediate as nextTick } from "node:timers/promises";

/** How long work may go on before others have their turn. */
const SLICE_MS = 4;

/** Asked often: null while there is time left, else what to wait for before going on. */
export function openBreaks(): () => Promise<void> | null {
  let since = performance.now();
  const pause = async (): Promise<void> => {
    await nextTick();
    since = performance.now();
  };
  return () => (performance.now() - since < SLICE_MS ? null : pause());
}
