/** What an MCP server asks through Codex: a form becomes questions, a bare yes or no a permission. */
import { defined } from "../../core/defined.ts";
import type { PermissionReport, QuestionReport } from "../../core/report.ts";
import type { RequestOf } from "../../dialects/codex.ts";
import { type Shape, shapeOf } from "../../dialects/shape.ts";
import type { Question } from "../../protocol/events.ts";

type Elicitation = RequestOf<"mcpServer/elicitation/request">;

/** The call of the server's tool that is running, in whose name the server asks. */
export interface RunningCall {
  readonly callId: string;
  readonly name: string;
}

export function onElicitation(
  params: Elicitation,
  { key, call }: { key: string; call: RunningCall | null },
): PermissionReport | QuestionReport {
  const { serverName, mode, message, url } = params;
  const call_id = call?.callId ?? null;
  const properties = propertiesOf(params);
  if (properties.length === 0) {
    const isLink = mode === "url" && typeof url === "string";
    const action = isLink ? "open_url" : "mcp";
    const pattern = isLink ? url : (call?.name ?? serverName);
    return {
      type: "permission",
      key,
      action,
      tool: call?.name ?? serverName,
      call_id,
      // For the approval of a tool call Codex sends no form, but says which call it is about.
      input: defined({ message, url: isLink ? url : undefined, arguments: shapeOf(params._meta).tool_params }),
      patterns: [pattern],
      // Without an offer to keep it, an approval holds once, whatever was answered.
      metadata: { server: serverName, always: persistOf(params) === null ? [] : [{ action, pattern, exact: true }] },
    };
  }
  return {
    type: "question",
    key,
    call_id,
    questions: properties.map(([name, shape]) => asQuestion(name, shape, message)),
    metadata: { server: serverName, message },
  };
}

type Property = readonly [name: string, shape: Shape];

function propertiesOf(params: unknown): Property[] {
  const { requestedSchema } = shapeOf(params);
  return Object.entries(shapeOf(shapeOf(requestedSchema).properties)).map(([name, shape]) => [name, shapeOf(shape)]);
}

function asQuestion(name: string, shape: Shape, message: string): Question {
  const { title, description, type } = shape;
  const choices = choicesOf(shape);
  return {
    id: name,
    header: typeof title === "string" ? title : name,
    question: typeof description === "string" ? description : `${message} (${name})`,
    options: choices.map(({ label }) => ({ label })),
    multiple: type === "array",
    custom: choices.length === 0,
  };
}

interface Choice {
  readonly label: string;
  readonly value: unknown;
}

/** The answers a field allows: an enumeration with or without names, of one or of many; or yes and no. */
function choicesOf(shape: Shape): Choice[] {
  if (shape.type === "boolean") {
    return [
      { label: "Yes", value: true },
      { label: "No", value: false },
    ];
  }
  const from = shape.type === "array" ? shapeOf(shape.items) : shape;
  const named = [from.oneOf, from.anyOf].find(Array.isArray);
  if (named !== undefined) {
    return named.map(shapeOf).map((one) => ({ label: String(one.title ?? one.const), value: one.const }));
  }
  if (!Array.isArray(from.enum)) return [];
  const names: readonly unknown[] = Array.isArray(from.enumNames) ? from.enumNames : [];
  return from.enum.map((value: unknown, index) => ({ label: String(names[index] ?? value), value }));
}

/** The form filled in with the answers, each in the type its field asks for. */
export function contentFrom(params: unknown, answers: readonly (readonly string[])[]): Record<string, unknown> {
  const content: Record<string, unknown> = {};
  propertiesOf(params).forEach(([name, shape], index) => {
    const labels = answers[index] ?? [];
    const choices = choicesOf(shape);
    const values = labels.map((label) => choices.find((choice) => choice.label === label)?.value ?? label);
    if (shape.type === "array") content[name] = values;
    else if (values.length > 0) content[name] = typed(values[0], shape.type);
  });
  return content;
}

/** The answers that a filled form gives, by the labels of its choices. */
export function answersIn(params: unknown, content: unknown): string[][] {
  const filled = shapeOf(content);
  return propertiesOf(params).map(([name, shape]) => {
    const value = filled[name];
    const values: readonly unknown[] = value === undefined ? [] : Array.isArray(value) ? value : [value];
    const choices = choicesOf(shape);
    return values.map((one) => choices.find((choice) => choice.value === one)?.label ?? String(one));
  });
}

function typed(value: unknown, type: unknown): unknown {
  if ((type === "number" || type === "integer") && typeof value === "string") {
    const number = Number(value);
    return Number.isFinite(number) ? number : value;
  }
  return value;
}

/** How long an approval may be kept, when the server offers to keep it for the session. */
export function persistOf(params: unknown): "session" | null {
  const { persist } = shapeOf(shapeOf(params)._meta);
  const offered: readonly unknown[] = Array.isArray(persist) ? persist : [persist];
  return offered.includes("session") ? "session" : null;
}
