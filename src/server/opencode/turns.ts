/** Waiting for turns: a prompt is answered with its turn's last message, after all events of the turn. */
import type { UniversalEvent } from "../../protocol/events.ts";
import type { SessionView } from "./session-view.ts";
import type { SessionViews } from "./session-views.ts";

export interface TurnsOptions {
  readonly views: SessionViews;
}

export type Outcome = "ended" | "dropped" | "gone";

export interface Turns {
  /** Resolves when the prompt's turn has ended, or it is certain that it never will run. */
  readonly ended: (view: SessionView, prompt: string, signal: AbortSignal) => Promise<Outcome>;
  /** Resolves when everything up to `after` was rendered and the session is idle. */
  readonly idle: (
    view: SessionView,
    options: { readonly after: number; readonly signal: AbortSignal },
  ) => Promise<void>;
  /** Resolves when everything up to `after` was rendered; false when the signal was first. */
  readonly rendered: (
    view: SessionView,
    options: { readonly after: number; readonly signal: AbortSignal },
  ) => Promise<boolean>;
}

export function openTurns({ views }: TurnsOptions): Turns {
  return {
    ended: (view, prompt, signal) => until(views, { view, signal, check: (one) => outcome(one, prompt) }),
    rendered: async (view, { after, signal }) => {
      const check = ({ now }: SessionView): Outcome | null => (now.sequence >= after ? "ended" : null);
      return (await until(views, { view, signal, check })) === "ended";
    },
    idle: async (view, { after, signal }) => {
      const check = (one: SessionView): Outcome | null => (one.now.sequence >= after && isIdle(one) ? "ended" : null);
      await until(views, { view, signal, check });
    },
  };
}

function outcome(view: SessionView, prompt: string): Outcome | null {
  if (view.now.ended.has(prompt)) return "ended";
  // It left the queue and the session is idle: the queue was cleared.
  return view.now.left.has(prompt) && isIdle(view) ? "dropped" : null;
}

const isIdle = (view: SessionView): boolean =>
  view.now.store.sessions.get(view.openCodeId)?.status.type !== "busy" && !isRetrying(view);
const isRetrying = (view: SessionView): boolean =>
  view.now.store.sessions.get(view.openCodeId)?.status.type === "retry";

function until(
  views: SessionViews,
  { view, signal, check }: { view: SessionView; signal: AbortSignal; check: (one: SessionView) => Outcome | null },
): Promise<Outcome> {
  return new Promise((resolve) => {
    const finish = (found: Outcome): void => {
      stop();
      signal.removeEventListener("abort", leave);
      resolve(found);
    };
    const leave = (): void => finish("gone");
    const look = (changed: SessionView, event: UniversalEvent): void => {
      if (changed.id !== view.id) return;
      const found = check(changed);
      if (found !== null) finish(found);
      else if (event.type === "session.ended") finish("gone");
    };
    const stop = views.onEvent(look);
    signal.addEventListener("abort", leave);
    const found = check(view);
    if (found !== null) finish(found);
    else if (signal.aborted) finish("gone");
  });
}
