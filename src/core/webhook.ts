/** Events as webhooks render them: which are sent, what is in the body, and a sentence for chat rooms. Pure. */
import type { UniversalEvent } from "../protocol/events.ts";
import type { TemplateField, WebhookBody, WebhookEvent } from "../protocol/webhooks.ts";

/** The type under which a webhook sends an event; null for one that is never sent. */
export function webhookType(event: UniversalEvent): WebhookEvent | null {
  switch (event.type) {
    case "session.started":
    case "session.ended":
    case "turn.started":
    case "turn.ended":
      return event.type;
    case "permission.requested":
    case "question.requested":
      return "requires_action";
    case "permission.resolved":
    case "question.resolved":
      return "resolved";
    case "budget.updated":
      return "budget";
    case "error":
      return event.data.fatal ? "error" : null;
    default:
      return null;
  }
}

/** What the log knows besides the event. */
export interface WebhookContext {
  readonly agent: string | null;
  /** Null without `content: true`. */
  readonly content: { readonly title: string | null; readonly directory: string | null } | null;
  /** What the agent said last in the turn that ended, where content is sent. */
  readonly answer: string | null;
}

const MAX_TEXT = 20_000;
/** As long as the shortest limit of the chat services in docs/webhooks.md. */
const MAX_SUMMARY = 2_800;

export function webhookBody(event: UniversalEvent, type: WebhookEvent, context: WebhookContext): WebhookBody {
  const { agent, content } = context;
  return {
    id: event.event_id,
    type,
    time: event.time,
    session_id: event.session_id,
    turn_id: event.turn_id,
    sequence: event.sequence,
    agent,
    data: dataOf(event),
    ...(content === null ? {} : { content: { ...content, text: clip(textOf(event, context), MAX_TEXT) } }),
  };
}

/** Ids, reasons and usage: nothing that a person or a model wrote. */
function dataOf(event: UniversalEvent): WebhookBody["data"] {
  switch (event.type) {
    case "session.ended":
      return { reason: event.data.reason };
    case "turn.started": {
      const { origin, prompt_id } = event.data;
      return { origin, ...(prompt_id === undefined ? {} : { prompt_id }) };
    }
    case "turn.ended": {
      const { reason, evidence, usage, error } = event.data;
      return { reason, evidence, usage, ...(error === undefined ? {} : { code: error.code }) };
    }
    case "permission.requested":
    case "permission.resolved": {
      const { permission_id, action, status, metadata } = event.data;
      return { kind: "permission", request_id: permission_id, action, status, deadline: metadata.deadline };
    }
    case "question.requested":
    case "question.resolved": {
      const { question_id, status, metadata } = event.data;
      return { kind: "question", request_id: question_id, status, deadline: metadata.deadline };
    }
    case "budget.updated": {
      const { scope, kind, limit, used, state } = event.data;
      return { scope, kind, limit, used, status: state };
    }
    case "error":
      return { code: event.data.code };
    default:
      return {};
  }
}

function textOf(event: UniversalEvent, { answer }: WebhookContext): string | null {
  switch (event.type) {
    case "turn.ended":
      return event.data.error?.message ?? answer;
    case "permission.requested":
    case "permission.resolved":
      return inputText(event.data.metadata.input) ?? event.data.metadata.patterns.join("\n");
    case "question.requested":
    case "question.resolved":
      return event.data.prompt;
    case "error":
      return event.data.message;
    case "session.ended":
      return event.data.message ?? null;
    default:
      return null;
  }
}

function inputText(input: unknown): string | null {
  if (input === undefined || input === null) return null;
  return typeof input === "string" ? input : JSON.stringify(input);
}

/** One sentence, and below it the text where content is sent. */
export function webhookSummary(body: WebhookBody): string {
  const { agent, session_id, content } = body;
  const title = content?.title ?? null;
  const where = title === null ? `session ${session_id}` : `"${title}" (${session_id})`;
  const sentence = `${agent ?? "agent"}: ${whatHappened(body)} in ${where}.`;
  const text = content?.text ?? null;
  return clip(text === null ? sentence : `${sentence}\n\n${text}`, MAX_SUMMARY) ?? "";
}

function whatHappened({ type, data }: WebhookBody): string {
  switch (type) {
    case "session.started":
      return "a session started";
    case "session.ended":
      return `the session ended (${data.reason ?? "unknown"})`;
    case "turn.started":
      return "a turn started";
    case "turn.ended":
      return `the turn ended: ${data.reason ?? "unknown"}${usageText(data.usage)}`;
    case "requires_action":
      return data.kind === "question" ? "a question waits" : `permission is wanted for ${data.action ?? "a tool"}`;
    case "resolved":
      return `the ${data.kind ?? "request"} was answered: ${data.status ?? "unknown"}`;
    case "budget":
      return `a budget (${data.kind} per ${data.scope}) is ${data.status}: ${data.used} of ${data.limit}`;
    case "error":
      return `an error occurred (${data.code ?? "no code"})`;
  }
}

function usageText(usage: WebhookBody["data"]["usage"]): string {
  if (usage === undefined) return "";
  const { input, output, reasoning, cache_read, cache_write } = usage.tokens;
  const tokens = input + output + reasoning + cache_read + cache_write;
  const cost = usage.cost_usd === null ? "" : `, $${usage.cost_usd.toFixed(usage.cost_usd < 1 ? 4 : 2)}`;
  return ` (${tokens} tokens${cost})`;
}

/** Texts of a template with their placeholders filled in; placeholders inside what is filled in stay as they are. */
export function fillTemplate(template: unknown, body: WebhookBody): unknown {
  const values: Readonly<Record<TemplateField, string>> = {
    summary: webhookSummary(body),
    id: body.id,
    type: body.type,
    time: body.time,
    session_id: body.session_id,
    turn_id: body.turn_id ?? "",
    agent: body.agent ?? "",
    reason: body.data.reason ?? "",
    title: body.content?.title ?? "",
    text: clip(body.content?.text ?? null, MAX_SUMMARY) ?? "",
  };
  const table = new Map<string, string>(Object.entries(values));
  const fill = (value: unknown): unknown => {
    if (typeof value === "string") return value.replaceAll(/\{(\w+)\}/g, (whole, name) => table.get(name) ?? whole);
    if (Array.isArray(value)) return value.map(fill);
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, fill(inner)]));
  };
  return fill(template);
}

function clip(text: string | null, limit: number): string | null {
  if (text === null || text.length <= limit) return text;
  return `${text.slice(0, limit - 1).replace(/[\ud800-\udbff]$/, "")}…`;
}
