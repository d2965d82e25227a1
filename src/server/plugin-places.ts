/**
 * Where items are on the OpenCode surface: hooks name sessions, messages and parts by the ids that a plugin's own
 * client can use. These ids come from rendering the session, so all sessions are rendered while a plugin needs them.
 */
import {
  defaultOptions,
  type OpenCodeOptions,
  type OpenCodeState,
  openCodeSessionId,
} from "../projections/opencode/index.ts";
import type { UniversalEvent } from "../protocol/events.ts";
import type { SessionId } from "../protocol/ids.ts";
import { followGroups, type TaskWork } from "../runtime/background.ts";
import type { Projections } from "../runtime/log/contract.ts";
import type { Logger } from "../runtime/logger.ts";
import type { Sessions } from "../runtime/session/contract.ts";
import { stateUpTo } from "./rendering/checkpoints.ts";
import { checkpointedOpenCode } from "./rendering/dialects.ts";
import { type Dialect, startRendering } from "./rendering/rendering.ts";
import { openRenderings } from "./rendering/renderings.ts";

export interface Place {
  readonly sessionID: string;
  readonly messageID: string;
  readonly partID: string;
}

export interface Places {
  /** The session's id on the surface. */
  readonly session: (session: SessionId) => string;
  /** The session that has this id, or whose subagent's conversation has. */
  readonly owner: (sessionID: string) => SessionId | null;
  /** Where an item is, by the agent's own id of it; null when it does not begin in time. */
  readonly find: (session: SessionId, nativeItemId: string) => Promise<Place | null>;
  /** Follows all sessions from now on, until the signal fires. */
  readonly follow: (options: FollowPlaces) => TaskWork;
}

interface FollowPlaces {
  readonly sessions: Sessions;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

/** Hooks run right after their item has begun: older ones are not asked for. */
const REMEMBERED = 1_000;
/** An item is stored within milliseconds; a hook does not wait longer than this for it. */
const WAIT_MS = 2_000;

export function openPlaces(options: OpenCodeOptions = defaultOptions): Places {
  const owners = new Map<string, SessionId>();
  const known = new Map<string, Place>();
  const waiting = new Map<string, Set<(place: Place) => void>>();
  const note = (session: SessionId, { item, place }: Located): void => {
    const key = keyOf(session, item);
    remember(known, key, place);
    remember(owners, place.sessionID, session);
    for (const resolve of [...(waiting.get(key) ?? [])]) resolve(place);
  };
  return {
    session(session) {
      const id = openCodeSessionId(session);
      remember(owners, id, session);
      return id;
    },
    owner: (sessionID) => owners.get(sessionID) ?? null,
    find(session, item) {
      const key = keyOf(session, item);
      const place = known.get(key);
      return place === undefined ? arrival(waiting, key) : Promise.resolve(place);
    },
    follow({ sessions, logger, signal }) {
      const renderings = openRenderings({ sessions, dialect: locating(sessions.projections, options) });
      return followGroups(sessions, { after: sessions.position(), signal }, async (group) => {
        try {
          for (const { out } of await renderings.render(group)) for (const one of out) note(group.session, one);
        } catch (error) {
          logger.warn("plugin.place_failed", { session: group.session, error: String(error) });
        }
      });
    },
  };
}

const keyOf = (session: SessionId, item: string): string => `${session} ${item}`;

function remember<Value>(map: Map<string, Value>, key: string, value: Value): void {
  map.delete(key);
  map.set(key, value);
  const [oldest] = map.keys();
  if (map.size > REMEMBERED && oldest !== undefined) map.delete(oldest);
}

function arrival(waiting: Map<string, Set<(place: Place) => void>>, key: string): Promise<Place | null> {
  return new Promise((resolve) => {
    const all = waiting.get(key) ?? new Set();
    waiting.set(key, all);
    const done = (place: Place | null): void => {
      clearTimeout(timer);
      all.delete(done);
      if (all.size === 0) waiting.delete(key);
      resolve(place);
    };
    const timer = setTimeout(() => done(null), WAIT_MS);
    all.add(done);
  });
}

interface Located {
  readonly item: string;
  readonly place: Place;
}

/** The surface's own rendering, of which only the places of items that begin are kept. */
const locating = (projections: Projections, options: OpenCodeOptions): Dialect<Located> => ({
  async restore(session, upTo) {
    const rendered = checkpointedOpenCode(options);
    const { state, sequence } = await stateUpTo(projections, rendered, { session, sequence: upTo });
    const step = (event: UniversalEvent): Located[] => {
      rendered.fold.step(state, event);
      const found = locate(state, event);
      return found === null ? [] : [found];
    };
    return startRendering(step, { after: sequence });
  },
});

function locate(state: OpenCodeState, event: UniversalEvent): Located | null {
  if (event.type !== "item.started") return null;
  const { item_id, native_item_id: item, content } = event.data.item;
  const call = content.find((part) => part.type === "tool_call");
  const entry = call === undefined ? state.texts.get(item_id) : state.tools.get(call.call_id);
  const sessionID = entry === undefined ? undefined : state.conversations.get(entry.conversation)?.id;
  if (item === null || entry === undefined || sessionID === undefined) return null;
  return { item, place: { sessionID, messageID: entry.messageID, partID: entry.id } };
}
