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
  /**
   * Watches a turn that has no prompt. `begin` gives the turn's id; resolves with the id of the turn's last message
   * when it has ended, with null when it never will, or left none.
   */
  readonly answer: (view: SessionView, begin: () => Promise<string>, signal: AbortSignal) => Promise<string | null>;
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
    answer: (view, begin, signal) => answer(views, { view, begin, signal }),
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

/** Watched from before it begins: a short one may be over when its id is known. */
async function answer(
  views: SessionViews,
  { view, begin, signal }: { view: SessionView; begin: () => Promise<string>; signal: AbortSignal },
): Promise<string | null> {
  const messages = new Map<string, string | null>();
  let over = false;
  let wake = (): void => {};
  const stop = views.onEvent((changed, event) => {
    if (changed.id !== view.id || (event.type !== "turn.ended" && event.type !== "session.ended")) return;
    if (event.type === "turn.ended") messages.set(event.data.turn_id, lastCompleted(changed));
    else over = true;
    wake();
  });
  try {
    const turn = await begin();
    if (messages.has(turn)) return messages.get(turn) ?? null;
    return await new Promise((resolve) => {
      wake = () => {
        if (messages.has(turn) || over) resolve(messages.get(turn) ?? null);
      };
      signal.addEventListener("abort", () => resolve(null), { once: true });
      if (signal.aborted || over) resolve(null);
    });
  } finally {
    stop();
  }
}

function lastCompleted(view: SessionView): string | null {
  let last: string | null = null;
  for (const [id, { info }] of view.now.store.sessions.get(view.openCodeId)?.messages ?? []) {
    if (info?.role === "assistant" && info.time?.completed !== undefined) last = id;
  }
  return last;
}

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
