/** What an ACP agent asks of us → permissions, questions, files and terminals. What nobody knows is refused. */
import { optionFor, type PermissionOption, replyOf } from "../../core/acp.ts";
import type { AgentReply, Send } from "../../core/agent-io.ts";
import { answersIn, contentFrom, questionsIn } from "../../core/elicitation.ts";
import type { PermissionReport, QuestionReport, Report } from "../../core/report.ts";
import { answer, INVALID_PARAMS, METHOD_NOT_FOUND, type RpcId, refuse, withdraw } from "../../core/rpc.ts";
import type { AcpTool } from "../../dialects/acp.ts";
import { isAcpTool } from "../../dialects/acp-guard.ts";
import { isShape, isString, shapeOf } from "../../dialects/shape.ts";
import type { Question } from "../../protocol/events.ts";
import { onTool } from "./calls.ts";
import { onExtension } from "./extensions.ts";
import { commandGrant, grantOnce, pathGrant } from "./grants.ts";
import { isHostMethod, onHostAnswered, onHostRequest } from "./host.ts";
import { pathsOf, requestedBy, shownCommand } from "./requested.ts";
import { type Asked, type Call, type Incoming, isLive, nextKey, type State, threadOf } from "./state.ts";

export function onRequest(state: State, incoming: Incoming): (Report | Send)[] {
  const { method, params } = incoming;
  if (method === "session/request_permission") return onPermission(state, incoming);
  if (method === "elicitation/create") return onElicitation(state, incoming);
  if (isHostMethod(method)) return onHostRequest(state, incoming);
  const known = onExtension(state, { method, params });
  const questions = questionsOf(shapeOf(params).questions);
  if (questions.length > 0 && isString(shapeOf(params).toolCallId))
    return onOwnQuestion(state, { incoming, questions });
  return [
    ...(known ?? []),
    ...refused(state, { ...incoming, code: METHOD_NOT_FOUND, message: `There is no ${method}.` }),
  ];
}

function refused(state: State, { id, code, message }: { id: RpcId; code: number; message: string }): Send[] {
  const line = isLive(state) ? refuse(state.rpc, { id, code, message }) : null;
  return line === null ? [] : [{ type: "send.line", line }];
}

function onPermission(state: State, incoming: Incoming): (Report | Send)[] {
  const params = shapeOf(incoming.params);
  const tool = toolIn(params);
  const options = optionsIn(params);
  if (tool === null || options.length === 0) {
    return refused(state, { ...incoming, code: INVALID_PARAMS, message: "A tool call and options are needed." });
  }
  const session = isString(params.sessionId) ? params.sessionId : (state.session ?? "");
  const shown = onTool(state, threadOf(state, session), { tool, from: "request" });
  const call = state.calls.get(tool.toolCallId);
  if (call === undefined) return shown;
  if (isLive(state) && isAllowed(state) && !isQuestion(call, options)) {
    return [...shown, ...choose(state, { incoming, call, option: optionFor(options, "once") })];
  }
  const report = isQuestion(call, options)
    ? choiceReport(state, { call, tool, options })
    : permissionReport(state, { call, options });
  keep(state, report.key, { ...incoming, type: report.type, callId: call.id });
  return [...shown, report];
}

const keep = (state: State, key: string, asked: Asked): void => void state.asked.set(key, asked);

/** With everything allowed, an agent that has no such mode itself is answered at once. */
const isAllowed = ({ options, quirks }: State): boolean =>
  options?.permission_mode === "bypass" && quirks.modes?.bypass === undefined;

/** Version 2 puts the tool call into `subject`. */
function toolIn({ toolCall, subject }: Readonly<Record<string, unknown>>): AcpTool | null {
  const tool = toolCall ?? shapeOf(subject).toolCall;
  return isAcpTool(tool) ? tool : null;
}

const optionsIn = ({ options }: Readonly<Record<string, unknown>>): PermissionOption[] =>
  (Array.isArray(options) ? options : []).filter(isOption);

const isOption = (value: unknown): value is PermissionOption =>
  isShape(value) && isString(value.optionId) && isString(value.name) && isString(value.kind);

/** Two ways to say yes are a choice; so is the way out of a plan. Neither is allowed by its kind. */
const isQuestion = (call: Call, options: readonly PermissionOption[]): boolean =>
  call.kind === "switch_mode" ||
  options.filter(({ kind }) => kind === "allow_once").length > 1 ||
  questionsOf(shapeOf(call.input).questions).length > 0;

function permissionReport(
  state: State,
  { call, options }: { call: Call; options: readonly PermissionOption[] },
): PermissionReport {
  const action = call.kind === "other" ? call.name : call.kind;
  return {
    type: "permission",
    key: nextKey(state, "permission"),
    action,
    tool: call.name,
    call_id: call.id,
    input: inputShown(call),
    requested: requestedBy(call),
    metadata: { title: call.title, options: options.map(({ name, kind }) => ({ name, kind })) },
  };
}

/** The whole command or diff: what is approved is what is shown. */
function inputShown(call: Call): unknown {
  const changes = call.content.flatMap(({ type, path, oldText, newText }) =>
    type === "diff" ? [{ path, oldText: oldText ?? null, newText: newText ?? null }] : [],
  );
  const input = isShape(call.input) ? call.input : call.kind === "execute" ? { command: call.title } : {};
  return changes.length === 0 ? input : { ...input, changes };
}

function grantNames(call: Call): string[] {
  const command = shownCommand(call);
  return command === null ? pathsOf(call).map(pathGrant) : [commandGrant(command)];
}

/** The calls that follow an approval are not asked about again. */
function noteGrant(state: State, call: Call): void {
  for (const name of grantNames(call)) {
    const shown = call.content.flatMap(({ type, path, newText }) =>
      type === "diff" && path !== undefined && pathGrant(path) === name && isString(newText) ? [newText] : [],
    );
    grantOnce(state.grants, name, shown);
  }
}

function choiceReport(
  state: State,
  { call, tool, options }: { call: Call; tool: AcpTool; options: readonly PermissionOption[] },
): QuestionReport {
  const asked = questionsOf(shapeOf(call.input).questions);
  const key = nextKey(state, "question");
  const choices = options.filter(({ kind }) => kind.startsWith("allow"));
  const question: Question = {
    id: call.id,
    header: call.name,
    question: tool.title ?? call.title,
    options: choices.map(({ name }) => ({ label: name })),
    multiple: false,
    custom: false,
  };
  const plan = shapeOf(call.input).plan;
  const metadata = isString(plan) ? { plan } : {};
  // Where the choices are only "submit" and "cancel", what is asked is in the arguments.
  const own = choices.length === 1 && asked.length > 0 ? asked : [question];
  return { type: "question", key, call_id: call.id, questions: own, metadata };
}

/** Questions as the tools of several agents write them. */
export function questionsOf(value: unknown): Question[] {
  if (!Array.isArray(value)) return [];
  return value.map(shapeOf).flatMap((one, index) => {
    const { question, header, options, multiSelect } = one;
    if (!isString(question)) return [];
    const labels = (Array.isArray(options) ? options : []).map(shapeOf).flatMap(({ label, description }) => {
      if (!isString(label)) return [];
      return [isString(description) ? { label, description } : { label }];
    });
    const named = isString(header) ? { header } : {};
    return [{ id: `q${index}`, ...named, question, options: labels, multiple: multiSelect === true, custom: true }];
  });
}

function onElicitation(state: State, incoming: Incoming): (Report | Send)[] {
  const params = shapeOf(incoming.params);
  const message = isString(params.message) ? params.message : "The agent asks something.";
  const link = isString(params.url) ? [{ id: "url", question: `${message} ${params.url}`, ...yes }] : [];
  const questions = params.mode === "url" ? link : questionsIn(params, message);
  if (questions.length === 0) {
    return refused(state, { ...incoming, code: INVALID_PARAMS, message: "The form has no fields." });
  }
  const key = nextKey(state, "question");
  const callId = isString(params.toolCallId) ? params.toolCallId : null;
  keep(state, key, { ...incoming, type: "question", callId });
  return [{ type: "question", key, call_id: callId, questions, metadata: { message } }];
}

const yes = { options: [{ label: "Done" }], multiple: false, custom: false } as const;

function onOwnQuestion(
  state: State,
  { incoming, questions }: { incoming: Incoming; questions: readonly Question[] },
): (Report | Send)[] {
  const { toolCallId } = shapeOf(incoming.params);
  const callId = isString(toolCallId) ? toolCallId : null;
  const key = nextKey(state, "question");
  keep(state, key, { ...incoming, type: "question", callId });
  return [{ type: "question", key, call_id: callId, questions, metadata: {} }];
}

function choose(
  state: State,
  { incoming, call, option }: { incoming: Pick<Incoming, "id">; call: Call; option: PermissionOption | null },
): Send[] {
  if (option !== null) noteGrant(state, call);
  return reply(state, incoming.id, option);
}

/** A choice that was not offered is a cancellation: most agents end the turn then. */
function reply(state: State, id: RpcId, option: PermissionOption | null): Send[] {
  const outcome = option === null ? { outcome: "cancelled" } : { outcome: "selected", optionId: option.optionId };
  const line = answer(state.rpc, { id, result: { outcome } });
  return line === null ? [] : [{ type: "send.line", line }];
}

export type Given =
  | { readonly type: "permission"; readonly reply: AgentReply }
  | { readonly type: "question"; readonly answers: readonly (readonly string[])[] | null }
  /** The turn is being stopped. */
  | { readonly type: "cancel" };

/** A person has answered. */
export function onAnswer(state: State, { key, given }: { key: string; given: Given }): (Report | Send)[] {
  const asked = state.asked.get(key);
  if (asked === undefined) return [];
  state.asked.delete(key);
  const call = asked.callId === null ? undefined : state.calls.get(asked.callId);
  if (isRefusal(given)) refuseCall(state, call);
  if (asked.type === "host") return onHostAnswered(state, asked, given.type === "permission" ? given.reply : "reject");
  if (asked.method !== "session/request_permission") return answerForm(state, asked, given);
  const options = optionsIn(shapeOf(asked.params));
  if (given.type === "cancel") return reply(state, asked.id, null);
  const option = given.type === "permission" ? optionFor(options, given.reply) : optionNamed(options, given.answers);
  if (given.type === "permission" && given.reply === "once" && call !== undefined) noteGrant(state, call);
  return reply(state, asked.id, option);
}

const isRefusal = (given: Given): boolean =>
  (given.type === "permission" && given.reply === "reject") || (given.type === "question" && given.answers === null);

function refuseCall(state: State, call: Call | undefined): void {
  state.rejected = true;
  if (call !== undefined) call.rejected = true;
}

function optionNamed(
  options: readonly PermissionOption[],
  answers: readonly (readonly string[])[] | null,
): PermissionOption | null {
  if (answers === null) return optionFor(options, "reject");
  const label = answers[0]?.[0];
  return options.find(({ name }) => name === label) ?? optionFor(options, "once");
}

function answerForm(state: State, asked: Asked, given: Given): Send[] {
  const line = answer(state.rpc, { id: asked.id, result: formResult(asked, given) });
  return line === null ? [] : [{ type: "send.line", line }];
}

function formResult({ method, params }: Asked, given: Given): unknown {
  if (given.type !== "question") return { action: "cancel" };
  const isForm = method === "elicitation/create";
  if (given.answers === null) return isForm ? { action: "decline" } : { outcome: "cancelled", answers: [] };
  if (!isForm) return { outcome: "answered", answers: given.answers };
  if (shapeOf(params).mode === "url") return { action: "accept" };
  return { action: "accept", content: contentFrom(params, given.answers) };
}

/** The agent withdraws a request, or the turn is over: the request is resolved. */
export function onWithdrawn(state: State, requestId: unknown): Report[] {
  for (const [key, asked] of state.asked) {
    if (asked.id !== requestId) continue;
    state.asked.delete(key);
    withdraw(state.rpc, asked.id);
    return [resolved(key, asked.type === "question" ? "question" : "permission")];
  }
  return [];
}

const resolved = (key: string, type: "permission" | "question"): Report =>
  type === "permission"
    ? { type: "permission.answered", key, reply: "reject" }
    : { type: "question.answered", key, answers: null };

/** Recordings: how the host answered a request of the agent. */
export function onHostReply(state: State, { id, result }: { id: RpcId; result: unknown }): Report[] {
  for (const [key, asked] of state.asked) {
    if (asked.id !== id) continue;
    state.asked.delete(key);
    const call = asked.callId === null ? undefined : state.calls.get(asked.callId);
    return replySeen(state, { key, asked, call, result: shapeOf(result) });
  }
  return [];
}

interface Seen {
  readonly key: string;
  readonly asked: Asked;
  readonly call: Call | undefined;
  readonly result: Readonly<Record<string, unknown>>;
}

function replySeen(state: State, { key, asked, call, result }: Seen): Report[] {
  if (asked.method !== "session/request_permission") {
    const accepted = result.action === "accept" || result.outcome === "answered";
    if (!accepted) refuseCall(state, call);
    const answers = accepted ? answersIn(asked.params, result.content) : null;
    return [{ type: "question.answered", key, answers }];
  }
  const chosen = shapeOf(result.outcome);
  const option = optionsIn(shapeOf(asked.params)).find(({ optionId }) => optionId === chosen.optionId);
  const said = replyOf(option);
  if (said === "reject") refuseCall(state, call);
  if (asked.type === "permission") return [{ type: "permission.answered", key, reply: said }];
  return [{ type: "question.answered", key, answers: said === "reject" ? null : [[option?.name ?? ""]] }];
}
