/** Sends `session.deleted`, whichever surface deleted the session. The log has no event for it: its stream ends. */
import { hasCode } from "../../protocol/errors.ts";
import type { SessionId } from "../../protocol/ids.ts";
import type { Background } from "../../runtime/background.ts";
import type { Sessions } from "../../runtime/session/contract.ts";
import { created } from "./events.ts";
import type { SessionView } from "./session-view.ts";
import type { SessionViews } from "./session-views.ts";

export function watchDeletions({
  views,
  sessions,
  background,
  stopped,
}: {
  views: SessionViews;
  sessions: Sessions;
  background: Pick<Background, "start">;
  stopped: AbortSignal;
}): void {
  const watched = new Set<SessionId>();
  views.onEvent((view, event) => {
    if (event.type !== "session.ended" || watched.has(view.id)) return;
    watched.add(view.id);
    const announce = async (): Promise<void> => {
      const deleted = await untilDeleted({ sessions, view, stopped });
      watched.delete(view.id);
      if (deleted) announceDeletion(views, view);
    };
    background.start("opencode", announce, stopped);
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
  } catch (error) {
    // Reading a deleted session fails. A log that cannot be read now is read again later.
    if (!hasCode(error, "session_not_found")) throw error;
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
