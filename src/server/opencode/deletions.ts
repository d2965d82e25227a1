/**
 * A session that is deleted, on whichever surface, is told of here: its own stream ends, and the log has no word for
 * it.
 */
import type { SessionId } from "../../protocol/ids.ts";
import type { Sessions } from "../../runtime/session/contract.ts";
import type { Live } from "./live.ts";
import type { Retelling } from "./retelling.ts";
import { made } from "./stream.ts";

export function watchDeletions({
  retelling,
  sessions,
  stopped,
}: {
  retelling: Retelling;
  sessions: Sessions;
  stopped: AbortSignal;
}): void {
  const watched = new Set<SessionId>();
  retelling.onEvent((live, event) => {
    if (event.type !== "session.ended" || watched.has(live.id)) return;
    watched.add(live.id);
    void untilDeleted({ sessions, live, stopped }).then((deleted) => {
      watched.delete(live.id);
      if (deleted) tellDeleted(retelling, live);
    });
  });
}

/** An ended session says nothing more: its stream ends when it is deleted, or when the daemon stops. */
async function untilDeleted({
  sessions,
  live,
  stopped,
}: {
  sessions: Sessions;
  live: Live;
  stopped: AbortSignal;
}): Promise<boolean> {
  try {
    for await (const _ of sessions.follow(live.id, { after: live.sequence, signal: stopped })) return false;
  } catch {
    // Reading a session that is gone fails: that is the answer too.
  }
  return !stopped.aborted;
}

function tellDeleted(retelling: Retelling, live: Live): void {
  const info = live.store.sessions.get(live.openCodeId)?.info ?? null;
  retelling.forget(live);
  if (info === null) return;
  const event = made("session.deleted", { sessionID: live.openCodeId, info });
  retelling.say(event, { directory: info.directory ?? "" });
}
