/** The latest frames, in memory for all clients: each holds an index, and reads the log when the ring has moved on. */

export interface Ring<Frame> {
  /** The index of the oldest frame that is still here. */
  readonly first: () => number;
  /** The index that the next frame will get. */
  readonly next: () => number;
  readonly get: (index: number) => Frame | undefined;
  readonly push: (frame: Frame) => void;
  /** Resolves when there is a frame with this index, or the signal fires. */
  readonly arrival: (index: number, signal: AbortSignal) => Promise<void>;
}

/** Holds as many frames as fit into `bytes`, and at least one. */
export function openRing<Frame extends { readonly size: number }>({ bytes }: { readonly bytes: number }): Ring<Frame> {
  const frames: Frame[] = [];
  const waiting = new Set<() => void>();
  let next = 0;
  let size = 0;
  const first = (): number => next - frames.length;
  return {
    first,
    next: () => next,
    get: (index) => frames[index - first()],
    push(frame) {
      frames.push(frame);
      next += 1;
      size += frame.size;
      while (size > bytes && frames.length > 1) size -= frames.shift()?.size ?? 0;
      for (const wake of [...waiting]) wake();
    },
    arrival(index, signal) {
      if (next > index || signal.aborted) return Promise.resolve();
      return new Promise((resolve) => {
        const wake = (): void => {
          waiting.delete(wake);
          signal.removeEventListener("abort", wake);
          resolve();
        };
        waiting.add(wake);
        signal.addEventListener("abort", wake);
      });
    },
  };
}
