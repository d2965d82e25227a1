/** About how many characters of JSON a value is, without making them. */

/** Quotes, a comma, a bracket: what stands around a value. */
const AROUND = 4;

export function sizeOf(value: unknown): number {
  if (typeof value === "string") return value.length + AROUND;
  if (!isBranch(value)) return AROUND;
  let size = AROUND;
  if (Array.isArray(value)) for (const one of value) size += sizeOf(one);
  else for (const key in value) size += key.length + AROUND + sizeOf(value[key]);
  return size;
}

const isBranch = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null;
