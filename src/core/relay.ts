/**
 * Requests of sessions that this session's agent has started. Nobody watches those, so their requests surface here, at
 * the root, and what a person answers goes back to where it was asked.
 */
import type { PermissionReply } from "../protocol/commands.ts";
import type { DraftOf } from "../protocol/events.ts";
import { permissionId, questionId } from "../protocol/ids.ts";
import type { SessionInput } from "./input.ts";
import { showState } from "./lifecycle.ts";
import { emit, type MachineOutput, type MachineState, type OpenRequest, ours, type Relay } from "./machine-state.ts";
import { noScopes } from "./remembered.ts";
import { resolvePermission, resolveQuestion } from "./requests.ts";

/** What is relayed: the requests of another session, and how they were resolved there. */
export type RelayedEvent = DraftOf<
  "permission.requested" | "permission.resolved" | "question.requested" | "question.resolved"
>;

const RULE = "request.relayed";

export function onRelayed(
  state: MachineState,
  out: MachineOutput[],
  { from, event }: Extract<SessionInput, { type: "relayed" }>,
): void {
  const id = "permission_id" in event.data ? event.data.permission_id : event.data.question_id;
  const key = `relay/${from.session_id}/${id}`;
  const known = state.requests.get(key);
  if (event.type === "permission.resolved" || event.type === "question.resolved") {
    if (known !== undefined) resolveHere(state, out, { request: known, event });
  } else if (known === undefined && state.turn !== null && state.turn.stop === null && !state.resolved.has(key)) {
    const request = requestFrom(state, { event, key, relay: { ...from, request_id: id } });
    state.requests.set(key, request);
    if (request.type === "permission")
      emit(state, out, { type: "permission.requested", data: request.data }, ours(RULE));
    else emit(state, out, { type: "question.requested", data: request.data }, ours(RULE));
  }
  showState(state, out);
}

type Asked = Extract<RelayedEvent, { type: "permission.requested" | "question.requested" }>;

/** Its deadline is kept where it was asked. The call that it is about is none of this session's. */
function requestFrom(
  state: MachineState,
  { event, key, relay }: { event: Asked; key: string; relay: Relay },
): OpenRequest {
  const { session_id, agent } = relay;
  const deadline = Number.POSITIVE_INFINITY;
  const place = { call_id: null, delegate: { session_id, agent } };
  if (event.type === "permission.requested") {
    state.permissions += 1;
    const { data } = event;
    const permission_id = permissionId(state.session, state.permissions);
    const metadata = { ...data.metadata, ...place };
    return { type: "permission", key, deadline, data: { ...data, permission_id, metadata }, scopes: noScopes, relay };
  }
  state.questions += 1;
  const { data } = event;
  const question_id = questionId(state.session, state.questions);
  return {
    type: "question",
    key,
    deadline,
    data: { ...data, question_id, metadata: { ...data.metadata, ...place } },
    relay,
  };
}

type Resolved = Extract<RelayedEvent, { type: "permission.resolved" | "question.resolved" }>;

function resolveHere(
  state: MachineState,
  out: MachineOutput[],
  { request, event }: { request: OpenRequest; event: Resolved },
): void {
  if (request.type === "permission" && event.type === "permission.resolved") {
    resolvePermission(state, out, { request, reply: replyOf(event), options: ours(RULE) });
  } else if (request.type === "question" && event.type === "question.resolved") {
    const answers = event.data.status === "answered" ? (event.data.response ?? []) : null;
    resolveQuestion(state, out, { request, answers, options: ours(RULE) });
  }
}

function replyOf({ data }: Extract<Resolved, { type: "permission.resolved" }>): PermissionReply {
  if (data.status === "accept_for_session") return "always";
  return data.status === "accept" ? "once" : "reject";
}
