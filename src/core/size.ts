/** About how many characters of JSON a value is, without making them. */

/** Quotes, a comma, a bracket: what stands around a value. */
const AROUND = 4;

export function sizeOf(value: unknown): number {
  if (typeof value === "string") return value.length + AROUND;
  if (typeof value !== "object" || value === null) return AROUND;
  let size = AROUND;
  if (Array.isArray(value)) for (const one of value) size += sizeOf(one);
  else for (const [key, one] of Object.entries(value)) size += key.length + AROUND + sizeOf(one);
  return size;
}
