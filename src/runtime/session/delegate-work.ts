/** What sessions have their children do at the moment: so many at once, and none longer than the parent's own turn. */
import { ApiError } from "../../protocol/errors.ts";
import type { SessionId } from "../../protocol/ids.ts";

export interface Work {
  /** Aborted when the turn of the parent is over. */
  readonly signal: AbortSignal;
  readonly leave: () => void;
}

export interface DelegateWork {
  readonly enter: (parent: SessionId, options: { readonly most: number }) => Work;
  /** The parent's turn is over: what it has asked for is cancelled. */
  readonly end: (parent: SessionId) => void;
}

export function openDelegateWork(): DelegateWork {
  const running = new Map<SessionId, Set<AbortController>>();
  return {
    enter(parent, { most }) {
      const works = running.get(parent) ?? new Set();
      if (works.size >= most) {
        throw new ApiError(
          "invalid_request",
          `This session has ${works.size} sessions at work, and may have ${most} at once: wait until one is done.`,
        );
      }
      const work = new AbortController();
      running.set(parent, works.add(work));
      const leave = (): void => {
        works.delete(work);
        if (works.size === 0 && running.get(parent) === works) running.delete(parent);
      };
      return { signal: work.signal, leave };
    },
    end(parent) {
      for (const work of running.get(parent) ?? []) work.abort();
    },
  };
}
