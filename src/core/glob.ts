/**
 * Glob patterns over paths with forward slashes, matched in linear time. A pattern becomes a small program whose
 * threads advance through the path together, one character at a time: nothing is tried twice, so none can run away.
 */

/** Counts what matching costs: tests require that it grows with the input, walks pause by it. */
export interface Meter {
  steps: number;
}

/** Steps after which others get their turn: a few milliseconds. */
const SLICE = 200_000;

/** Whether it is time to pause; the count then begins again. */
export function isSliceOver(meter: Meter): boolean {
  if (meter.steps < SLICE) return false;
  meter.steps = 0;
  return true;
}

export interface Glob {
  readonly matches: (path: string, meter?: Meter) => boolean;
}

/** Longer than any path. */
const PATTERN_LIMIT = 4_096;
const SLASH = 47;

type Instruction =
  | { readonly op: "character"; readonly code: number }
  /** Any character, a slash too. */
  | { readonly op: "any" }
  /** Any character but a slash. */
  | { readonly op: "inName" }
  | { readonly op: "set"; readonly negated: boolean; readonly ranges: readonly (readonly [number, number])[] }
  /** Continues at both places. */
  | { readonly op: "split"; left: number; right: number }
  | { readonly op: "end" };

/**
 * `*` and `?` stay inside a name, `**` crosses slashes, `[a-z]`, `[!a]`, `{one,two}`, `\` before what is literal. Null
 * when the pattern cannot be read (an unclosed brace, too long).
 */
export function compileGlob(pattern: string): Glob | null {
  if (pattern.length > PATTERN_LIMIT) return null;
  const writing: Writing = { program: [], groups: [], target: 0 };
  for (let index = 0; index < pattern.length; ) index += writePiece(writing, pattern, index);
  if (writing.groups.length > 0) return null;
  writing.program.push({ op: "end" });
  return runner(writing);
}

interface Writing {
  readonly program: Instruction[];
  /** Open braces, the innermost last: the branch that leads to the next alternative, and the jumps to the end. */
  readonly groups: { branch: Split; readonly ends: Split[] }[];
  /** The last place that something jumps to. */
  target: number;
}

type Split = Extract<Instruction, { op: "split" }>;

/** Returns how many characters of the pattern were read. */
function writePiece(writing: Writing, pattern: string, index: number): number {
  const atName = index === 0 || pattern.charAt(index - 1) === "/";
  if (atName && pattern.startsWith("**/", index)) return writeFolders(writing, pattern, index);
  const character = pattern.charAt(index);
  switch (character) {
    case "*": {
      const length = countRepeats(pattern, { part: "*", from: index });
      writeRepeated(writing, { op: length > 1 ? "any" : "inName" });
      return length;
    }
    case "?":
      writing.program.push({ op: "inName" });
      return 1;
    case "{":
      writing.groups.push({ branch: writeSplit(writing), ends: [] });
      return 1;
    case ",":
    case "}":
      return writeGroup(writing, character);
    case "[":
      return writeSet(writing, pattern, index);
    case "\\":
      writeCharacter(writing, pattern.charAt(index + 1) || "\\");
      return 2;
    default:
      writeCharacter(writing, character);
      return 1;
  }
}

/** Any folders, or none: several of these in a row are one. */
function writeFolders(writing: Writing, pattern: string, index: number): number {
  const none = writeSplit(writing);
  writeRepeated(writing, { op: "any" });
  writeCharacter(writing, "/");
  none.right = here(writing);
  return 3 * countRepeats(pattern, { part: "**/", from: index });
}

function writeRepeated(writing: Writing, what: Extract<Instruction, { op: "any" | "inName" }>): void {
  const start = writing.program.length;
  const loop = writeSplit(writing);
  writing.program.push(what, { op: "split", left: start, right: start });
  loop.right = here(writing);
}

function writeSplit({ program }: Writing): Split {
  const next = program.length + 1;
  const split: Split = { op: "split", left: next, right: next };
  program.push(split);
  return split;
}

function here(writing: Writing): number {
  writing.target = writing.program.length;
  return writing.target;
}

/** A comma begins the next alternative, a closing brace ends them all; outside braces both are plain characters. */
function writeGroup(writing: Writing, character: "," | "}"): number {
  const group = writing.groups.at(-1);
  if (group === undefined) {
    writeCharacter(writing, character);
  } else if (character === ",") {
    group.ends.push(writeSplit(writing));
    group.branch.right = here(writing);
    group.branch = writeSplit(writing);
  } else {
    writing.groups.pop();
    const end = here(writing);
    for (const jump of group.ends) jump.left = jump.right = end;
  }
  return 1;
}

function writeSet(writing: Writing, pattern: string, index: number): number {
  const negated = pattern.charAt(index + 1) === "!" || pattern.charAt(index + 1) === "^";
  const first = index + (negated ? 2 : 1);
  // A bracket that comes first is a member.
  const close = pattern.indexOf("]", first + 1);
  if (close < 0) {
    writeCharacter(writing, "[");
    return 1;
  }
  const ranges: [number, number][] = [];
  for (let at = first; at < close; at += 1) {
    const from = pattern.charCodeAt(at);
    const isRange = pattern.charAt(at + 1) === "-" && at + 2 < close;
    ranges.push([from, isRange ? pattern.charCodeAt(at + 2) : from]);
    if (isRange) at += 2;
  }
  writing.program.push({ op: "set", negated, ranges });
  return close + 1 - index;
}

const writeCharacter = ({ program }: Writing, character: string): void =>
  void program.push({ op: "character", code: character.charCodeAt(0) });

function countRepeats(text: string, { part, from }: { part: string; from: number }): number {
  let count = 0;
  while (text.startsWith(part, from + count * part.length)) count += 1;
  return count;
}

function runner({ program, target }: Writing): Glob {
  const head = literalsOf(program, { from: 0, step: 1, until: program.length });
  const tail = literalsOf(program, { from: program.length - 2, step: -1, until: target - 1 });
  const threads: Threads = { marks: new Int32Array(program.length), generation: 0, stack: [], meter: { steps: 0 } };
  return {
    matches(path, meter = { steps: 0 }) {
      meter.steps += 1;
      // Most paths differ from most patterns at an end.
      if (!path.startsWith(head) || !path.endsWith(tail)) return false;
      threads.meter = meter;
      return run(program, { path, threads });
    },
  };
}

/** The plain characters at one end, which every match must have. */
function literalsOf(
  program: readonly Instruction[],
  { from, step, until }: { from: number; step: 1 | -1; until: number },
): string {
  let text = "";
  for (let at = from; at !== until; at += step) {
    const instruction = program[at];
    if (instruction?.op !== "character") break;
    const character = String.fromCharCode(instruction.code);
    text = step === 1 ? text + character : character + text;
  }
  return text;
}

interface Threads {
  /** The generation in which each place was last reached: it is entered once per character. */
  readonly marks: Int32Array;
  generation: number;
  readonly stack: number[];
  meter: Meter;
}

function run(program: readonly Instruction[], { path, threads }: { path: string; threads: Threads }): boolean {
  let current: number[] = [];
  threads.generation += 1;
  enter(program, { at: 0, threads, into: current });
  for (let index = 0; index < path.length && current.length > 0; index += 1) {
    const code = path.charCodeAt(index);
    const next: number[] = [];
    threads.generation += 1;
    for (const at of current) {
      threads.meter.steps += 1;
      if (takes(program[at], code)) enter(program, { at: at + 1, threads, into: next });
    }
    current = next;
  }
  return current.some((at) => program[at]?.op === "end");
}

function enter(
  program: readonly Instruction[],
  { at: first, threads, into }: { at: number; threads: Threads; into: number[] },
): void {
  const { marks, generation, stack, meter } = threads;
  stack.push(first);
  for (let at = stack.pop(); at !== undefined; at = stack.pop()) {
    if (marks[at] === generation) continue;
    marks[at] = generation;
    meter.steps += 1;
    const instruction = program[at];
    if (instruction?.op === "split") stack.push(instruction.left, instruction.right);
    else into.push(at);
  }
}

function takes(instruction: Instruction | undefined, code: number): boolean {
  switch (instruction?.op) {
    case "character":
      return instruction.code === code;
    case "any":
      return true;
    case "inName":
      return code !== SLASH;
    case "set":
      return (
        code !== SLASH && instruction.ranges.some(([from, to]) => from <= code && code <= to) !== instruction.negated
      );
    default:
      return false;
  }
}
