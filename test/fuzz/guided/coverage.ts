/**
 * Which blocks of a program ran, counted by V8 itself. The program is one bundle, in which the modules stand one after
 * another; coverage must be on before a module is used, because V8 counts blocks only in what it compiles afterwards.
 */
import { readFileSync } from "node:fs";
import { type Profiler, Session } from "node:inspector";
import { fileURLToPath } from "node:url";

/** Where one function ran: pairs of start and end, from the function's own start. */
export interface RanFunction {
  /** Names the function: its place in the bundle. */
  readonly key: string;
  readonly length: number;
  readonly reached: readonly (readonly [start: number, end: number])[];
  /** All places where V8 begins or ends to count a block, reached or not. */
  readonly bounds: readonly number[];
}

export interface Ran {
  readonly functions: readonly RanFunction[];
  /** How often any block of our sources ran: the work that was done. */
  readonly steps: number;
}

export interface Coverage {
  /** What ran since the last call, in the modules that are watched. */
  readonly take: (watches: Watch) => Ran;
  /** Words in quotes in the sources of these modules: what they compare with is among them. */
  readonly words: (watches: Watch) => readonly string[];
}

export type Watch = (module: string) => boolean;

interface Module {
  readonly path: string;
  readonly start: number;
  readonly end: number;
}

/** `bundle`: the URL of the program that esbuild has written. */
export function openCoverage(bundle: string): Coverage {
  const inspector = new Session();
  inspector.connect();
  inspector.post("Profiler.enable");
  inspector.post("Profiler.startPreciseCoverage", { callCount: true, detailed: true });
  const text = readFileSync(fileURLToPath(bundle), "utf8");
  const modules = modulesIn(text);
  const moduleOf = finder(modules);
  return {
    take(watches) {
      const functions: RanFunction[] = [];
      let steps = 0;
      for (const one of takeOf(inspector, bundle)) {
        const [whole] = one.ranges;
        const module = whole === undefined ? null : moduleOf(whole.startOffset);
        // What spans more than a module is the program itself.
        if (whole === undefined || module === null || whole.endOffset > module.end) continue;
        const isWatched = watches(module.path);
        if (isWatched || module.path.startsWith("src/")) for (const { count } of one.ranges) steps += count;
        if (isWatched) functions.push(ranFunction(one.ranges, whole));
      }
      return { functions, steps };
    },
    words: (watches) =>
      wordsIn(modules.filter(({ path }) => watches(path)).map(({ start, end }) => text.slice(start, end))),
  };
}

function takeOf(inspector: Session, bundle: string): readonly Profiler.FunctionCoverage[] {
  let functions: readonly Profiler.FunctionCoverage[] = [];
  // Answered before `post` returns.
  inspector.post("Profiler.takePreciseCoverage", (error, { result }) => {
    if (error !== null) throw error;
    functions = result.find(({ url }) => url === bundle)?.functions ?? [];
  });
  return functions;
}

/** Painted anew for each function. */
let canvas = new Uint8Array(1 << 16);

/** V8 leaves out a block that ran as often as what is around it, and gives inner blocks after outer ones. */
function ranFunction(ranges: readonly Profiler.CoverageRange[], whole: Profiler.CoverageRange): RanFunction {
  const from = whole.startOffset;
  const length = whole.endOffset - from;
  const key = `${from}-${whole.endOffset}`;
  if (ranges.length === 1) return { key, length, reached: whole.count > 0 ? [[0, length]] : [], bounds: [0, length] };
  if (canvas.length <= length) canvas = new Uint8Array(length * 2);
  const painted = canvas.subarray(0, length);
  const bounds: number[] = [];
  for (const { startOffset, endOffset, count } of ranges) {
    painted.fill(count > 0 ? 1 : 0, startOffset - from, endOffset - from);
    bounds.push(startOffset - from, endOffset - from);
  }
  const reached: [number, number][] = [];
  for (let start = painted.indexOf(1); start >= 0; ) {
    const end = painted.indexOf(0, start);
    reached.push([start, end < 0 ? length : end]);
    start = end < 0 ? -1 : painted.indexOf(1, end);
  }
  return { key, length, reached, bounds };
}

/** esbuild names each module in a comment above it. */
function modulesIn(text: string): Module[] {
  const heads = [...text.matchAll(/^\/\/ ((?:src|test|node_modules)\/\S+)$/gm)];
  return heads.map((head, index) => ({
    path: head[1] ?? "",
    start: head.index,
    end: heads[index + 1]?.index ?? text.length,
  }));
}

function finder(modules: readonly Module[]): (offset: number) => Module | null {
  return (offset) => {
    let low = 0;
    let high = modules.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((modules[middle]?.start ?? 0) <= offset) low = middle + 1;
      else high = middle;
    }
    return modules[low - 1] ?? null;
  };
}

function wordsIn(texts: readonly string[]): string[] {
  const found = texts.flatMap((text) => [...text.matchAll(/"([\w$/.:@ -]{1,40})"|\.(\w{2,30})\b(?!\()/g)]);
  return [...new Set(found.map(([, quoted, name]) => quoted ?? name ?? ""))].sort();
}

/** What was reached by all inputs so far. */
export interface Reached {
  /** Whether some block ran that did not run before. */
  readonly isNew: (ran: Ran) => boolean;
  readonly add: (ran: Ran) => void;
  /** How many blocks were reached: by all, and when `mark` was called. */
  readonly blocks: () => { readonly marked: number; readonly now: number };
  readonly mark: () => void;
}

const MARKED = 2;

/** What was marked stays so. */
function paint(seen: Uint8Array): void {
  for (let from = seen.indexOf(0); from >= 0; ) {
    let to = from;
    while (to < seen.length && seen[to] === 0) to += 1;
    seen.fill(1, from, to);
    from = to < seen.length ? seen.indexOf(0, to) : -1;
  }
}

export function openReached(): Reached {
  const functions = new Map<string, { readonly seen: Uint8Array; readonly bounds: Set<number> }>();
  return {
    isNew: ({ functions: ran }) =>
      ran.some(({ key, reached }) => {
        const seen = functions.get(key)?.seen;
        return reached.some(([start, end]) => {
          const gap = seen?.indexOf(0, start) ?? start;
          return gap >= 0 && gap < end;
        });
      }),
    add({ functions: ran }) {
      for (const { key, length, reached, bounds } of ran) {
        const known = functions.get(key) ?? { seen: new Uint8Array(length), bounds: new Set() };
        functions.set(key, known);
        for (const bound of bounds) known.bounds.add(bound);
        for (const [start, end] of reached) paint(known.seen.subarray(start, end));
      }
    },
    blocks() {
      let marked = 0;
      let now = 0;
      for (const { seen, bounds } of functions.values()) {
        for (const bound of bounds) {
          if (bound < seen.length && seen[bound] !== 0) now += 1;
          if (bound < seen.length && seen[bound] === MARKED) marked += 1;
        }
      }
      return { marked, now };
    },
    mark() {
      for (const { seen } of functions.values())
        for (const [at, value] of seen.entries()) if (value !== 0) seen[at] = MARKED;
    },
  };
}
