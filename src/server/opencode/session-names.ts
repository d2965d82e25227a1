/** Which session an id of OpenCode's means: ids are derived from ours, and those of subagents are in a session. */
import { openCodeSessionId } from "../../projections/opencode/index.ts";
import { hasCode } from "../../protocol/errors.ts";
import { type SessionId, sessionId } from "../../protocol/ids.ts";
import type { Sessions } from "../../runtime/session/contract.ts";
import { everySession } from "../../runtime/session/every-session.ts";

export interface SessionNames {
  readonly set: (name: string, session: SessionId) => void;
  readonly forget: (session: SessionId) => void;
  /** `load` reads a session, which names its subagents. */
  readonly find: (name: string, load: (session: SessionId) => Promise<unknown>) => Promise<SessionId | null>;
}

/** Among so many of the newest sessions… */
const NEWEST = 500;
/** …so many that were used last are searched for a subagent. */
const SEARCHED = 100;

export function openSessionNames(sessions: Sessions): SessionNames {
  const names = new Map<string, SessionId>();
  /** The newest session when all were last named. */
  let named: string | null = null;
  /** All of them once, and then those that were made since: the newest come first. */
  const nameNew = async (): Promise<void> => {
    let newest: string | null = null;
    for await (const { sessionId: own } of everySession(sessions)) {
      newest ??= own;
      if (own === named) break;
      names.set(openCodeSessionId(own), sessionId(own));
    }
    named = newest;
  };
  return {
    set: (name, session) => void names.set(name, session),
    forget(session) {
      for (const [name, own] of names) if (own === session) names.delete(name);
    },
    async find(name, load) {
      const known = names.get(name);
      if (known !== undefined) return known;
      // Sessions that OpenCode's clients made have the same id here.
      if (openCodeSessionId(name) === name && (await exists(sessions, sessionId(name)))) return sessionId(name);
      await nameNew();
      for (const recent of names.has(name) ? [] : await lastUsed(sessions)) {
        await load(recent);
        if (names.has(name)) break;
      }
      return names.get(name) ?? null;
    },
  };
}

async function exists(sessions: Sessions, id: SessionId): Promise<boolean> {
  try {
    await sessions.get(id, { limit: 0 });
    return true;
  } catch (error) {
    if (hasCode(error, "session_not_found")) return false;
    throw error;
  }
}

async function lastUsed(sessions: Sessions): Promise<SessionId[]> {
  const { sessions: newest } = await sessions.list({ limit: NEWEST });
  const sorted = [...newest].sort((one, other) => (one.updatedAt < other.updatedAt ? 1 : -1));
  return sorted.slice(0, SEARCHED).map((one) => sessionId(one.sessionId));
}
