/** Random numbers that follow from a seed, so that a plan can be drawn again. */

export interface Random {
  /** From 0 up to, but not including, `below`. */
  readonly integer: (below: number) => number;
  readonly between: (from: number, to: number) => number;
  readonly chance: (probability: number) => boolean;
  readonly pick: <Value>(values: readonly [Value, ...Value[]]) => Value;
}

export function randomFrom(seed: number): Random {
  let state = (seed ^ 0x9e3779b9) >>> 0;
  const next = (): number => {
    // xorshift32: its period is long enough for any plan, and it is the same on every machine.
    state ^= state << 13;
    state >>>= 0;
    state ^= state >>> 17;
    state ^= state << 5;
    state >>>= 0;
    return state / 2 ** 32;
  };
  for (let warm = 0; warm < 8; warm += 1) next();
  const integer = (below: number) => Math.floor(next() * below);
  return {
    integer,
    between: (from, to) => from + integer(to - from + 1),
    chance: (probability) => next() < probability,
    pick: (values) => values[integer(values.length)] ?? values[0],
  };
}
