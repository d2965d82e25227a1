/** Permissions and questions: each has an answer path and a deadline, and the first resolution wins. */
import type { Scope } from "../permissions/scopes.ts";
import type { PermissionReply } from "../protocol/commands.ts";
import type { Permission, PermissionStatus, QuestionRequest } from "../protocol/events.ts";
import { permissionId, questionId } from "../protocol/ids.ts";
import type { AgentCommand } from "./agent-io.ts";
import { defined } from "./defined.ts";
import { DEADLINE_MS, INSPECT_MS, type InspectedRequest, type RelayAnswer } from "./input.ts";
import {
  asReported,
  type EmitOptions,
  emit,
  type HeldRequest,
  implied,
  type MachineOutput,
  type MachineState,
  type OpenRequest,
  ours,
  type Relay,
} from "./machine-state.ts";
import { type Decision, decide, type Inspected, isDenied, patternsOf, scopesOf } from "./permission-decision.ts";
import { deniesQuestions } from "./permission-rules.ts";
import { remember } from "./remembered.ts";
import type { PermissionReport, QuestionReport } from "./report.ts";
import { timeText } from "./time-text.ts";

const statusOf = { once: "accept", always: "accept_for_session", reject: "reject" } as const satisfies Record<
  PermissionReply,
  PermissionStatus
>;

/** The command for the agent about a request the machine resolved by itself. */
export type Answer = Extract<AgentCommand, { key: string }>;

/**
 * Holds a permission request until the edge has inspected its action. A recording has no edge: without rules its
 * requests are shown at once, and with rules they wait for the recorded inspection.
 */
export function onPermission(state: MachineState, out: MachineOutput[], report: PermissionReport): Answer | null {
  if (isKnownRequest(state, report.key)) return null;
  const afterEnd = state.turn !== null && state.turn.end !== null;
  const held: HeldRequest = { report, deadline: state.at + INSPECT_MS, line: state.line, afterEnd };
  if (state.recorded && state.policy.permissionRules.rules.length === 0) {
    return settlePermission(state, out, { held, inspected: { report, inspection: null } });
  }
  state.held.set(report.key, held);
  out.push({ type: "inspect", report });
  return null;
}

/** Decides a held request by its inspection. Returns the answer for the agent, or null while users are asked. */
export function decideHeld(state: MachineState, out: MachineOutput[], found: InspectedRequest): Answer | null {
  const { key, inspection, plugin } = found;
  const held = state.held.get(key);
  if (held === undefined) return denyLate(state, out, found);
  state.held.delete(key);
  return settlePermission(state, out, { held, inspected: { report: held.report, inspection, plugin } });
}

interface Settling {
  readonly held: HeldRequest;
  readonly inspected: Inspected;
}

function settlePermission(state: MachineState, out: MachineOutput[], { held, inspected }: Settling): Answer | null {
  const { key } = held.report;
  const decision = decide(state, inspected);
  if (decision.reply === "silent") {
    state.resolved.add(key);
    return { type: "permission.reply", key, reply: "once" };
  }
  const request = showPermission(state, out, { held, inspected });
  return decision.reply === "ask" ? null : apply(state, out, { request, decision });
}

interface Applying {
  readonly request: PermissionRequest;
  readonly decision: Extract<Decision, { reply: "once" | "reject" }>;
}

function apply(state: MachineState, out: MachineOutput[], { request, decision }: Applying): Answer {
  const { reply, rule } = decision;
  resolvePermission(state, out, { request, reply, options: ours(rule) });
  const why = decision.reply === "reject" ? { message: decision.message } : {};
  return { type: "permission.reply", key: request.key, reply, ...why };
}

/** An inspection that finishes after its request was shown can still deny it. */
function denyLate(state: MachineState, out: MachineOutput[], found: InspectedRequest): Answer | null {
  const { key, inspection, plugin } = found;
  const request = state.requests.get(key);
  if (request?.type !== "permission" || request.report === undefined) return null;
  const inspected = { report: request.report, inspection, plugin };
  const decision = isDenied(state, inspected) ? decide(state, inspected) : null;
  return decision?.reply === "reject" ? apply(state, out, { request, decision }) : null;
}

/** Removes a held request whose tool continued, or which the agent withdrew. Clients never saw it. */
export function withdrawHeld(state: MachineState, key: string): boolean {
  const isHeld = state.held.delete(key);
  if (isHeld) state.resolved.add(key);
  return isHeld;
}

function showPermission(state: MachineState, out: MachineOutput[], { held, inspected }: Settling): PermissionRequest {
  state.permissions += 1;
  const deadline = deadlineFrom(state);
  const { report, line } = held;
  const { key, action, tool, call_id, input, requested } = report;
  const scopes = scopesOf(state, inspected);
  const isKept = scopes.exact !== null || state.recorded;
  const data: Permission = {
    permission_id: permissionId(state.session, state.permissions),
    action,
    status: "requested",
    metadata: {
      ...report.metadata,
      tool,
      call_id,
      input,
      patterns: patternsOf(inspected),
      scopes: scopes.broader.map(({ pattern }) => pattern),
      ...(isKept ? {} : { every_time: true }),
      ...(requested.kind === "command" ? defined({ directory: requested.directory }) : {}),
      deadline: timeText(deadline + state.aheadMs),
    },
  };
  const request: PermissionRequest = { type: "permission", key, deadline, data, scopes, report };
  state.requests.set(key, request);
  emit(state, out, { type: "permission.requested", data }, { ...asReported, line });
  return request;
}

export function askQuestion(state: MachineState, out: MachineOutput[], report: QuestionReport): Answer | null {
  if (isKnownRequest(state, report.key)) return null;
  state.questions += 1;
  const deadline = deadlineFrom(state);
  const [first] = report.questions;
  const data: QuestionRequest = {
    question_id: questionId(state.session, state.questions),
    prompt: first?.question ?? "",
    options: first?.options.map((option) => option.label) ?? [],
    status: "requested",
    questions: report.questions,
    metadata: Object.assign({}, report.metadata, {
      call_id: report.call_id,
      deadline: timeText(deadline + state.aheadMs),
    }),
  };
  const request: OpenRequest = { type: "question", key: report.key, deadline, data };
  state.requests.set(report.key, request);
  emit(state, out, { type: "question.requested", data });

  // Nobody can answer a question by policy: without a person there is only a rejection.
  const denied = deniesQuestions(state.policy.permissionRules);
  if (state.policy.unattended.policy === "park" && !denied) return null;
  const rule = denied ? "permission_rules.deny" : "unattended.deny";
  resolveQuestion(state, out, { request, answers: null, options: ours(rule) });
  const why = denied ? { message: "Nobody is there to answer questions." } : {};
  return { type: "question.reject", key: report.key, ...why };
}

export type PermissionRequest = Extract<OpenRequest, { type: "permission" }>;
type QuestionOpen = Extract<OpenRequest, { type: "question" }>;

interface Resolution {
  readonly request: PermissionRequest;
  readonly reply: PermissionReply;
  readonly options: EmitOptions;
}

export function resolvePermission(
  state: MachineState,
  out: MachineOutput[],
  { request, reply, options }: Resolution,
): void {
  forget(state, request);
  emit(state, out, { type: "permission.resolved", data: { ...request.data, status: statusOf[reply] } }, options);
}

/** A user allows the action for the rest of the session: exactly this one, or the broader scope that they chose. */
export function allowForSession(
  state: MachineState,
  out: MachineOutput[],
  { request, scope }: { readonly request: PermissionRequest; readonly scope: string | undefined },
): void {
  const chosen = findScope(request, scope);
  forget(state, request);
  const { data } = request;
  if (chosen === null) {
    emit(state, out, { type: "permission.resolved", data: { ...data, status: "accept" } }, ours());
    return;
  }
  const { remembers } = chosen;
  state.remembered = remember(state.remembered, remembers);
  const metadata = { ...data.metadata, ...defined({ scope }), remembered: remembers };
  emit(state, out, { type: "permission.resolved", data: { ...data, status: "accept_for_session", metadata } }, ours());
}

function findScope({ scopes }: PermissionRequest, scope: string | undefined): Scope | null {
  if (scope === undefined) return scopes.exact;
  return scopes.broader.find(({ pattern }) => pattern === scope) ?? scopes.exact;
}

export function resolveQuestion(
  state: MachineState,
  out: MachineOutput[],
  {
    request,
    answers,
    options,
  }: { request: QuestionOpen; answers: readonly (readonly string[])[] | null; options: EmitOptions },
): void {
  forget(state, request);
  const data: QuestionRequest =
    answers === null
      ? { ...request.data, status: "rejected" }
      : { ...request.data, status: "answered", response: answers };
  emit(state, out, { type: "question.resolved", data }, options);
}

/** Drops all requests, also those that clients have not seen yet. */
export function dropRequests(state: MachineState, out: MachineOutput[], rule: string): void {
  for (const key of [...state.held.keys()]) withdrawHeld(state, key);
  for (const request of [...state.requests.values()]) dropRequest(state, out, { request, rule });
}

/** Rejects one request without a command to the agent, which has dropped it or is gone. */
function dropRequest(
  state: MachineState,
  out: MachineOutput[],
  { request, rule }: { request: OpenRequest; rule: string },
): void {
  if (request.type === "permission") resolvePermission(state, out, { request, reply: "reject", options: ours(rule) });
  else resolveQuestion(state, out, { request, answers: null, options: ours(rule) });
  if (request.relay !== undefined) out.push(relayAnswer(request.relay, rejectionOf(request)));
}

const rejectionOf = ({ type }: OpenRequest): RelayAnswer["answer"] =>
  type === "permission" ? { kind: "permission", reply: "reject" } : { kind: "question", answers: null };

/** The answer to a request of another session, on its way there. */
export const relayAnswer = ({ session_id, request_id }: Relay, answer: RelayAnswer["answer"]): RelayAnswer => ({
  type: "relay.answer",
  session_id,
  request_id,
  answer,
});

/** The deadline passed: the request is rejected, and the agent gets the rejection. */
export function expireRequest(state: MachineState, out: MachineOutput[], request: OpenRequest): Answer {
  dropRequest(state, out, { request, rule: "request.deadline" });
  const message = "Nobody answered in time.";
  return request.type === "permission"
    ? { type: "permission.reply", key: request.key, reply: "reject", message }
    : { type: "question.reject", key: request.key, message };
}

/** The tool went on, so somebody has answered: the only sign of it in a recording without its host's lines. */
export function resolveByTool(
  state: MachineState,
  out: MachineOutput[],
  { callId, denied }: { callId: string; denied: boolean },
): void {
  for (const { report } of [...state.held.values()]) if (report.call_id === callId) withdrawHeld(state, report.key);
  for (const request of [...state.requests.values()]) {
    if (request.data.metadata.call_id !== callId) continue;
    if (request.type === "permission") {
      const reply = denied ? "reject" : "once";
      resolvePermission(state, out, { request, reply, options: implied("request.tool_went_on") });
    } else {
      resolveQuestion(state, out, { request, answers: denied ? null : [], options: implied("request.tool_went_on") });
    }
  }
}

const isKnownRequest = (state: MachineState, key: string): boolean =>
  state.requests.has(key) || state.held.has(key) || state.resolved.has(key);

function forget(state: MachineState, request: OpenRequest): void {
  state.requests.delete(request.key);
  state.resolved.add(request.key);
}

const deadlineFrom = (state: MachineState): number => state.at + (state.policy.unattended.deadlineMs ?? DEADLINE_MS);
