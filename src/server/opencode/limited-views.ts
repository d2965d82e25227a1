/** The views of sessions that a caller's credential gives access to. */
import type { Caller } from "../credentials/access.ts";
import { holdsFolder } from "../credentials/credential.ts";
import type { SessionView } from "./session-view.ts";
import type { SessionViews } from "./session-views.ts";

export function viewsFor(views: SessionViews, caller: Caller): SessionViews {
  if (caller.type === "owner" || caller.credential.folders === null) return views;
  const { credential } = caller;
  const isHeld = ({ id, now }: SessionView): boolean =>
    credential.sessions.includes(id) || holdsFolder(credential, now.state.directory);
  const open = (): readonly SessionView[] => views.open().filter(isHeld);
  return {
    ...views,
    open,
    async find(id) {
      const view = await views.find(id);
      return view !== null && isHeld(view) ? view : null;
    },
    statuses() {
      const held = new Set(open().flatMap(({ now }) => [...now.store.sessions.keys()]));
      return new Map([...views.statuses()].filter(([id]) => held.has(id)));
    },
  };
}
