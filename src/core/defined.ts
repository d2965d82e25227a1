/**
 * Optional fields without conditional spreads: `{ type, ...defined({ model }) }` has the fields that have a value.
 * An absent field and a field that is `undefined` are different types here; in JSON they are the same.
 * Where nothing is missing it returns its argument, so give it an object of its own.
 */

/** The same fields; one that may be `undefined` may be absent instead. */
export type Defined<Fields> = {
  [Name in keyof Fields as undefined extends Fields[Name] ? never : Name]: Fields[Name];
} & {
  [Name in keyof Fields as undefined extends Fields[Name] ? Name : never]?: Exclude<Fields[Name], undefined>;
};

/** The fields without those that are `undefined`, in their order. `null` is a value and stays. */
export function defined<const Fields extends object>(fields: Fields): Defined<Fields>;
export function defined(fields: Readonly<Record<string, unknown>>): object {
  for (const name in fields) if (fields[name] === undefined) return withoutMissing(fields);
  return fields;
}

function withoutMissing(fields: Readonly<Record<string, unknown>>): object {
  const out: Record<string, unknown> = {};
  for (const name in fields) if (fields[name] !== undefined) out[name] = fields[name];
  return out;
}
