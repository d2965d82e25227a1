/** What a caller of the MCP endpoint may do: everything, or only what it has started itself. */
import { ApiError } from "../../protocol/errors.ts";
import { type SessionId, sessionId } from "../../protocol/ids.ts";
import type { SessionSummary } from "../../protocol/resources.ts";
import type { DelegateRequest, Sessions } from "../../runtime/session/contract.ts";
import type { Work } from "../../runtime/session/delegate-work.ts";
import { everySession } from "../../runtime/session/every-session.ts";
import { tokenOf } from "../http/auth.ts";

export interface Authority {
  /** Whether it may answer requests and use sessions that others have started. */
  readonly isFull: boolean;
  readonly start: (asked: DelegateRequest) => Promise<SessionId>;
  /** Throws unless it may use this session. */
  readonly check: (id: SessionId) => Promise<void>;
  readonly list: () => Promise<readonly SessionSummary[]>;
  /** Begins work for it. Throws when too much is at work. */
  readonly enter: () => Promise<Work>;
}

export interface Caller {
  readonly sessions: Sessions;
  readonly authorization: string | undefined;
  readonly wantsAll: boolean;
  /** The MCP session: what was started in it may be used in it. */
  readonly scope: string | undefined;
  readonly scopes: Scopes;
  readonly directory: string | undefined;
}

export function authorityOf(caller: Caller): Authority {
  const { sessions, authorization, wantsAll } = caller;
  const credential = tokenOf(authorization);
  const holder = credential === null ? null : sessions.delegates.holderOf(credential);
  if (holder !== null) {
    if (wantsAll) throw new ApiError("token_invalid", "A session's credential gives access to its own sessions only.");
    return ofSession(sessions, holder);
  }
  return wantsAll ? ofPerson(sessions) : ofClient(caller);
}

const ofSession = ({ delegates }: Sessions, parent: SessionId): Authority => ({
  isFull: false,
  start: (asked) => delegates.start(parent, asked),
  check: (id) => delegates.check(parent, id),
  list: () => delegates.list(parent),
  enter: () => delegates.enter(parent),
});

const free = async (): Promise<Work> => ({ signal: new AbortController().signal, leave: () => {} });

const ofPerson = (sessions: Sessions): Authority => ({
  isFull: true,
  start: (asked) => create(sessions, asked),
  check: async (id) => void (await sessions.get(id, { limit: 0 })),
  list: async () => {
    const all: SessionSummary[] = [];
    for await (const one of everySession(sessions)) all.push(one);
    return all;
  },
  enter: free,
});

/** A client that has the token, but was not given everything: what it has started, asking as usual. */
function ofClient({ sessions, scope, scopes, directory }: Caller): Authority {
  const started = scopes.of(scope);
  const refuse = (id: string): ApiError =>
    new ApiError("session_not_found", `There is no session ${id} that this client has started.`);
  return {
    isFull: false,
    async start(asked) {
      if (asked.permissionMode === "acceptEdits" || asked.permissionMode === "bypass") {
        throw new ApiError("mode_not_supported", "A looser permission mode than default needs franca mcp --full.");
      }
      if (asked.directory !== undefined && asked.directory !== directory) {
        throw new ApiError("invalid_request", "Another directory than the client's own needs franca mcp --full.");
      }
      const id = await create(sessions, { ...asked, ...(directory === undefined ? {} : { directory }) });
      started.add(id);
      return id;
    },
    check: async (id) => {
      if (!started.has(id)) throw refuse(id);
    },
    list: async () => Promise.all([...started].map((id) => sessions.get(id, { limit: 0 }))),
    enter: free,
  };
}

async function create(sessions: Sessions, asked: DelegateRequest): Promise<SessionId> {
  const id = sessionId(crypto.randomUUID());
  await sessions.create(id, asked);
  return id;
}

/** What each MCP session has started, in memory: a client that comes back after a restart begins anew. */
export interface Scopes {
  readonly of: (scope: string | undefined) => Set<SessionId>;
}

/** The oldest are dropped beyond this many. */
const MOST_SCOPES = 1_000;

export function openScopes(): Scopes {
  const scopes = new Map<string, Set<SessionId>>();
  return {
    of(scope) {
      // Without a scope nothing is remembered.
      if (scope === undefined) return new Set();
      const known = scopes.get(scope) ?? new Set();
      scopes.delete(scope);
      scopes.set(scope, known);
      for (const oldest of scopes.keys()) {
        if (scopes.size <= MOST_SCOPES) break;
        scopes.delete(oldest);
      }
      return known;
    },
  };
}
