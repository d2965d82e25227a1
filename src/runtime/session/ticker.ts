/** One beat for all sessions: who has something to do is stepped in the same tick, so that writes share a commit. */

export interface Ticker {
  readonly mark: (drive: Beating) => void;
}

export interface Beating {
  readonly beat: () => void;
}

export function openTicker(): Ticker {
  let marked = new Set<Beating>();
  const run = (): void => {
    const now = marked;
    marked = new Set();
    for (const drive of now) drive.beat();
  };
  return {
    mark(drive) {
      // After the poll phase: everything that arrived in this turn of the loop is one batch.
      if (marked.size === 0) setImmediate(run);
      marked.add(drive);
    },
  };
}
