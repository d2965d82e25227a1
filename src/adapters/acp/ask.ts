/** Requests of ours. */
import type { Send } from "../../core/agent-io.ts";
import { call } from "../../core/rpc.ts";
import type { Purpose, State } from "./state.ts";

/** An agent that has not answered by then is no ACP agent, or cannot start. */
export const INITIALIZE_TIMEOUT_MS = 30_000;
export const REQUEST_TIMEOUT_MS = 120_000;

interface Ask {
  readonly method: string;
  readonly params: unknown;
  readonly context: Purpose;
  readonly timeoutMs?: number;
}

export const ask = (state: State, { timeoutMs = REQUEST_TIMEOUT_MS, ...request }: Ask): Send => ({
  type: "send.line",
  line: call(state.rpc, { ...request, at: state.at, timeoutMs }),
});
