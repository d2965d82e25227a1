/**
 * Optional fields without conditional spreads: `{ type, ...defined({ model }) }` has the fields that have a value.
 * An absent field and a field that is `undefined` are different types here, and different JSON in golden files.
 * It copies its argument, so code that runs for every delta does without.
 */

/** The same fields; one that may be `undefined` may be absent instead. */
export type Defined<Fields> = {
  [Name in keyof Fields as undefined extends Fields[Name] ? never : Name]: Fields[Name];
} & {
  [Name in keyof Fields as undefined extends Fields[Name] ? Name : never]?: Exclude<Fields[Name], undefined>;
};

/** The fields without those that are `undefined`, in their order. `null` is a value and stays. */
export function defined<const Fields extends object>(fields: Fields): Defined<Fields>;
export function defined(fields: object): object {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
