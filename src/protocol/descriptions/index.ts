/** All descriptions, and how they enter a JSON Schema. Only documentation loads this. */
import { adoptionTypes } from "./adoption.ts";
import { eventFields, eventTypes } from "./events.ts";
import type { Descriptions } from "./fields.ts";
import { itemTypes } from "./items.ts";
import { resourceTypes } from "./resources.ts";
import { tokenTypes } from "./tokens.ts";
import { webhookTypes } from "./webhooks.ts";
import { workspaceTypes } from "./workspaces.ts";

export { eventFields };

export const descriptions: Descriptions = {
  ...eventTypes,
  ...itemTypes,
  ...resourceTypes,
  ...tokenTypes,
  ...webhookTypes,
  ...workspaceTypes,
  ...adoptionTypes,
};

interface Schema {
  readonly properties?: Readonly<Record<string, unknown>>;
  readonly [key: string]: unknown;
}

const isSchema = (value: unknown): value is Schema => typeof value === "object" && value !== null;

/** The JSON Schema of a named type with a description for each field, also of the objects inside. */
export function describeSchema(name: string, schema: unknown): Schema {
  if (!isSchema(schema)) return {};
  if (name === "Draft" && Array.isArray(schema.oneOf)) return { ...schema, oneOf: schema.oneOf.map(describeDraft) };
  const texts = descriptions[name];
  return schema.properties === undefined || texts === undefined ? schema : withTexts(schema, { name, texts });
}

function describeDraft(draft: unknown): unknown {
  if (!isSchema(draft) || !isSchema(draft.properties?.data) || !isSchema(draft.properties.type)) return draft;
  const { type, data: inner } = draft.properties;
  const texts = Object.entries(eventFields).find(([name]) => name === type.const)?.[1] ?? {};
  const data = withTexts(inner, { name: "", texts });
  return { ...draft, properties: { ...draft.properties, data } };
}

function withTexts(schema: Schema, { name, texts }: { name: string; texts: Readonly<Record<string, string>> }): Schema {
  const properties = Object.entries(schema.properties ?? {}).map(([field, inner]) => {
    const described = describeSchema(`${name}.${field}`, inner);
    const description = texts[field];
    return [field, description === undefined ? described : { description, ...described }];
  });
  return schema.properties === undefined ? schema : { ...schema, properties: Object.fromEntries(properties) };
}
