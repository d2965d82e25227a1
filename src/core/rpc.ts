/**
 * A pure JSON-RPC peer. Both sides ask, so there are two spaces of ids: ours are strings with a prefix, so that several
 * sessions may share one connection; the other side's are whatever it likes. Every request is answered exactly once.
 */

export type RpcId = string | number;

/** What goes over the wire. Some agents leave out the `jsonrpc` field, so it is written only when asked for. */
export interface RpcLine {
  readonly jsonrpc?: "2.0";
  readonly id?: RpcId;
  readonly method?: string;
  readonly params?: unknown;
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
}

/** Why a request of ours got no result. `remote`: the other side said so. */
export interface RpcFailure {
  readonly kind: "remote" | "timeout" | "closed";
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

export const METHOD_NOT_FOUND = -32601;
export const INVALID_PARAMS = -32602;
/** Codes of our own for failures that never crossed the wire. */
export const TIMED_OUT = -32001;
export const CLOSED = -32002;

interface Pending<Context> {
  readonly context: Context;
  readonly method: string;
  readonly expiresAt: number;
}

/** Plain data: it is cloned and stored with the fold it belongs to. `Context` says what a request was for. */
export interface RpcState<Context> {
  readonly versioned: boolean;
  prefix: string;
  count: number;
  readonly pending: Map<RpcId, Pending<Context>>;
  /** Requests of the other side that wait for our answer, with their method. */
  readonly asked: Map<RpcId, string>;
}

export const startRpc = <Context>({
  prefix,
  versioned,
}: {
  prefix: string;
  versioned: boolean;
}): RpcState<Context> => ({
  versioned,
  prefix,
  count: 0,
  pending: new Map(),
  asked: new Map(),
});

/** What a received line means. */
export type RpcHeard<Context> =
  | { readonly type: "result"; readonly context: Context; readonly result: unknown }
  | { readonly type: "failure"; readonly context: Context; readonly failure: RpcFailure }
  | { readonly type: "request"; readonly id: RpcId; readonly method: string; readonly params: unknown }
  | { readonly type: "notification"; readonly method: string; readonly params: unknown }
  /** An answer to nothing we asked, or one that came too late; or a request we have already. */
  | { readonly type: "stray" };

interface Call<Context> {
  readonly method: string;
  readonly params: unknown;
  readonly context: Context;
  readonly at: number;
  readonly timeoutMs: number;
}

/** Asks the other side. The answer comes back from `hear` with the context; without one, `expire` gives up on it. */
export function call<Context>(
  state: RpcState<Context>,
  { method, params, context, at, timeoutMs }: Call<Context>,
): RpcLine {
  state.count += 1;
  const id = `${state.prefix}${state.count}`;
  state.pending.set(id, { context, method, expiresAt: at + timeoutMs });
  return line(state, { id, method, params });
}

export const notify = <Context>(
  state: RpcState<Context>,
  { method, params }: { method: string; params?: unknown },
): RpcLine => line(state, params === undefined ? { method } : { method, params });

/** A request of ours that a recording shows: its answer is understood as if we had asked. */
export function overhear<Context>(
  state: RpcState<Context>,
  { id, method, context, expiresAt }: { id: RpcId; method: string; context: Context; expiresAt: number },
): void {
  state.pending.set(id, { context, method, expiresAt });
}

export function hear<Context>(state: RpcState<Context>, heard: RpcLine): RpcHeard<Context> {
  const { id, method } = heard;
  if (method !== undefined) {
    if (id === undefined) return { type: "notification", method, params: heard.params };
    if (state.asked.has(id)) return { type: "stray" };
    state.asked.set(id, method);
    return { type: "request", id, method, params: heard.params };
  }
  const pending = id === undefined ? undefined : state.pending.get(id);
  if (id === undefined || pending === undefined) return { type: "stray" };
  state.pending.delete(id);
  const { context } = pending;
  if (heard.error === undefined) return { type: "result", context, result: heard.result };
  return { type: "failure", context, failure: { kind: "remote", ...heard.error } };
}

/** Answers a request of the other side; null when it has been answered or withdrawn. */
export function answer<Context>(
  state: RpcState<Context>,
  { id, result }: { id: RpcId; result: unknown },
): RpcLine | null {
  return state.asked.delete(id) ? line(state, { id, result }) : null;
}

export function refuse<Context>(
  state: RpcState<Context>,
  { id, code, message }: { id: RpcId; code: number; message: string },
): RpcLine | null {
  return state.asked.delete(id) ? line(state, { id, error: { code, message } }) : null;
}

/** The other side no longer waits. False when we had answered, or never heard of it. */
export const withdraw = <Context>(state: RpcState<Context>, id: RpcId): boolean => state.asked.delete(id);

/** When the first request of ours is overdue, or null. */
export function nextExpiry<Context>({ pending }: RpcState<Context>): number | null {
  let next = Number.POSITIVE_INFINITY;
  for (const { expiresAt } of pending.values()) next = Math.min(next, expiresAt);
  return Number.isFinite(next) ? next : null;
}

/** The requests of ours whose time is over, oldest first. */
export function expire<Context>(state: RpcState<Context>, at: number): { context: Context; failure: RpcFailure }[] {
  const out: { context: Context; failure: RpcFailure }[] = [];
  for (const [id, { context, method, expiresAt }] of state.pending) {
    if (expiresAt > at) continue;
    state.pending.delete(id);
    out.push({ context, failure: { kind: "timeout", code: TIMED_OUT, message: `${method} was not answered in time` } });
  }
  return out;
}

/** The connection is gone: nothing will be answered, on either side. */
export function disconnect<Context>(state: RpcState<Context>): { context: Context; failure: RpcFailure }[] {
  const out = [...state.pending.values()].map(({ context, method }) => ({
    context,
    failure: { kind: "closed" as const, code: CLOSED, message: `The connection ended before ${method} was answered` },
  }));
  state.pending.clear();
  state.asked.clear();
  return out;
}

const line = <Context>({ versioned }: RpcState<Context>, rest: RpcLine): RpcLine =>
  versioned ? { jsonrpc: "2.0", ...rest } : rest;

/** The envelope alone: an object that is a request, a notification, a result or an error. */
export function isRpcLine(value: unknown): value is RpcLine {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  const { id, method, result, error }: Envelope = value;
  const hasId = typeof id === "string" || typeof id === "number";
  if (id !== undefined && !hasId) return false;
  if (method !== undefined) return typeof method === "string";
  if (!hasId) return false;
  return result !== undefined || isRpcError(error);
}

interface Envelope {
  readonly id?: unknown;
  readonly method?: unknown;
  readonly result?: unknown;
  readonly error?: unknown;
}

const isRpcError = (value: unknown): boolean =>
  typeof value === "object" &&
  value !== null &&
  "code" in value &&
  typeof value.code === "number" &&
  "message" in value &&
  typeof value.message === "string";
