/**
 * Forms that a server or an agent asks a person to fill in (MCP and ACP elicitation: a flat JSON Schema), as questions;
 * and the answers as the filled form. Pure.
 */
import type { Question } from "../protocol/events.ts";

type Shape = Readonly<Record<string, unknown>>;
type Property = readonly [name: string, shape: Shape];

const isShape = (value: unknown): value is Shape =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const shapeOf = (value: unknown): Shape => (isShape(value) ? value : {});

/** The fields of the form that `requestedSchema` describes. */
function propertiesOf(params: unknown): Property[] {
  const { requestedSchema } = shapeOf(params);
  return Object.entries(shapeOf(shapeOf(requestedSchema).properties)).map(([name, shape]) => [name, shapeOf(shape)]);
}

/** One question per field; none when the form is a bare yes or no. */
export const questionsIn = (params: unknown, message: string): Question[] =>
  propertiesOf(params).map(([name, shape]) => asQuestion(name, shape, message));

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
