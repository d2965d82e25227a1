/** Does something when nothing has happened for a while. The process does not stay alive for it. */

export interface Quiet {
  /** Something has happened. */
  readonly touch: () => void;
  readonly cancel: () => void;
}

export function whenQuiet(quietMs: number, work: () => void): Quiet {
  let touchedAt = 0;
  let timer: NodeJS.Timeout | null = null;
  const look = (): void => {
    const left = touchedAt + quietMs - performance.now();
    timer = left > 0 ? setTimeout(look, left).unref() : null;
    if (timer === null) work();
  };
  return {
    touch() {
      touchedAt = performance.now();
      timer ??= setTimeout(look, quietMs).unref();
    },
    cancel() {
      if (timer !== null) clearTimeout(timer);
    },
  };
}
