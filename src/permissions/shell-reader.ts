/** State of the shell parser: position, limits, the parts found so far and why something is unclear. Pure. */

/** One word of a command line. */
export interface Word {
  /** The word without quotes. Expansions are kept as written. */
  readonly text: string;
  /** Whether the text is exactly what the program receives: the word has no expansions. */
  readonly literal: boolean;
  /** Whether a part of the word is quoted. */
  readonly quoted: boolean;
}

export interface SyntaxCommand {
  readonly type: "command";
  readonly words: Word[];
  readonly assignments: Word[];
  readonly redirections: { readonly operator: string; readonly target: Word }[];
  /** Bodies of its here documents and strings. */
  readonly inputs: string[];
}

/** The parts of a command line in the order in which they end. A substitution comes before its command. */
export type SyntaxPart =
  | SyntaxCommand
  | { readonly type: "operator"; readonly operator: string }
  /** Start and end of a subshell. */
  | { readonly type: "open" | "close" };

export interface Heredoc {
  readonly delimiter: string;
  /** Whether the delimiter is quoted: then the body has no expansions. */
  readonly quoted: boolean;
  readonly stripsTabs: boolean;
  /** Receives the body. */
  readonly inputs: string[];
}

/** Limits and findings that are shared by all readers of one command line. */
export interface Budget {
  steps: number;
  readonly maxSteps: number;
  depth: number;
  /** The first reason why the command line is not fully understood, or null. */
  unclear: string | null;
}

export interface Reader {
  readonly text: string;
  at: number;
  readonly parts: SyntaxPart[];
  readonly heredocs: Heredoc[];
  /** Number of `case` commands that are open: the parentheses of their patterns have no counterpart. */
  openCases: number;
  readonly budget: Budget;
  /** Reads the commands of a substitution. Set by the syntax module, which depends on the word module. */
  readonly readList: (reader: Reader, closer: ")" | "}" | null) => void;
}

/** Thrown when a command line needs too many steps or is nested too deeply. */
export class TooComplex extends Error {
  override readonly name = "TooComplex";
}

/** Maximum depth of nested substitutions, subshells and scripts in arguments. */
const MAX_DEPTH = 30;

/** Runs `work` one level deeper, as a subshell. */
export function nested(reader: Reader, work: () => void): void {
  const { openCases } = reader;
  reader.parts.push({ type: "open" });
  reader.openCases = 0;
  deeper(reader.budget, work);
  reader.openCases = openCases;
  reader.parts.push({ type: "close" });
}

export function deeper(budget: Budget, work: () => void): void {
  budget.depth += 1;
  if (budget.depth > MAX_DEPTH) throw new TooComplex("it is nested too deeply");
  work();
  budget.depth -= 1;
}

export function markUnclear({ budget }: Reader, reason: string): void {
  budget.unclear ??= reason;
}

/** Marks an unclosed construct and ends the reading: where it would end is not known. */
export function failUnclosed(reader: Reader, what: string): void {
  markUnclear(reader, `a ${what} is not closed`);
  reader.at = reader.text.length;
}

/** The character at the position plus `offset`, or "" at the end. Counts a step. */
export function peek({ text, at, budget }: Reader, offset = 0): string {
  budget.steps += 1;
  if (budget.steps > budget.maxSteps) throw new TooComplex("it is too long or too complex");
  return text.charAt(at + offset);
}

export const hasEnded = ({ text, at }: Reader): boolean => at >= text.length;

export const isBlank = (character: string): boolean => character === " " || character === "\t";

export const beginsParentheses = (reader: Reader): boolean => peek(reader) === "(";

export const commandStart = (): SyntaxCommand => ({
  type: "command",
  words: [],
  assignments: [],
  redirections: [],
  inputs: [],
});
