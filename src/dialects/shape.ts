/** Small questions about parsed JSON, for the hand-written guards of the dialects. */

export type Shape = Readonly<Record<string, unknown>>;

export const isShape = (value: unknown): value is Shape =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export const isString = (value: unknown): value is string => typeof value === "string";

/** As JSON knows numbers: a value that came from elsewhere may be NaN or infinite. */
export const isNumber = (value: unknown): value is number => typeof value === "number" && Number.isFinite(value);

export const isBoolean = (value: unknown): value is boolean => typeof value === "boolean";

export const isOneOf =
  <const Choice extends string>(choices: readonly Choice[]) =>
  (value: unknown): value is Choice =>
    choices.some((choice) => choice === value);

export const isListOf =
  <Entry>(isEntry: (value: unknown) => value is Entry) =>
  (value: unknown): value is readonly Entry[] =>
    Array.isArray(value) && value.every(isEntry);

/** Absent, or as the given check says. */
export const maybe = (value: unknown, check: (value: unknown) => boolean): boolean =>
  value === undefined || check(value);
