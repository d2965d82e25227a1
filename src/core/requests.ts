/** Permissions and questions: each has an answer path and a deadline, and the first resolution wins. */
import type { PermissionReply } from "../protocol/commands.ts";
import type { Permission, PermissionStatus, QuestionRequest } from "../protocol/events.ts";
import { permissionId, questionId } from "../protocol/ids.ts";
import type { AgentCommand } from "./agent-io.ts";
import { DEADLINE_MS, type RelayAnswer } from "./input.ts";
import {
  type EmitOptions,
  emit,
  implied,
  type MachineOutput,
  type MachineState,
  type OpenRequest,
  ours,
  type Relay,
} from "./machine-state.ts";
import { deniesQuestions, replyByRules } from "./permission-rules.ts";
import { isInside, runsCode } from "../permissions/protected-files.ts";
import type { PermissionReport, QuestionReport } from "./report.ts";
import { timeText } from "./time-text.ts";

const statusOf = { once: "accept", always: "accept_for_session", reject: "reject" } as const satisfies Record<
  PermissionReply,
  PermissionStatus
>;

/** The command for the agent about a request the machine resolved by itself. */
export type Answer = Extract<AgentCommand, { key: string }>;

export function askPermission(state: MachineState, out: MachineOutput[], report: PermissionReport): Answer | null {
  if (isKnownRequest(state, report.key)) return null;
  const ruled = replyByRules(state.policy.permissionRules, report);
  if (ruled !== "deny" && isAcceptedEdit(state, report)) {
    // Nobody is asked, so there is no request to show.
    state.resolved.add(report.key);
    return { type: "permission.reply", key: report.key, reply: "once" };
  }
  state.permissions += 1;
  const deadline = deadlineFrom(state);
  const data: Permission = {
    permission_id: permissionId(state.session, state.permissions),
    action: report.action,
    status: "requested",
    metadata: Object.assign({}, report.metadata, {
      tool: report.tool,
      call_id: report.call_id,
      input: report.input,
      patterns: report.patterns,
      deadline: timeText(deadline),
    }),
  };
  const request: OpenRequest = {
    type: "permission",
    key: report.key,
    deadline,
    data,
    isEdit: report.edits !== undefined,
  };
  state.requests.set(report.key, request);
  emit(state, out, { type: "permission.requested", data });

  if (ruled !== null) {
    const reply = ruled === "allow" ? "once" : "reject";
    resolvePermission(state, out, { request, reply, options: ours(`permission_rules.${ruled}`) });
    const why = reply === "reject" ? { message: "A permission rule of the session denies it." } : {};
    return { type: "permission.reply", key: report.key, reply, ...why };
  }
  const reply = unattendedReply(state, report);
  if (reply === null) return null;
  resolvePermission(state, out, {
    request,
    reply,
    options: ours(`unattended.${reply === "reject" ? "deny" : "allow"}`),
  });
  // With a word of why, so that the agent can go on by other means.
  const why = reply === "reject" ? { message: "Nobody is there to ask, and the session's policy denies it." } : {};
  return { type: "permission.reply", key: report.key, reply, ...why };
}

/**
 * An ordinary edit inside the directory of a session that accepts edits. Not in a folder that is not trusted: paths are
 * compared as text, and a link of the folder could lead anywhere.
 */
function isAcceptedEdit(state: MachineState, { edits = [] }: PermissionReport): boolean {
  const accepts = state.editsAccepted || state.known.get("permission_mode") === "acceptEdits";
  if (!accepts || edits.length === 0 || state.known.get("trusted") === false) return false;
  const { directory } = state.policy.permissionRules;
  return edits.every((path) => isInside(path, directory) && !runsCode(path, { directory, home: null }));
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
    metadata: Object.assign({}, report.metadata, { call_id: report.call_id, deadline: timeText(deadline) }),
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

type PermissionRequest = Extract<OpenRequest, { type: "permission" }>;
type QuestionOpen = Extract<OpenRequest, { type: "question" }>;

export function resolvePermission(
  state: MachineState,
  out: MachineOutput[],
  { request, reply, options }: { request: PermissionRequest; reply: PermissionReply; options: EmitOptions },
): void {
  forget(state, request);
  emit(state, out, { type: "permission.resolved", data: { ...request.data, status: statusOf[reply] } }, options);
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

/** Rejects one request without a command to the agent, which has dropped it or is gone. */
export function dropRequest(
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
  state.requests.has(key) || state.resolved.has(key);

function forget(state: MachineState, request: OpenRequest): void {
  state.requests.delete(request.key);
  state.resolved.add(request.key);
}

const deadlineFrom = (state: MachineState): number => state.at + (state.policy.unattended.deadlineMs ?? DEADLINE_MS);

function unattendedReply(state: MachineState, report: PermissionReport): PermissionReply | null {
  const { policy, allow } = state.policy.unattended;
  if (policy === "park") return null;
  if (policy === "deny") return "reject";
  const listed = allow === undefined || allow.includes(report.action) || allow.includes(report.tool ?? report.action);
  return listed ? "once" : "reject";
}
