/** What a caller of the MCP endpoint may do: everything, or only what it has started itself. */
import { ApiError } from "../../protocol/errors.ts";
import { type SessionId, sessionId } from "../../protocol/ids.ts";
import type { SessionSummary } from "../../protocol/resources.ts";
import { Action } from "../../protocol/tokens.ts";
import type { DelegateRequest, Sessions } from "../../runtime/session/contract.ts";
import type { Work } from "../../runtime/session/delegate-work.ts";
import { everySession } from "../../runtime/session/every-session.ts";
import type { Caller } from "../credentials/access.ts";
import { ownerOnly } from "../credentials/credential.ts";

export interface Authority {
  /** Whether it may answer requests and use sessions that others have started. */
  readonly isFull: boolean;
  readonly actions: readonly Action[];
  readonly start: (asked: DelegateRequest) => Promise<SessionId>;
  /** Throws unless it may use this session. */
  readonly check: (id: SessionId) => Promise<void>;
  readonly list: () => Promise<readonly SessionSummary[]>;
  /** Begins work for it. Throws when too much is at work. */
  readonly enter: () => Promise<Work>;
}

export interface McpCaller {
  /** As far as the caller's credential gives access to them. */
  readonly sessions: Sessions;
  readonly caller: Caller;
  readonly wantsAll: boolean;
  /** The MCP session: what was started in it may be used in it. */
  readonly scope: string | undefined;
  readonly scopes: Scopes;
  readonly directory: string | undefined;
}

export function authorityOf(client: McpCaller): Authority {
  const { sessions, caller, wantsAll } = client;
  if (caller.type === "owner") return wantsAll ? ofPerson(sessions) : ofClient(client, allActions);
  if (wantsAll) throw ownerOnly("Access to all sessions (`full`)");
  const { kind, sessions: own, actions } = caller.credential;
  const [parent] = own;
  if (kind === "delegation" && parent !== undefined) return ofSession(sessions, { parent: sessionId(parent), actions });
  return ofClient(client, actions);
}

const allActions = Action.options;

interface Delegating {
  readonly parent: SessionId;
  readonly actions: readonly Action[];
}

const ofSession = ({ delegates }: Sessions, { parent, actions }: Delegating): Authority => ({
  isFull: false,
  actions,
  start: (asked) => delegates.start(parent, asked),
  check: (id) => delegates.check(parent, id),
  list: () => delegates.list(parent),
  enter: () => delegates.enter(parent),
});

const free = async (): Promise<Work> => ({ signal: new AbortController().signal, leave: () => {} });

const ofPerson = (sessions: Sessions): Authority => ({
  isFull: true,
  actions: allActions,
  start: (asked) => create(sessions, asked),
  check: async (id) => void (await sessions.get(id, { limit: 0 })),
  list: async () => {
    const all: SessionSummary[] = [];
    for await (const one of everySession(sessions)) all.push(one);
    return all;
  },
  enter: free,
});

/** Any other client: only sessions that it has started, in permission mode `default` or `plan`. */
function ofClient({ sessions, scope, scopes, directory }: McpCaller, actions: readonly Action[]): Authority {
  const started = scopes.of(scope);
  const refuse = (id: string): ApiError =>
    new ApiError("session_not_found", `There is no session ${id} that this client has started.`);
  return {
    isFull: false,
    actions,
    async start(asked) {
      if (!actions.includes("create")) throw ownerOnly("Starting a session");
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
