/** What a person is asked, as requests to an ACP client. */
import { allowedFromNowOn, canRemember, scopesOf, subjectOf } from "../../core/approval-words.ts";
import type { Permission, Question, QuestionRequest } from "../../protocol/events.ts";
import type { Request } from "./lines.ts";
import type { State } from "./state.ts";

export const ONCE = "once";
export const ALWAYS = "always";
export const REJECT = "reject";

export function permissionRequest(state: State, { session, data }: { session: string; data: Permission }): Request {
  const { permission_id, action, metadata } = data;
  const tool = metadata.call_id === null ? undefined : state.tools.get(metadata.call_id);
  const title = tool?.title ?? [action, subjectOf(data)].filter((text) => text !== "").join(": ");
  return {
    jsonrpc: "2.0",
    id: permission_id,
    method: "session/request_permission",
    params: {
      sessionId: session,
      toolCall: {
        toolCallId: tool?.id ?? permission_id,
        title,
        kind: tool?.kind ?? "other",
        status: "pending",
        rawInput: metadata.input ?? {},
        content: contentOf(metadata.input),
      },
      options: [
        { optionId: ONCE, name: "Allow once", kind: "allow_once" },
        ...alwaysOptions(data),
        { optionId: REJECT, name: "Reject", kind: "reject_once" },
      ],
    },
  };
}

/** Where nothing can be remembered, "always" is not offered. A scope is part of the option's id, and shown in full. */
function alwaysOptions(data: Permission) {
  if (!canRemember(data.metadata)) return [];
  const words = allowedFromNowOn(data);
  const exact = words.length > OPTION_WIDTH ? `${words.slice(0, OPTION_WIDTH)}…` : words;
  return [
    { optionId: ALWAYS, name: `Always: ${exact}`, kind: "allow_always" },
    ...scopesOf(data).map(({ scope, always }) => ({
      optionId: `${ALWAYS} ${scope}`,
      name: `Always: ${always}`,
      kind: "allow_always",
    })),
  ];
}

/** Maximum length of the exact action in an option: the whole of it is in the tool call. */
const OPTION_WIDTH = 100;

/** Returns the broader scope that an option represents, or null. */
export const scopeIn = (optionId: string): string | null =>
  optionId.startsWith(`${ALWAYS} `) ? optionId.slice(ALWAYS.length + 1) : null;

/** The changes that are asked for, where the request carries them. */
function contentOf(input: unknown): unknown[] {
  if (typeof input !== "object" || input === null || !("changes" in input) || !Array.isArray(input.changes)) return [];
  return input.changes.flatMap((change: unknown) => {
    if (typeof change !== "object" || change === null || !("path" in change) || !("newText" in change)) return [];
    const { path, newText } = change;
    if (typeof path !== "string" || typeof newText !== "string") return [];
    const oldText = "oldText" in change && typeof change.oldText === "string" ? change.oldText : null;
    return [{ type: "diff", path, oldText, newText }];
  });
}

/** A form where the client has forms; else a choice, where one question with options can be one; else nothing. */
export function questionRequest(
  state: State,
  { session, data }: { session: string; data: QuestionRequest },
): Request | null {
  const { question_id, prompt, questions, metadata } = data;
  const tool = metadata.call_id === null ? undefined : state.tools.get(metadata.call_id);
  if (state.client.elicitation) {
    const properties = Object.fromEntries(questions.map((question, index) => [fieldName(index), fieldOf(question)]));
    return {
      jsonrpc: "2.0",
      id: question_id,
      method: "elicitation/create",
      params: {
        sessionId: session,
        mode: "form",
        ...(tool === undefined ? {} : { toolCallId: tool.id }),
        message: prompt,
        requestedSchema: { type: "object", properties },
      },
    };
  }
  const [question] = questions;
  if (question === undefined || questions.length > 1 || question.multiple || question.options.length === 0) return null;
  return choiceRequest({ session, id: question_id, toolCallId: tool?.id ?? question_id, question });
}

export const fieldName = (index: number): string => `question_${index}`;

function fieldOf({ header, question, options, multiple }: Question): unknown {
  const choices = options.map(({ label, description }) => ({
    const: label,
    title: label,
    ...(description === undefined ? {} : { description }),
  }));
  const named = { title: header ?? question, description: question };
  if (multiple) return { type: "array", ...named, items: { anyOf: choices } };
  return choices.length === 0 ? { type: "string", ...named } : { type: "string", ...named, oneOf: choices };
}

interface Choice {
  readonly session: string;
  readonly id: string;
  readonly toolCallId: string;
  readonly question: Question;
}

const choiceRequest = ({ session, id, toolCallId, question }: Choice): Request => ({
  jsonrpc: "2.0",
  id,
  method: "session/request_permission",
  params: {
    sessionId: session,
    toolCall: { toolCallId, title: question.question, kind: "think", status: "pending", rawInput: {}, content: [] },
    options: [
      ...question.options.map(({ label }, index) => ({ optionId: `answer_${index}`, name: label, kind: "allow_once" })),
      { optionId: REJECT, name: "Skip", kind: "reject_once" },
    ],
  },
});
