/** JSON-RPC as an MCP client needs it: requests with a time limit, answers by id, refusals of what we do not do. */
import { METHOD_NOT_FOUND } from "../../core/rpc.ts";
import { timeoutSignal } from "../../runtime/timeout-signal.ts";
import { isRecord, openTransport, type TransportOptions } from "./transport.ts";

export interface Peer {
  readonly request: (
    method: string,
    params: object,
    options: RequestLimits,
  ) => Promise<Readonly<Record<string, unknown>>>;
  readonly notify: (method: string, signal: AbortSignal) => Promise<void>;
  readonly close: () => Promise<void>;
}

export interface RequestLimits {
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
}

interface Waiting {
  readonly resolve: (result: Readonly<Record<string, unknown>>) => void;
  readonly reject: (error: Error) => void;
}

export async function openPeer(options: Omit<TransportOptions, "onMessage" | "onGone">): Promise<Peer> {
  const waiting = new Map<number, Waiting>();
  let gone: string | null = null;
  let count = 0;
  const fail = (why: string): void => {
    gone ??= why;
    for (const { reject } of waiting.values()) reject(new Error(why));
    waiting.clear();
  };
  const answer = (message: Readonly<Record<string, unknown>>): void => {
    const { id, method, result, error } = message;
    if (typeof method === "string") {
      if (id !== undefined) void refuse(id, method).catch(() => {});
      return;
    }
    const asked = typeof id === "number" ? waiting.get(id) : undefined;
    if (asked === undefined || typeof id !== "number") return;
    waiting.delete(id);
    if (isRecord(error)) asked.reject(new Error(String(error.message ?? "it refused")));
    else asked.resolve(isRecord(result) ? result : {});
  };
  const transport = await openTransport({ ...options, onMessage: answer, onGone: fail });
  const refuse = (id: unknown, method: string): Promise<void> => {
    const error = { code: METHOD_NOT_FOUND, message: `There is no method ${method} here.` };
    const reply = method === "ping" ? { result: {} } : { error };
    return transport.send({ jsonrpc: "2.0", id, ...reply }, new AbortController().signal);
  };
  return {
    async request(method, params, { signal, timeoutMs }) {
      if (gone !== null) throw new Error(gone);
      count += 1;
      const id = count;
      const limit = timeoutSignal({ signal, ms: timeoutMs });
      const answered = new Promise<Readonly<Record<string, unknown>>>((resolve, reject) => {
        waiting.set(id, { resolve, reject });
        limit.addEventListener("abort", () => reject(new Error("it took too long, or was stopped")), { once: true });
      });
      // Over HTTP the answer comes with the request, so that one must not fail alone.
      const sent = transport.send({ jsonrpc: "2.0", id, method, params }, limit).catch((error: unknown) => {
        waiting.get(id)?.reject(error instanceof Error ? error : new Error(String(error)));
      });
      try {
        return await answered;
      } finally {
        waiting.delete(id);
        void sent;
        if (limit.aborted && gone === null) {
          const cancelled = { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: id } };
          void transport.send(cancelled, timeoutSignal({ ms: 1_000 })).catch(() => {});
        }
      }
    },
    notify: (method, signal) => transport.send({ jsonrpc: "2.0", method }, signal),
    close: transport.close,
  };
}
