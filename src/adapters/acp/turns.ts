/** When an ACP agent works and when it is done. Its word is the answer to our prompt; much hides behind `end_turn`. */
import { AUTH_REQUIRED, endReasons, isStopReason, REQUEST_CANCELLED } from "../../core/acp.ts";
import type { Report } from "../../core/report.ts";
import type { RpcFailure } from "../../core/rpc.ts";
import type { UpdateOf } from "../../dialects/acp.ts";
import { isShape, isString, type Shape, shapeOf } from "../../dialects/shape.ts";
import type { EndReason, ErrorInfo } from "../../protocol/events.ts";
import { closeBlock } from "./blocks.ts";
import { leaveCalls } from "./calls.ts";
import { endGrants } from "./grants.ts";
import type { State } from "./state.ts";
import { resultUsage } from "./usage.ts";
import { beginTurn } from "./work.ts";

/** How long a turn that nobody asked for lasts without a word, where the agent does not say its end. */
export const QUIET_MS = 10_000;

/** The answer to a prompt, in version 1; `state_update` idle in version 2. */
export function onResult(state: State, result: Shape): Report[] {
  const usage = resultUsage(state, result);
  const reason = isStopReason(result.stopReason) ? endReasons[result.stopReason] : null;
  if (result.stopReason === "error") return [...usage, ...endTurn(state, failed(errorOf(result.error)))];
  if (reason === null) {
    const message = `The agent ended its turn with the unknown stop reason ${JSON.stringify(result.stopReason)}.`;
    return [...usage, ...endTurn(state, failed({ message, code: "agent_error", details: null }))];
  }
  if (reason === "completed") return [...usage, ...endTurn(state, hiddenEnd(state, result))];
  if (reason === "aborted" && !state.cancelled) {
    return [...usage, ...endTurn(state, { reason: state.rejected ? "rejected" : "interrupted" })];
  }
  return [...usage, ...endTurn(state, { reason })];
}

interface End {
  readonly reason: EndReason;
  readonly error?: ErrorInfo;
}

const failed = (error: ErrorInfo): End => ({ reason: "error", error });

/** `end_turn` after a failure that was only said in words, after a refusal, or after nothing at all. */
function hiddenEnd(state: State, { _meta }: Shape): End {
  const { sessionFailure } = shapeOf(shapeOf(shapeOf(_meta).jetbrains).air);
  if (isShape(sessionFailure) && sessionFailure.severity === "error") {
    const { title, category } = sessionFailure;
    return failed({ ...readable(String(title)), code: isString(category) ? category : "agent_error", details: null });
  }
  if (state.cancelled) return { reason: "aborted" };
  if (state.failure !== null) return failed({ ...readable(state.failure), code: "agent_error", details: null });
  if (state.rejected) return { reason: "rejected" };
  if (state.said || state.turn === "none") return { reason: "completed" };
  const message = "The agent ended its turn without a word: its provider has probably refused the request.";
  return failed({ message, code: "empty_turn", details: null });
}

export function onFailure(state: State, failure: RpcFailure): Report[] {
  // The end of the process says it.
  if (failure.kind === "closed") return [];
  if (state.cancelled || failure.code === REQUEST_CANCELLED) return endTurn(state, { reason: "aborted" });
  const error = failureInfo(failure);
  const isLength = /max_output_tokens|truncated by max_tokens/i.test(JSON.stringify([error, failure.data]));
  const report: Report = { type: "error", ...error, fatal: true };
  // What the agent said in words and now repeats as an error is one error.
  const said: Report[] = state.failure !== null ? [] : [report];
  return [...said, ...endTurn(state, { reason: isLength ? "length" : "error", error })];
}

export function failureInfo({ code, message, data }: RpcFailure): ErrorInfo {
  const fields = shapeOf(data);
  const said = [fields.details, fields.message, message].find((text) => isString(text) && text !== "");
  const kind = [fields.errorKind, fields.errorName, fields.kind].find((name) => isString(name) && name !== "unknown");
  const named = code === AUTH_REQUIRED ? "auth_required" : isString(kind) ? kind : "agent_error";
  const text = readable(String(said).replace(/^Internal error: /, ""));
  return { ...text, code: named, details: { rpc_code: code, ...(data === undefined ? {} : { data }) } };
}

function errorOf(error: unknown): ErrorInfo {
  const { code, message, data } = shapeOf(error);
  const number = typeof code === "number" ? code : 0;
  return failureInfo({ kind: "remote", code: number, message: isString(message) ? message : "It failed.", data });
}

/** Some send the provider's whole answer as their message. */
function readable(message: string): { readonly message: string } {
  if (!message.trimStart().startsWith("{")) return { message: message.trim() };
  try {
    const { error } = shapeOf(JSON.parse(message));
    const inner = shapeOf(error).message;
    return { message: isString(inner) ? inner : message.trim() };
  } catch {
    return { message: message.trim() };
  }
}

export function endTurn(state: State, { reason, error }: End): Report[] {
  const natural = reason === "completed";
  const out: Report[] = [];
  for (const thread of state.threads.values()) out.push(...closeBlock(thread, natural ? "completed" : "failed"));
  out.push(...leaveCalls(state, { natural }));
  out.push({
    type: "end",
    reason,
    ...(error === undefined ? {} : { error }),
    says: state.turn !== "none",
  });
  endGrants(state.grants);
  state.turn = "none";
  state.turnAt = state.at;
  const next = state.queued.shift();
  if (next === undefined) return out;
  const begun = [...beginTurn(state, "asked"), ...userItem(next.item)].map((one) => ({ ...one, host: next.host }));
  // One that answers two prompts at once has nothing left to say for the second.
  if (state.quirks.mergesPrompts === true) state.said = true;
  return [...out, ...begun];
}

/** The prompt of a recording's host. */
export const userItem = (item: Extract<Report, { type: "open" }>["item"]): Report[] => [
  { type: "open", item },
  { type: "close", key: item.key, status: "completed" },
];

/** Version 2 says itself what it does. */
export function onStateUpdate(state: State, update: UpdateOf<"state_update">): Report[] {
  switch (update.state) {
    case "running":
      return state.turn === "none" ? beginTurn(state, state.prompts > 0 ? "asked" : "unasked") : [];
    case "idle":
      if (state.turn === "none") return [];
      return onResult(state, { ...update, stopReason: update.stopReason ?? "end_turn" });
    default:
      // That a person is waited for is said by the request itself.
      return [];
  }
}

/** Nothing was heard for a while in a turn that nobody asked for. */
export function endQuiet(state: State, at: number): Report[] {
  const due = quietAt(state);
  return due !== null && due <= at ? endTurn(state, { reason: "completed" }) : [];
}

export function quietAt(state: State): number | null {
  if (state.turn !== "unasked" || state.version === 2) return null;
  for (const { called, status } of state.calls.values()) if (called && status !== "background") return null;
  return state.asked.size > 0 ? null : state.at + QUIET_MS;
}
