/** Sends `session.deleted`, whichever surface deleted the session. The log has no event for it: its stream ends. */
import type { SessionId } from "../../protocol/ids.ts";
import type { Sessions } from "../../runtime/session/contract.ts";
import { created } from "./events.ts";
import type { SessionView } from "./session-view.ts";
import type { SessionViews } from "./session-views.ts";

export function watchDeletions({
  views,
  sessions,
  stopped,
}: {
  views: SessionViews;
  sessions: Sessions;
  stopped: AbortSignal;
}): void {
  const watched = new Set<SessionId>();
  views.onEvent((view, event) => {
    if (event.type !== "session.ended" || watched.has(view.id)) return;
    watched.add(view.id);
    void untilDeleted({ sessions, view, stopped }).then((deleted) => {
      watched.delete(view.id);
      if (deleted) announceDeletion(views, view);
    });
  });
}

/** An ended session has no more events: its stream ends when it is deleted, or when the daemon stops. */
async function untilDeleted({
  sessions,
  view,
  stopped,
}: {
  sessions: Sessions;
  view: SessionView;
  stopped: AbortSignal;
}): Promise<boolean> {
  try {
    for await (const _ of sessions.follow(view.id, { after: view.now.sequence, signal: stopped })) return false;
  } catch {
    // Reading a deleted session fails: that is the answer too.
  }
  return !stopped.aborted;
}

function announceDeletion(views: SessionViews, view: SessionView): void {
  const info = view.now.store.sessions.get(view.openCodeId)?.info ?? null;
  views.remove(view);
  if (info === null) return;
  const event = created("session.deleted", { sessionID: view.openCodeId, info });
  views.announce(event, { directory: info.directory ?? "" });
}
