/** Recorded lines, damaged in one place each: what guards and schemas must agree about. */
import fc from "fast-check";

const spoils: readonly unknown[] = [undefined, null, 0, 7, "", "text", true, [], ["text"], {}, { type: "text" }];

/** One of the lines with one field, at any depth, replaced or taken away; sometimes as it was. */
export const damaged = (lines: readonly unknown[]): fc.Arbitrary<unknown> =>
  fc
    .tuple(fc.nat(lines.length - 1), fc.array(fc.nat(40), { maxLength: 6 }), fc.constantFrom(...spoils))
    .map(([index, path, spoil]) => damage(structuredClone(lines[index]), path, spoil));

function damage(value: unknown, path: readonly number[], spoil: unknown): unknown {
  const [step, ...rest] = path;
  if (step === undefined) return value;
  if (Array.isArray(value)) {
    if (value.length === 0) return value;
    const place = step % value.length;
    return value.map((one, index) => (index === place ? damageOr(one, rest, spoil) : one));
  }
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value);
  const chosen = entries[step % Math.max(1, entries.length)]?.[0];
  return Object.fromEntries(
    entries.flatMap(([name, one]) => {
      if (name !== chosen) return [[name, one]];
      const spoiled = damageOr(one, rest, spoil);
      return spoiled === undefined ? [] : [[name, spoiled]];
    }),
  );
}

const damageOr = (value: unknown, rest: readonly number[], spoil: unknown): unknown =>
  rest.length === 0 || typeof value !== "object" || value === null ? spoil : damage(value, rest, spoil);
