/**
 * The guided search: an input that reaches a block which no input has reached is kept, made smaller and mutated
 * further. Everything follows from the seed.
 */
import { type Random, randomFrom } from "../../faults/random.ts";
import { attempt, type Failure, isHang, kindOf, type Target } from "./attempt.ts";
import { type Coverage, openReached, type Ran, type Reached } from "./coverage.ts";
import { firstInputs, growing, mutate, smaller } from "./mutate.ts";

export interface SearchOptions {
  readonly target: Target;
  readonly coverage: Coverage;
  readonly seed: number;
  /** False: only the first inputs are mutated, whatever is reached. */
  readonly guided: boolean;
  readonly goesOn: (executions: number) => boolean;
  readonly onFinding?: (finding: Finding) => void;
}

export interface Finding {
  readonly target: string;
  readonly seed: number;
  readonly execution: number;
  readonly error: Error;
  /** As small as it could be made. */
  readonly input: Buffer;
}

export interface Searched {
  readonly executions: number;
  /** Blocks that the first inputs reach, and that all reach. */
  readonly blocks: { readonly from: number; readonly to: number };
  readonly corpus: readonly Buffer[];
  readonly findings: readonly Finding[];
}

interface Entry {
  readonly input: Buffer;
  readonly ran: Ran;
  /** How much of the modules it runs. */
  readonly reach: number;
  chosen: number;
}

const entryOf = (input: Buffer, ran: Ran): Entry => {
  const lengths = ran.functions.flatMap(({ reached }) => reached.map(([start, end]) => end - start));
  return { input, ran, reach: 1 + lengths.reduce((sum, length) => sum + length, 0), chosen: 0 };
};

interface State extends SearchOptions {
  readonly random: Random;
  readonly reached: Reached;
  readonly words: readonly string[];
  readonly kinds: Set<string>;
  readonly findings: Finding[];
  /** Broken by inputs whose coverage is not taken yet. */
  readonly failed: { readonly inputs: readonly Buffer[]; readonly failure: Failure }[];
  corpus: Entry[];
  executions: number;
}

/** How many tries it may take to make smaller what reaches something new, what breaks something, and what hangs. */
const TRIES = { corpus: 24, finding: 1_500, hang: 8 } as const;
/** What small inputs have too much is material for others. */
const SMALL_INPUT = 300;
/** The corpus is minimised whenever it has grown by so many. */
const CULL_EVERY = 50;

export async function search(options: SearchOptions): Promise<Searched> {
  const { target, coverage, seed, guided, goesOn } = options;
  const state: State = {
    ...options,
    random: randomFrom(seed),
    reached: openReached(),
    words: coverage.words(target.watches),
    kinds: new Set(),
    findings: [],
    failed: [],
    corpus: [],
    executions: 0,
  };
  const given = target.seeds();
  coverage.take(target.watches);
  const seeds = given.length === 0 ? firstInputs : given;
  for (const input of seeds) await examine(state, input, { trim: false });
  if (state.corpus.length === 0) state.corpus.push(entryOf(seeds[0] ?? Buffer.alloc(0), NOTHING));
  cull(state);
  state.reached.mark();
  let culledAt = state.corpus.length;
  while (goesOn(state.executions)) {
    const inputs = Array.from({ length: target.batch }, () => mutate(state.random, choose(state), materialOf(state)));
    const ran = await ranBy(state, inputs);
    if (!state.reached.isNew(ran)) continue;
    if (guided) for (const input of inputs) await examine(state, input, { trim: true });
    // What only the inputs together reach is not looked for again.
    state.reached.add(ran);
    if (state.corpus.length < culledAt + CULL_EVERY) continue;
    cull(state);
    culledAt = state.corpus.length;
  }
  cull(state);
  const { marked: from, now: to } = state.reached.blocks();
  const { executions, findings } = state;
  return { executions, blocks: { from, to }, corpus: state.corpus.map(({ input }) => input), findings };
}

const NOTHING: Ran = { functions: [], steps: 0 };

const materialOf = (state: State) => ({ form: state.target.form, words: state.words, other: () => pick(state).input });

/** Of three inputs the one that was chosen least for what it reaches and how long it is. */
function choose(state: State): Buffer {
  const worn = ({ chosen, reach, input }: Entry): number => (chosen * (1 + input.length / 1_024)) / reach;
  const drawn = [pick(state), pick(state), pick(state)].sort((one, other) => worn(one) - worn(other));
  const entry = drawn[0] ?? pick(state);
  entry.chosen += 1;
  return entry.input;
}

function pick({ corpus, random }: State): Entry {
  return corpus[random.integer(corpus.length)] ?? entryOf(Buffer.alloc(0), NOTHING);
}

/** Runs all of them, whatever some of them break. */
async function runAll(state: State, inputs: readonly Buffer[]): Promise<void> {
  for (let from = 0; from < inputs.length; ) {
    const rest = inputs.slice(from);
    const failure = await attempt(state.target, rest);
    const done = failure === null ? rest.length : failure.index + 1;
    state.executions += done;
    from += done;
    if (failure !== null) state.failed.push({ inputs: rest, failure });
  }
}

/** Runs one input alone and keeps it when it reaches something new. */
async function examine(state: State, input: Buffer, { trim }: { readonly trim: boolean }): Promise<void> {
  const ran = await ranBy(state, [input]);
  if (!state.reached.isNew(ran)) return;
  const keeps = async (candidate: Buffer): Promise<boolean> => covers(await ranBy(state, [candidate]), ran);
  const small = trim && input.length > SMALL_INPUT ? await shrink(state, input, { keeps, tries: TRIES.corpus }) : input;
  const kept = small === input ? ran : await ranBy(state, [small]);
  state.reached.add(ran);
  state.corpus.push(entryOf(small, kept));
  if (state.target.isBusy !== true) await checkGrowth(state, small);
}

/** What these inputs reach; what they break is reported. */
async function ranBy(state: State, inputs: readonly Buffer[]): Promise<Ran> {
  await runAll(state, inputs);
  const ran = state.coverage.take(state.target.watches);
  const failed = state.failed.splice(0);
  for (const one of failed) await note(state, one.inputs, one.failure);
  // What it took to make them smaller is nothing that the inputs reached.
  if (failed.length > 0) state.coverage.take(state.target.watches);
  return ran;
}

/** Whether everything that is wanted was reached; what a function reached is in pieces that do not touch. */
function covers(ran: Ran, wanted: Ran): boolean {
  const reached = new Map(ran.functions.map((one) => [one.key, one.reached]));
  return wanted.functions.every((one) =>
    one.reached.every(
      ([start, end]) => reached.get(one.key)?.some(([from, to]) => from <= start && end <= to) === true,
    ),
  );
}

/** Only the smallest inputs that reach everything together stay. */
function cull(state: State): void {
  const reached = openReached();
  const bySize = [...state.corpus].sort((one, other) => one.input.length - other.input.length);
  const kept = new Set<Entry>();
  for (const entry of bySize) {
    if (!reached.isNew(entry.ran)) continue;
    reached.add(entry.ran);
    kept.add(entry);
  }
  if (kept.size > 0) state.corpus = state.corpus.filter((entry) => kept.has(entry));
}

interface Shrinking {
  readonly keeps: (candidate: Buffer) => Promise<boolean>;
  readonly tries: number;
}

async function shrink(state: State, input: Buffer, { keeps, tries }: Shrinking): Promise<Buffer> {
  let best = input;
  let left = tries;
  for (let improved = true; improved && left > 0; ) {
    improved = false;
    for (const candidate of smaller(best, state.target.form)) {
      if (left-- <= 0) break;
      if (candidate.length >= best.length || !(await keeps(candidate))) continue;
      best = candidate;
      improved = true;
      break;
    }
  }
  return best;
}

/** A failure is reported once for each kind, with the smallest input that gives it. */
async function note(state: State, inputs: readonly Buffer[], failure: Failure): Promise<void> {
  const alone = await culprit(state, inputs, failure);
  const kind = kindOf(alone.failure);
  if (state.kinds.has(kind)) return;
  state.kinds.add(kind);
  const execution = state.executions;
  const keeps = async (candidate: Buffer): Promise<boolean> => {
    const again = await attempt(state.target, [candidate]);
    return again !== null && kindOf(again) === kind;
  };
  const input = await shrink(state, alone.input, { keeps, tries: isHang(alone.failure) ? TRIES.hang : TRIES.finding });
  report(state, { target: state.target.name, seed: state.seed, execution, error: alone.failure.error, input });
}

/** What is rejected shows after the whole run: each input is tried alone. */
async function culprit(state: State, inputs: readonly Buffer[], failure: Failure) {
  for (const input of [inputs[failure.index] ?? Buffer.alloc(0), ...inputs]) {
    const again = await attempt(state.target, [input]);
    if (again !== null) return { input, failure: again };
  }
  return { input: inputs[failure.index] ?? Buffer.alloc(0), failure };
}

function report(state: State, finding: Finding): void {
  state.findings.push(finding);
  state.onFinding?.(finding);
}

/** A part four times as long may take so many times the work; less work than this is no growth worth a word. */
const ALLOWED = 5;
const BEGINNING = 2_000;
const SMALL = 16;
/** Longer ones take too long: the last is sixteen times as long. */
const MOST_GROWN = 4 * 1024;

/** Repeats a part of the input; a growth that is too fast twice in a row is one. */
async function checkGrowth(state: State, input: Buffer): Promise<void> {
  const grown = growing(state.random, input, state.target.form);
  if (grown === null || grown(SMALL).length > MOST_GROWN) return;
  const steps: number[] = [];
  for (const times of [SMALL, SMALL * 4, SMALL * 16]) {
    const { steps: taken } = await ranBy(state, [grown(times)]);
    steps.push(taken);
    if (steps.length > 1 && taken <= Math.max(BEGINNING, steps.at(-2) ?? 0) * ALLOWED) return;
  }
  const error = new Error(`Work grows faster than the input: ${steps.join(", ")} steps for four times as much each`);
  const kind = "growth";
  if (state.kinds.has(kind)) return;
  state.kinds.add(kind);
  report(state, {
    target: state.target.name,
    seed: state.seed,
    execution: state.executions,
    error,
    input: grown(SMALL),
  });
}
