/** The words of the dialects' hand-written guards: small questions about parsed JSON, and how to combine them. */

export type Shape = Readonly<Record<string, unknown>>;

/** Whether a value is as expected. It never throws, whatever the value is. */
export type Check = (value: unknown) => boolean;

export const isShape = (value: unknown): value is Shape =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export const isString = (value: unknown): value is string => typeof value === "string";

/** As JSON knows numbers: a value that came from elsewhere may be NaN or infinite. */
export const isNumber = (value: unknown): value is number => typeof value === "number" && Number.isFinite(value);

export const isInteger = (value: unknown): value is number => isNumber(value) && Number.isInteger(value);

export const isBoolean = (value: unknown): value is boolean => typeof value === "boolean";

export const isAnything: Check = () => true;

export const isOptionalString = (value: unknown): boolean => value === undefined || typeof value === "string";
export const isOptionalNumber = (value: unknown): boolean => value === undefined || isNumber(value);
export const isNullishString = (value: unknown): boolean => value === null || isOptionalString(value);
export const isNullishNumber = (value: unknown): boolean => value === null || isOptionalNumber(value);

export const isOneOf =
  <const Choice extends string>(choices: readonly Choice[]) =>
  (value: unknown): value is Choice =>
    choices.some((choice) => choice === value);

export function isListOf<Entry>(
  isEntry: (value: unknown) => value is Entry,
): (value: unknown) => value is readonly Entry[];
export function isListOf(isEntry: Check): Check;
export function isListOf(isEntry: Check): Check {
  return (value) => Array.isArray(value) && value.every(isEntry);
}

/** An object of which every value passes the check, whatever the names are. */
export const isMapOf =
  (check: Check): Check =>
  (value) =>
    isShape(value) && Object.values(value).every(check);

/** Absent, or as the check says. */
export const optional =
  (check: Check): Check =>
  (value) =>
    value === undefined || check(value);

/** Null, or as the check says. */
export const nullable =
  (check: Check): Check =>
  (value) =>
    value === null || check(value);

/** Absent, null, or as the check says. */
export const nullish =
  (check: Check): Check =>
  (value) =>
    value === undefined || value === null || check(value);

export const anyOf =
  (...checks: readonly Check[]): Check =>
  (value) =>
    checks.some((check) => check(value));

/** Every named field passes its check. The list is made once: lines are many, guards are few. */
export function fields(checks: Readonly<Record<string, Check>>): Check {
  const list = Object.entries(checks).map(([name, check]) => ({ name, check, mayMiss: check(undefined) }));
  return (value) => {
    if (!isShape(value)) return false;
    for (const { name, check, mayMiss } of list) {
      const field = value[name];
      // Most optional fields are absent from most lines: they are not worth a call.
      if (field === undefined ? !mayMiss : !check(field)) return false;
    }
    return true;
  };
}

/** Whether the fields of an object are as expected. Written out rather than listed where lines are many. */
export type Fields = (value: Shape) => boolean;

/** An object whose fields are as expected. */
export const fieldsOf =
  (check: Fields): Check =>
  (value) =>
    isShape(value) && check(value);

/** The same check under each of the names. */
export const named = <Value>(names: readonly string[], value: Value): Readonly<Record<string, Value>> =>
  Object.fromEntries(names.map((name) => [name, value]));

/** The tag names a variant that we know, and the whole passes that variant's check. */
export function byTag(tag: string, checks: Readonly<Record<string, Fields>>): Check {
  const table = new Map(Object.entries(checks));
  return (value) => {
    if (!isShape(value)) return false;
    const name = value[tag];
    return isString(name) && table.get(name)?.(value) === true;
  };
}

/** The value if it is an object, else an empty one. */
export const shapeOf = (value: unknown): Shape => (isShape(value) ? value : {});

/** The value if it is a string. */
export const stringOf = (value: unknown): string | undefined => (isString(value) ? value : undefined);
