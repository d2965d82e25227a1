/** Control requests of our own: each has an id, so that its answer is understood. */
import type { Send } from "../../core/agent-io.ts";
import type { Report } from "../../core/report.ts";
import type { ClaudeControlResponse, JsonObject } from "../../dialects/claude.ts";
import { isShape, isString } from "../../dialects/shape.ts";
import type { State } from "./state.ts";

export function request(state: State, body: JsonObject & { readonly subtype: string }): Send {
  state.requests += 1;
  const request_id = `franca-${state.requests}`;
  state.requested.set(request_id, body.subtype);
  return { type: "send.line", line: { type: "control_request", request_id, request: body } };
}

/** What the CLI answered to a request of ours. */
export function onControlResponse(state: State, { response }: ClaudeControlResponse): Report[] {
  const asked = state.requested.get(response.request_id);
  state.requested.delete(response.request_id);
  if (response.subtype === "error") {
    // A task that ended by itself in the meantime cannot be stopped, and need not be.
    if (asked === "stop_task") return [];
    const message = response.error ?? `Claude Code refused ${asked ?? "a request"}.`;
    return [{ type: "error", message, code: "request_refused", details: { request: asked ?? null }, fatal: false }];
  }
  const answer = isShape(response.response) ? response.response : {};
  if (asked === "set_model" && isString(answer.model)) return [{ type: "session", model: answer.model }];
  return [];
}
