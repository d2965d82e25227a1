/**
 * Two OpenCode event streams, or two conversations, side by side: what only one of them has, and every field in which
 * they differ. Ids and times are as they come, so ids must correspond and times must only be there.
 */
export interface Difference {
  /** Where: the event or part, and the path of the field in it. */
  readonly where: string;
  readonly what: "only native" | "only here" | "differs" | "ids do not correspond";
  readonly native?: unknown;
  readonly here?: unknown;
}

export const written = ({ where, what, native, here }: Difference): string =>
  what === "differs" ? `${where}: ${JSON.stringify(native)} → ${JSON.stringify(here)}` : `${where}: ${what}`;

type Fields = Readonly<Record<string, unknown>>;

export const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export const fieldsOf = (value: unknown): Fields => (isFields(value) ? value : {});

export interface Comparison {
  readonly differences: Difference[];
  /** Native ids to ours, and back. */
  readonly ids: Map<string, string>;
  readonly back: Map<string, string>;
}

export const startComparison = (): Comparison => ({ differences: [], ids: new Map(), back: new Map() });

/** One thing in a row, with the label by which it is found again in the other row. */
export interface Labelled {
  readonly label: string;
  readonly value: unknown;
}

/** Puts two rows beside each other by their labels, then looks into each pair. */
export function compareRows(
  comparison: Comparison,
  { native, here }: { native: readonly Labelled[]; here: readonly Labelled[] },
): void {
  for (const pair of alongside(native, here)) comparePair(comparison, pair);
}

export function comparePair(comparison: Comparison, { native, here }: Pair): void {
  if (native !== null && here !== null) {
    compareValues(comparison, { native: native.value, here: here.value, where: native.label });
  } else if (native !== null) {
    comparison.differences.push({ where: native.label, what: "only native", native: native.value });
  } else if (here !== null) {
    comparison.differences.push({ where: here.label, what: "only here", here: here.value });
  }
}

export interface Pair {
  readonly native: Labelled | null;
  readonly here: Labelled | null;
}

/** The longest common row of labels; the rest stands alone. */
export function alongside(native: readonly Labelled[], here: readonly Labelled[]): Pair[] {
  const width = here.length + 1;
  const lengths = new Uint32Array((native.length + 1) * width);
  const at = (row: number, column: number): number => lengths[row * width + column] ?? 0;
  for (let row = native.length - 1; row >= 0; row -= 1) {
    for (let column = here.length - 1; column >= 0; column -= 1) {
      const same = native[row]?.label === here[column]?.label;
      lengths[row * width + column] = same
        ? at(row + 1, column + 1) + 1
        : Math.max(at(row + 1, column), at(row, column + 1));
    }
  }
  const pairs: Pair[] = [];
  let [row, column] = [0, 0];
  while (row < native.length || column < here.length) {
    const [one, other] = [native[row] ?? null, here[column] ?? null];
    if (one !== null && other !== null && one.label === other.label) {
      pairs.push({ native: one, here: other });
      row += 1;
      column += 1;
    } else if (other === null || (one !== null && at(row + 1, column) >= at(row, column + 1))) {
      pairs.push({ native: one, here: null });
      row += 1;
    } else {
      pairs.push({ native: null, here: other });
      column += 1;
    }
  }
  return pairs;
}

interface Values {
  readonly native: unknown;
  readonly here: unknown;
  readonly where: string;
}

export function compareValues(comparison: Comparison, { native, here, where }: Values): void {
  if (Array.isArray(native) && Array.isArray(here)) {
    const length = Math.max(native.length, here.length);
    for (let index = 0; index < length; index += 1) {
      compareValues(comparison, { native: native[index], here: here[index], where: `${where}[]` });
    }
    return;
  }
  if (isFields(native) && isFields(here)) {
    for (const key of new Set([...Object.keys(native), ...Object.keys(here)])) {
      compareValues(comparison, { native: native[key], here: here[key], where: `${where}.${key}` });
    }
    return;
  }
  if (typeof native === "string" && typeof here === "string") return compareTexts(comparison, { native, here, where });
  if (typeof native === "number" && typeof here === "number" && (isTime(where) || isSame({ native, here }))) return;
  if (native !== here) comparison.differences.push({ where, what: "differs", native, here });
}

/** OpenCode adds costs up in binary, and says 0.00041999999999999996 where the sum is 0.00042. */
const isSame = ({ native, here }: Record<"native" | "here", number>): boolean =>
  native.toPrecision(12) === here.toPrecision(12);

const isTime = (where: string): boolean =>
  /\.(time(\.(created|updated|completed|start|end))?|status\.next)$/.test(where);

const DATE = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z|\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT/g;
/** Its own, and the one it gives to a call that no model made. */
const ID = /\b((?:ses|msg|prt|evt|per|que)_[0-9A-Za-z]{26}|01[0-9A-HJKMNP-TV-Z]{24})\b/g;

/** Ids may stand in a text too. Each must always stand where its counterpart stands. */
function compareTexts(
  { differences, ids, back }: Comparison,
  { native, here, where }: { native: string; here: string; where: string },
): void {
  const plain = (text: string): string => text.replace(ID, (id) => id.slice(0, 3)).replace(DATE, "(a time)");
  if (plain(native) !== plain(here)) return void differences.push({ where, what: "differs", native, here });
  const ours = here.match(ID) ?? [];
  for (const [index, id] of (native.match(ID) ?? []).entries()) {
    const other = ours[index] ?? "";
    if ((ids.get(id) ?? other) !== other || (back.get(other) ?? id) !== id) {
      differences.push({ where, what: "ids do not correspond", native: id, here: other });
    }
    ids.set(id, other);
    back.set(other, id);
  }
}
