/** The client of a daemon: everything its API offers, typed, in Node and in browsers. */
import type { Adoption, AdoptRequest, DiscoverQuery, Discovery } from "../protocol/adoption.ts";
import type { AgentName } from "../protocol/agents.ts";
import type { Retry, SessionStatus, UniversalEvent } from "../protocol/events.ts";
import type {
  AgentSummary,
  CreatedSession,
  CreateSession,
  Health,
  LoginCode,
  ModelList,
  ModeSummary,
  NewSession,
  SessionFilter,
  SessionList,
  SessionSummary,
  TrustList,
  UsageBy,
  UsageList,
  UsageRow,
} from "../protocol/resources.ts";
import type { RemovedWorktree, SessionWorktree, WorktreeList } from "../protocol/workspaces.ts";
import { sessionPath } from "./ask.ts";
import { type ConnectOptions, followStream, type Http, openHttp } from "./http.ts";
import { openSession, type Session } from "./session.ts";
import { checkId, checkOptions } from "./usage.ts";

export interface StatusChange {
  readonly sessionId: string;
  readonly status: SessionStatus;
  /** Only with `retrying`. */
  readonly retry?: Retry;
}

/** An event of some session, with the place to go on from. */
export interface PlacedEvent {
  readonly cursor: string;
  readonly event: UniversalEvent;
}

export interface FollowAllOptions {
  /** With the native line that caused each event, in `raw`. */
  readonly includeRaw?: boolean;
  /** A cursor of this stream: what comes after it. Absent: only what comes from now on. `0`: everything. */
  readonly after?: string;
  readonly signal?: AbortSignal;
}

export interface SessionListQuery extends SessionFilter {
  readonly limit?: number;
  /** `nextCursor` of the page before. */
  readonly cursor?: string;
}

export interface CreateOptions extends Omit<CreateSession, "agent"> {
  readonly agent?: AgentName | undefined;
  /** An id of your choice: a second session of the same id is refused. */
  readonly id?: string | undefined;
}

/** As many sessions as a page may have. */
const PAGE = 1_000;

export interface UsageQuery {
  readonly by: UsageBy;
  /** How many days back, today included; 30 when absent. */
  readonly days?: number;
  /** How far the caller's clock is ahead of UTC; 0 when absent. */
  readonly offsetMinutes?: number;
}

export interface Client {
  readonly health: () => Promise<Health>;
  readonly agents: () => Promise<readonly AgentSummary[]>;
  readonly models: (agent: AgentName) => Promise<ModelList>;
  readonly modes: (agent: AgentName) => Promise<readonly ModeSummary[]>;
  readonly installAgent: (
    agent: AgentName,
    options?: { readonly version?: string; readonly reinstall?: boolean },
  ) => Promise<void>;
  /** All sessions that fit, the newest first: page by page until there is no more. */
  /** Conversations that agents keep in files of their own, on the daemon's machine. */
  readonly discover: (query?: DiscoverQuery) => Promise<Discovery>;
  /** Imports one of them; again: what others have added to it since. */
  readonly adopt: (request: AdoptRequest) => Promise<Adoption>;
  readonly sessions: (filter?: SessionFilter) => Promise<readonly SessionSummary[]>;
  /** One page of them. */
  readonly listSessions: (query?: SessionListQuery) => Promise<SessionList>;
  /** An existing session, by its id. Asks nothing of the daemon yet. */
  readonly session: (id: string) => Session;
  /** Creates a session. Without an agent it gets the daemon's default agent, without an id a new one. */
  readonly create: (options?: CreateOptions) => Promise<Session & { readonly created: CreatedSession }>;
  /** What every session is doing. */
  readonly statuses: () => Promise<ReadonlyMap<string, SessionStatus>>;
  /** All that change, as they change. */
  readonly statusChanges: (options?: { readonly signal?: AbortSignal }) => AsyncIterable<StatusChange>;
  /** The events of all sessions, reconnecting where the stream was cut. */
  readonly events: (options?: FollowAllOptions) => AsyncIterable<PlacedEvent>;
  /** Trusted folders; with a directory, also whether that one is trusted. */
  readonly trust: (directory?: string) => Promise<TrustList>;
  /** Lets agents use what the folder brings along. Gives its real path. */
  readonly addTrust: (directory: string, options?: { readonly force?: boolean }) => Promise<string>;
  readonly removeTrust: (directory: string) => Promise<void>;
  /** Git worktrees that were made for sessions. */
  readonly worktrees: () => Promise<readonly SessionWorktree[]>;
  /** Gives what was in it. Changes that are not committed are lost, and need `force`. */
  readonly removeWorktree: (sessionId: string, options?: { readonly force?: boolean }) => Promise<RemovedWorktree>;
  /** A one-time code, with which a page logs in (`POST /v1/login`). */
  readonly makeLoginCode: () => Promise<LoginCode>;
  /** Logs out all pages. */
  readonly revokeLogins: () => Promise<void>;
  /** Tokens and cost of all stored sessions, one row per day, agent, model or folder. */
  readonly usage: (query: UsageQuery) => Promise<readonly UsageRow[]>;
  /** Prometheus' text. */
  readonly metrics: () => Promise<string>;
  readonly openapi: () => Promise<unknown>;
}

/** Connects to a daemon; nothing is asked of it before the first request. */
export function connect(options: ConnectOptions = {}): Client {
  const http = openHttp(options);
  const agentPath = (agent: string) => `/v1/agents/${encodeURIComponent(agent)}`;
  const listSessions = (query: SessionListQuery = {}) =>
    http.json<SessionList>("/v1/sessions", { query: { ...query } });
  const sessions = async (filter: SessionFilter = {}) => {
    const all: SessionSummary[] = [];
    for (let cursor: string | null = ""; cursor !== null; ) {
      const page: SessionList = await listSessions({ ...filter, limit: PAGE, ...(cursor === "" ? {} : { cursor }) });
      all.push(...page.sessions);
      // A daemon of an older version has no pages.
      cursor = page.nextCursor ?? null;
    }
    return all;
  };
  return {
    health: () => http.json("/v1/health"),
    agents: async () => (await http.json<{ agents: AgentSummary[] }>("/v1/agents")).agents,
    models: (agent) => http.json(`${agentPath(agent)}/models`),
    modes: async (agent) => (await http.json<{ modes: ModeSummary[] }>(`${agentPath(agent)}/modes`)).modes,
    discover: (query = {}) => http.json<Discovery>("/v1/discover", { query: { ...query } }),
    adopt: (body) => http.json<Adoption>("/v1/adopt", { method: "POST", body }),
    installAgent: async (agent, body = {}) =>
      void (await http.request(`${agentPath(agent)}/install`, { method: "POST", body })),
    sessions,
    listSessions,
    session: (id) => openSession(http, id),
    create: async (options = {}) => {
      checkOptions(options, { of: "create" });
      const { id, ...body } = options;
      if (id !== undefined) checkId(id, { what: "create: `id`" });
      const path = id === undefined ? "/v1/sessions" : sessionPath(id);
      const { sessionId = id ?? "", ...created } = await http.json<NewSession>(path, { method: "POST", body });
      return { ...openSession(http, sessionId), created };
    },
    statuses: async () => new Map((await sessions()).map(({ sessionId, status }) => [sessionId, status])),
    statusChanges: (follow = {}) => statusChanges(http, follow),
    events: (follow = {}) => followAll(http, follow),
    trust: (directory) => http.json("/v1/trust", { query: { directory } }),
    addTrust: async (directory, options = {}) =>
      (await http.json<{ path: string }>("/v1/trust", { method: "POST", body: { directory, ...options } })).path,
    removeTrust: async (directory) =>
      void (await http.request("/v1/trust", { method: "DELETE", query: { directory } })),
    worktrees: async () => (await http.json<WorktreeList>("/v1/worktrees")).worktrees,
    removeWorktree: (id, { force = false } = {}) =>
      http.json(`/v1/worktrees/${encodeURIComponent(id)}`, { method: "DELETE", query: { force } }),
    makeLoginCode: () => http.json("/v1/login/codes", { method: "POST" }),
    revokeLogins: async () => void (await http.request("/v1/login", { method: "DELETE" })),
    usage: async (query) => (await http.json<UsageList>("/v1/usage", { query: { ...query } })).rows,
    metrics: async () => (await http.request("/metrics")).text(),
    openapi: () => http.json("/openapi.json"),
  };
}

async function* followAll(http: Http, { after, includeRaw, signal }: FollowAllOptions): AsyncGenerator<PlacedEvent> {
  const batches = followStream({
    http,
    path: "/v1/events/sse",
    query: { include_raw: includeRaw },
    lastEventId: after ?? null,
    signal: signal ?? new AbortController().signal,
  });
  for await (const batch of batches) {
    for (const { id, data } of batch) if (id !== null && data !== null) yield { cursor: id, event: JSON.parse(data) };
  }
}

async function* statusChanges(http: Http, options: FollowAllOptions): AsyncGenerator<StatusChange> {
  for await (const { event } of followAll(http, options)) {
    const status = statusAfter(event);
    if (status === null) continue;
    const retry = retryAfter(event);
    yield { sessionId: event.session_id, status, ...(retry === null ? {} : { retry }) };
  }
}

function retryAfter(event: UniversalEvent): Retry | null {
  if (event.type !== "turn.state") return null;
  const { attempt, message, next } = event.data;
  return attempt === undefined || message === undefined || next === undefined ? null : { attempt, message, next };
}

/** What a session does after an event; null when the event says nothing of it. */
export function statusAfter(event: UniversalEvent): SessionStatus | null {
  switch (event.type) {
    case "turn.started":
      return "running";
    case "turn.state":
      return event.data.state;
    case "turn.ended":
      return "idle";
    default:
      return null;
  }
}
