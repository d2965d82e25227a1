/**
 * What a table has under a name that somebody else gave. Every object also has a `constructor`, a `toString` and more,
 * which are in no table of ours.
 */
export const lookUp = <Value>(table: Readonly<Record<string, Value>>, name: string): Value | undefined =>
  Object.hasOwn(table, name) ? table[name] : undefined;
