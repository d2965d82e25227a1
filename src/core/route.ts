/** Which session a line is for, on a connection that carries several. Lines of unknown threads wait to be claimed. */

/** What one line says about where it belongs. */
export interface Route {
  /** The native thread or session the line speaks of; null when it is about the connection as a whole. */
  readonly thread: string | null;
  /** The thread begins as a session of its own. */
  readonly root?: boolean | undefined;
  /** Threads that the line's thread owns: their lines belong to its session. */
  readonly claims?: readonly string[] | undefined;
  /** The line is about no conversation at all (a shared server's own affairs): no session hears or keeps it. */
  readonly nobody?: boolean;
  /** The line's thread is owned by this one. */
  readonly parent?: string | undefined;
  /** The line is a request of ours with this id (from the host), or the answer to it (from the agent). */
  readonly request?: string | undefined;
  /** The line is an answer. From the host it answers the agent, and `request` is an id of the agent's. */
  readonly answer?: boolean;
}

export interface RouteState {
  /** Thread → the session that owns it. */
  readonly owners: Map<string, string>;
  /** Request id → the session that sent it. */
  readonly requests: Map<string, string>;
  /** Lines of threads nobody knows yet, oldest first. */
  readonly held: Map<string, unknown[]>;
  heldCount: number;
}

/** Lines that wait for a parent, over all threads; beyond it the oldest thread becomes a session of its own. */
export const HELD_LINES_LIMIT = 10_000;

export const startRoutes = (): RouteState => ({
  owners: new Map(),
  requests: new Map(),
  held: new Map(),
  heldCount: 0,
});

export type Routed =
  /** `session` null: it concerns every session of the connection. */
  | { readonly type: "deliver"; readonly session: string | null; readonly line: unknown }
  /** A new root thread: the connection's owner opens a session for it (or, live, drops it with a warning). */
  | { readonly type: "root"; readonly session: string };

/** A session says which thread is its own: what a live daemon does when it learns the native id. */
export function own(state: RouteState, { thread, session }: { thread: string; session: string }): Routed[] {
  state.owners.set(thread, session);
  return release(state, { thread, session });
}

/** A session sent a request: its answer is for that session. */
export function sent(state: RouteState, { request, session }: { request: string; session: string }): void {
  state.requests.set(request, session);
}

/** A line arrived: to whom does it go? */
export function routeLine(state: RouteState, { route, line }: { route: Route; line: unknown }): Routed[] {
  if (route.request !== undefined) {
    const session = state.requests.get(route.request);
    if (session !== undefined) {
      state.requests.delete(route.request);
      const out: Routed[] = [{ type: "deliver", session, line }];
      // The answer names the thread that begins with it: it is the asker's, before its next line arrives.
      if (route.root === true && route.thread !== null) out.push(...own(state, { thread: route.thread, session }));
      return out;
    }
  }
  const { thread } = route;
  if (route.nobody === true) return [];
  if (thread === null) return [{ type: "deliver", session: null, line }];

  const out: Routed[] = [];
  let session = state.owners.get(thread) ?? (route.parent === undefined ? undefined : state.owners.get(route.parent));
  if (session === undefined && route.root === true) {
    session = thread;
    out.push({ type: "root", session });
  }
  if (session === undefined) return hold(state, { thread, line });
  if (!state.owners.has(thread)) out.push(...own(state, { thread, session }));
  out.push({ type: "deliver", session, line });
  for (const child of route.claims ?? []) {
    if (!state.owners.has(child)) out.push(...own(state, { thread: child, session }));
  }
  return out;
}

/** The stream is over: threads that nobody claimed are sessions of their own. */
export function releaseAll(state: RouteState): Routed[] {
  return [...state.held.keys()].flatMap((thread) => [
    { type: "root" as const, session: thread },
    ...own(state, { thread, session: thread }),
  ]);
}

function hold(state: RouteState, { thread, line }: { thread: string; line: unknown }): Routed[] {
  const lines = state.held.get(thread) ?? [];
  lines.push(line);
  state.held.set(thread, lines);
  state.heldCount += 1;
  if (state.heldCount <= HELD_LINES_LIMIT) return [];
  const oldest = state.held.keys().next();
  if (oldest.done === true) return [];
  return [{ type: "root", session: oldest.value }, ...own(state, { thread: oldest.value, session: oldest.value })];
}

function release(state: RouteState, { thread, session }: { thread: string; session: string }): Routed[] {
  const lines = state.held.get(thread) ?? [];
  state.held.delete(thread);
  state.heldCount -= lines.length;
  return lines.map((line) => ({ type: "deliver" as const, session, line }));
}
