/** Permissions and questions over the control protocol: what the CLI asks, and how our answers are written. */
import type { AgentReply, Send } from "../../core/agent-io.ts";
import { defined } from "../../core/defined.ts";
import type { Report } from "../../core/report.ts";
import type { ClaudeControlRequest, ClaudeControlResponse, JsonObject } from "../../dialects/claude.ts";
import { isShape, isString, shapeOf, stringOf } from "../../dialects/shape.ts";
import type { Question } from "../../protocol/events.ts";
import type { Asked, AskedQuestion, State } from "./state.ts";
import { permissionAction, requestedBy } from "./tools.ts";

export const APPROVE = "Approve the plan";
export const KEEP_PLANNING = "Keep planning";

export function onControlRequest(state: State, line: ClaudeControlRequest): (Report | Send)[] {
  const { request, request_id } = line;
  if (request.subtype !== "can_use_tool" || !isString(request.tool_name)) {
    // Hooks, MCP relays and the like that we never registered: an answer, so that the CLI does not wait for ever.
    const error = `Franca does not handle ${request.subtype} requests`;
    return [
      { type: "send.line", line: { type: "control_response", response: { subtype: "error", request_id, error } } },
    ];
  }
  if (state.asked.has(request_id)) return [];
  const call = isString(request.tool_use_id) ? request.tool_use_id : null;
  if (call !== null) state.askedCalls.add(call);
  const input = shapeOf(request.input);
  switch (request.tool_name) {
    case "AskUserQuestion":
      return ask(state, { key: request_id, call, input });
    case "ExitPlanMode":
      return askPlan(state, { key: request_id, call, input });
    default:
      return askPermission(state, { key: request_id, call, input, tool: request.tool_name, request });
  }
}

/** The CLI has dropped its request. */
export function onControlCancel(state: State, key: string): Report[] {
  const asked = state.asked.get(key);
  if (asked === undefined) return [];
  state.asked.delete(key);
  return [answered(key, asked, null)];
}

/** Recordings only: what the host answered. */
export function onHostAnswer(state: State, { response }: ClaudeControlResponse): Report[] {
  const key = response.request_id;
  const asked = state.asked.get(key);
  if (asked === undefined) return [];
  state.asked.delete(key);
  const answer = shapeOf(response.response);
  if (answer.behavior !== "allow") {
    if (answer.interrupt === true) state.rejected = true;
    return [answered(key, asked, null)];
  }
  return [answered(key, asked, answer)];
}

export function replyPermission(
  state: State,
  { key, reply, message }: { key: string; reply: AgentReply; message?: string | undefined },
): Send[] {
  const asked = state.asked.get(key);
  if (asked === undefined) return [];
  state.asked.delete(key);
  if (reply === "reject") return [deny(state, { key, message })];
  return [respond(key, { behavior: "allow", updatedInput: asked.input })];
}

export function replyQuestion(
  state: State,
  { key, answers }: { key: string; answers: readonly (readonly string[])[] },
): Send[] {
  const asked = state.asked.get(key);
  if (asked === undefined) return [];
  state.asked.delete(key);
  if (asked.type === "question") {
    const given = asked.questions.map(({ question }, index) => [question, (answers[index] ?? []).join(", ")]);
    return [respond(key, { behavior: "allow", updatedInput: { ...asked.input, answers: Object.fromEntries(given) } })];
  }
  const [said = KEEP_PLANNING] = answers[0] ?? [];
  if (said === APPROVE) return [respond(key, { behavior: "allow", updatedInput: asked.input })];
  return [deny(state, { key, message: said === KEEP_PLANNING ? "The user wants to keep planning." : said })];
}

export function rejectQuestion(state: State, { key, message }: { key: string; message?: string | undefined }): Send[] {
  if (!state.asked.delete(key)) return [];
  return [deny(state, { key, message })];
}

/** A rejection with a message is for the model, which goes on; one without stops the turn. */
function deny(state: State, { key, message }: { key: string; message: string | undefined }): Send {
  if (message !== undefined && message !== "") return respond(key, { behavior: "deny", message });
  state.rejected = true;
  return respond(key, { behavior: "deny", message: "The user rejected this.", interrupt: true });
}

const respond = (key: string, response: JsonObject): Send => ({
  type: "send.line",
  line: { type: "control_response", response: { subtype: "success", request_id: key, response } },
});

interface Asking {
  readonly key: string;
  readonly call: string | null;
  readonly input: JsonObject;
}

function askPermission(
  state: State,
  { key, call, input, tool, request }: Asking & { tool: string; request: JsonObject },
): Report[] {
  state.asked.set(key, { type: "permission", call, input });
  const { description, blocked_path, decision_reason, agent_id } = request;
  return [
    {
      type: "permission",
      key,
      action: permissionAction(tool),
      tool,
      call_id: call,
      input,
      requested: requestedBy(tool, input),
      metadata: defined({
        description: stringOf(description),
        blocked_path: stringOf(blocked_path),
        reason: stringOf(decision_reason),
        subagent_id: stringOf(agent_id),
      }),
    },
  ];
}

/** A question that nobody was asked through us: only the tool's call and its result show it. */
export function questionSeen({
  call,
  input,
  returned,
  output,
  failed,
}: {
  readonly call: string;
  readonly input: unknown;
  readonly returned: unknown;
  readonly output: string;
  readonly failed: boolean;
}): Report[] {
  const questions = questionsIn(shapeOf(input));
  const given = shapeOf(shapeOf(returned).answers);
  const answers = questions.map(({ question, options }) =>
    splitLabels(
      given[question] ?? answerIn(output, question),
      options.map(({ label }) => label),
    ),
  );
  const key = `${call}/question`;
  return [
    { type: "question", key, questions, call_id: call },
    { type: "question.answered", key, answers: failed ? null : answers },
  ];
}

/** The result says it in a sentence: `"question"="answer"`. A result that is no such sentence is the answer. */
function answerIn(output: string, question: string): string {
  const from = output.indexOf(`"${question}"="`);
  if (from === -1) return output;
  const rest = output.slice(from + question.length + 4);
  const end = rest.indexOf('"');
  return end === -1 ? rest : rest.slice(0, end);
}

const questionsIn = (input: JsonObject): Question[] =>
  (Array.isArray(input.questions) ? input.questions.filter(isShape) : []).map(
    (one, index): Question => ({
      id: String(index + 1),
      ...defined({ header: stringOf(one.header) }),
      question: stringOf(one.question) ?? "",
      options: optionsOf(one.options),
      multiple: one.multiSelect === true,
      custom: true,
    }),
  );

function ask(state: State, { key, call, input }: Asking): Report[] {
  const questions = questionsIn(input);
  const known = questions.map(
    ({ question, options }): AskedQuestion => ({ question, labels: options.map(({ label }) => label) }),
  );
  state.asked.set(key, { type: "question", call, input, questions: known });
  return [{ type: "question", key, questions, call_id: call }];
}

/** Leaving plan mode needs a person's word: the plan itself is a message. */
function askPlan(state: State, { key, call, input }: Asking): Report[] {
  state.asked.set(key, { type: "plan", call, input });
  const question: Question = {
    id: "1",
    header: "Plan",
    question: "Is the plan right, and may the work begin?",
    options: [
      { label: APPROVE, description: "Leave plan mode and begin" },
      { label: KEEP_PLANNING, description: "Stay in plan mode; an answer in your own words is given to the agent" },
    ],
    multiple: false,
    custom: true,
  };
  return [{ type: "question", key, questions: [question], call_id: call, metadata: { plan: true } }];
}

function optionsOf(value: unknown): Question["options"] {
  if (!Array.isArray(value)) return [];
  return value
    .filter(isShape)
    .map(({ label, description }) => defined({ label: stringOf(label) ?? "", description: stringOf(description) }));
}

function answered(key: string, asked: Asked, answer: JsonObject | null): Report {
  if (asked.type === "permission") {
    const reply = answer === null ? "reject" : Array.isArray(answer.updatedPermissions) ? "always" : "once";
    return { type: "permission.answered", key, reply };
  }
  if (answer === null) return { type: "question.answered", key, answers: null };
  if (asked.type === "plan") return { type: "question.answered", key, answers: [[APPROVE]] };
  const input = shapeOf(answer.updatedInput);
  const given = shapeOf(input.answers);
  const answers = asked.questions.map(({ question, labels }) => splitLabels(given[question], labels));
  return { type: "question.answered", key, answers };
}

/** Several labels were joined with a comma; a label may hold one itself. */
function splitLabels(value: unknown, labels: readonly string[]): string[] {
  if (!isString(value) || value === "") return [];
  if (labels.includes(value)) return [value];
  const parts = value.split(", ");
  return parts.every((part) => labels.includes(part)) ? parts : [value];
}
