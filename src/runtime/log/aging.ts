/**
 * Drops what is older than a while, also while more comes: what was there at the look before is old. The process does
 * not stay alive for it.
 */

export interface Aging {
  /** Something was added. */
  readonly touch: () => void;
  readonly cancel: () => void;
}

/** `forget` drops what was there at its last call, and says whether anything is left. */
export function openAging(keptMs: number, forget: () => boolean): Aging {
  let timer: NodeJS.Timeout | null = null;
  const look = (): void => {
    timer = forget() ? setTimeout(look, keptMs).unref() : null;
  };
  return {
    touch() {
      timer ??= setTimeout(look, keptMs).unref();
    },
    cancel() {
      if (timer !== null) clearTimeout(timer);
    },
  };
}
