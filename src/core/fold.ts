/** A fold turns a stream into another stream, remembering only its state. Adapters, turns and projections are folds. */
export interface Fold<In, Out, State> {
  readonly start: () => State;
  /** Reads one input and returns what follows from it. May update `state`, which belongs to this fold alone. */
  readonly step: (state: State, input: In) => readonly Out[];
  /** The input is over: close whatever is still open. */
  readonly end?: (state: State) => readonly Out[];
}

/** A fold with its state inside: what callers hold when they need not know the state's type. */
export interface Running<In, Out> {
  readonly step: (input: In) => readonly Out[];
  readonly end: () => readonly Out[];
}

export function run<In, Out, State>(fold: Fold<In, Out, State>): Running<In, Out> {
  const state = fold.start();
  return { step: (input) => fold.step(state, input), end: () => fold.end?.(state) ?? [] };
}

/** A fold over an array: a test, a replay. */
export function replay<In, Out, State>(fold: Fold<In, Out, State>, inputs: Iterable<In>): Out[] {
  const running = run(fold);
  const out: Out[] = [];
  for (const input of inputs) out.push(...running.step(input));
  out.push(...running.end());
  return out;
}

export function unreachable(value: never): never {
  throw new Error(`Unreachable: ${JSON.stringify(value)}`);
}

/** Our own mistakes, not the agent's and not the caller's. */
export function assert(condition: boolean, message: string): asserts condition {
  if (!condition) throw new Error(`Invariant broken: ${message}`);
}
