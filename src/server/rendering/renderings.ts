/** Renderings of many sessions, fed with the groups of all of them. Few stay open; others are opened when needed. */
import type { SessionId } from "../../protocol/ids.ts";
import type { EventGroup } from "../../runtime/log/contract.ts";
import type { Sessions } from "../../runtime/session/contract.ts";
import { type Dialect, openAt, type Rendered, type Rendering, renderGroup } from "./rendering.ts";

/** How many sessions stay open. */
const OPEN_SESSIONS = 1_000;

export interface Renderings<Out> {
  readonly render: (group: EventGroup) => Promise<readonly Rendered<Out>[]>;
  readonly close: (session: SessionId) => void;
  readonly size: () => number;
}

export interface RenderingsOptions<Out> {
  readonly sessions: Pick<Sessions, "events">;
  readonly dialect: Dialect<Out>;
  readonly limit?: number;
}

export function openRenderings<Out>(options: RenderingsOptions<Out>): Renderings<Out> {
  const { sessions, dialect, limit = OPEN_SESSIONS } = options;
  // The one that was used last is last.
  const open = new Map<SessionId, Rendering<Out>>();
  return {
    async render(group) {
      const { session } = group;
      const before = group.first - 1;
      const known = open.get(session);
      open.delete(session);
      // A session that was deleted and recreated with the same id begins at its first event again.
      const rendering =
        known?.sequence() === before ? known : await openAt(sessions, dialect, { session, sequence: before });
      const rendered = renderGroup(rendering, group);
      if (rendered.some(({ event }) => event.type === "session.ended")) return rendered;
      open.set(session, rendering);
      for (const oldest of open.keys()) {
        if (open.size <= limit) break;
        open.delete(oldest);
      }
      return rendered;
    },
    close: (session) => void open.delete(session),
    size: () => open.size,
  };
}
