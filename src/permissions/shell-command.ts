/**
 * Parses a bash command line into the simple commands it runs and the paths it names. Everything that is not certain is
 * reported as a reason why the line is not fully understood. Pure.
 */
import { pathsIn } from "./command-paths.ts";
import type { InspectedCommand, PathAccess } from "./inspection.ts";
import { accessOf, type Findings, inspectProgram, isHarmlessAssignment, isShell } from "./shell-programs.ts";
import {
  type Budget,
  deeper,
  type Reader,
  type SyntaxCommand,
  type SyntaxPart,
  TooComplex,
  type Word,
} from "./shell-reader.ts";
import { readList, readShellSyntax } from "./shell-syntax.ts";
import { readExpansions } from "./shell-words.ts";

/** A word or redirection target that may name a file. */
export interface CandidatePath {
  readonly written: string;
  readonly access: PathAccess;
  /** Whether the word is a path by its form. Otherwise it counts only if such a file exists. */
  readonly certain: boolean;
  /** Arguments of the `cd` commands in force, in order. Relative paths are resolved from there. */
  readonly folders: readonly string[];
}

export interface ShellCommand {
  readonly commands: readonly InspectedCommand[];
  readonly paths: readonly CandidatePath[];
  /** Why the command line was not fully understood, or null. */
  readonly opaque: string | null;
}

/** Maximum numbers of commands and paths that are listed. A command line with more is not understood. */
const MAX_COMMANDS = 1_000;
const MAX_PATHS = 2_000;

/** Maximum number of steps: some per character, and some for short lines with many arguments. */
const STEPS_PER_CHARACTER = 60;
const MIN_STEPS = 10_000;

/** Control, invisible and direction-changing characters: the line is not what it looks like. */
const deceptive = /[^\P{C}\n\t]|[\p{Zl}\p{Zp}]|(?! )\p{Zs}|\p{Default_Ignorable_Code_Point}/u;

/** Parses a command line. Never throws. `meter` counts the steps. */
export function parseShellCommand(text: string, meter = { steps: 0 }): ShellCommand {
  const parsed = parseOnce(text, meter);
  if (!text.includes("\\\n")) return parsed;
  // A line continuation is not one inside single quotes, comments and here documents: both readings have to agree.
  const other = parseOnce(text.replaceAll("\\\n", ""), meter);
  const isSame = JSON.stringify(parsed.commands) === JSON.stringify(other.commands);
  return {
    commands: isSame ? parsed.commands : [...parsed.commands, ...other.commands],
    paths: [...parsed.paths, ...other.paths],
    opaque: parsed.opaque ?? other.opaque ?? (isSame ? null : "a line continuation is not clear"),
  };
}

interface Analysis {
  readonly budget: Budget;
  readonly commands: InspectedCommand[];
  readonly paths: CandidatePath[];
  /** Keys of the listed paths. */
  readonly seen: Set<string>;
  folders: Folders;
}

function parseOnce(text: string, meter: { steps: number }): ShellCommand {
  const maxSteps = MIN_STEPS + STEPS_PER_CHARACTER * text.length;
  const budget: Budget = { steps: 0, maxSteps, depth: 0, unclear: null };
  const analysis: Analysis = { budget, commands: [], paths: [], seen: new Set(), folders: startFolders([[]]) };
  if (deceptive.test(text)) budget.unclear = "it has control or invisible characters";
  try {
    analyzeScript(analysis, text);
  } catch (error) {
    if (!(error instanceof TooComplex)) throw error;
    budget.unclear ??= error.message;
  }
  meter.steps += budget.steps;
  return { commands: analysis.commands, paths: analysis.paths, opaque: budget.unclear };
}

function analyzeScript(analysis: Analysis, text: string): void {
  const parts: SyntaxPart[] = [];
  deeper(analysis.budget, () => {
    try {
      readShellSyntax(readerOf(analysis, { text, parts }));
    } finally {
      // Also after an error: the commands that were read can still be denied.
      analyzeParts(analysis, parts);
    }
  });
}

const readerOf = ({ budget }: Analysis, { text, parts }: { text: string; parts: SyntaxPart[] }): Reader => ({
  text,
  at: 0,
  parts,
  heredocs: [],
  openCases: 0,
  budget,
  readList,
});

function analyzeParts(analysis: Analysis, parts: readonly SyntaxPart[]): void {
  const outer: Folders[] = [];
  const commands = parts.flatMap((part) => (part.type === "command" ? [part] : []));
  if (commands.some(({ words }) => isShell(nameOf(words)))) analyzeInputs(analysis, commands);
  for (const part of parts) {
    switch (part.type) {
      case "command":
        analyzeCommand(analysis, part);
        break;
      case "operator":
        passOperator(analysis.folders, part.operator);
        break;
      case "open":
        outer.push(analysis.folders);
        analysis.folders = startFolders(analysis.folders.current);
        break;
      case "close":
        analysis.folders = outer.pop() ?? analysis.folders;
        break;
      default:
        unreachable(part);
    }
  }
}

/** Reads what a shell may receive as its input: then rules can deny the commands in it. */
function analyzeInputs(analysis: Analysis, commands: readonly SyntaxCommand[]): void {
  const { runScript } = findingsOf(analysis);
  for (const { words, inputs } of commands) {
    inputs.forEach(runScript);
    const [, ...texts] = words.map(({ text }) => text);
    if (/^(echo|printf)$/.test(nameOf(words))) runScript(texts.join(" "));
  }
}

/** The name of the program without its folder, in lower case: some file systems ignore case. */
const nameOf = ([program]: readonly Word[]): string =>
  program === undefined ? "" : program.text.slice(program.text.lastIndexOf("/") + 1).toLowerCase();

const unreachable = (part: never): never => {
  throw new Error(`There is no part ${JSON.stringify(part)}.`);
};

function analyzeCommand(analysis: Analysis, { words, assignments, redirections }: SyntaxCommand): void {
  if (!assignments.every(isHarmlessAssignment)) markUnclear(analysis, "it sets a variable");
  for (const { operator, target } of redirections) analyzeRedirection(analysis, { operator, target });
  analyzeWords(analysis, words);
}

function analyzeRedirection(analysis: Analysis, { operator, target }: { operator: string; target: Word }): void {
  const { text, literal } = target;
  if (!literal) markUnclear(analysis, "the target of a redirection is not clear");
  if (operator === "<<<" || (/^[<>]&$/.test(operator) && /^(\d+-?|-)$/.test(text))) return;
  if (text.startsWith("/dev/tcp/") || text.startsWith("/dev/udp/")) markUnclear(analysis, "it opens a connection");
  addPath(analysis, {
    written: text,
    access: operator === "<" ? "read" : "write",
    certain: true,
    quoted: target.quoted,
  });
}

function analyzeWords(analysis: Analysis, words: readonly Word[]): void {
  const [program, ...args] = words;
  if (program === undefined) return;
  if (analysis.commands.length >= MAX_COMMANDS) throw new TooComplex("it has too many commands");
  if (!words.every(({ literal }) => literal)) markUnclear(analysis, "a word is not clear");
  if (program.text === "" || /[\s*?]/.test(program.text)) markUnclear(analysis, "the name of the program is unusual");
  const name = nameOf(words);
  const place = analysis.commands.length;
  const text = words.map((word) => word.text).join(" ");
  const own = name === program.text ? [] : [[name, ...args.map((word) => word.text)].join(" ")];
  analysis.budget.steps += text.length;
  addArguments(analysis, { name, args });
  const facts = inspectProgram(name, args, findingsOf(analysis));
  if (facts.runsText) addTextPaths(analysis, args);
  analysis.commands.splice(place, 0, { text, spellings: [...own, ...facts.spellings], runsText: facts.runsText });
  if (name === "cd" || name === "chdir") changeFolder(analysis, args);
}

const markUnclear = ({ budget }: Analysis, reason: string): void => {
  budget.unclear ??= reason;
};

const findingsOf = (analysis: Analysis): Findings => ({
  markUnclear: (reason) => markUnclear(analysis, reason),
  runWords: (words) => inUnknownShell(analysis, () => deeper(analysis.budget, () => analyzeWords(analysis, words))),
  runScript: (script) => inUnknownShell(analysis, () => analyzeScript(analysis, script)),
  expandText: (text) => {
    const parts: SyntaxPart[] = [];
    readExpansions(readerOf(analysis, { text, parts }), text);
    analyzeParts(analysis, parts);
  },
});

/** Runs `work` for commands that may run in this shell or in another: a `cd` in them may be in force afterwards. */
function inUnknownShell({ folders }: Analysis, work: () => void): void {
  const before = folders.current;
  work();
  folders.current = [...new Set([...before, ...folders.current])];
}

/** Options of programs that work in another folder: the other arguments may be relative to it. */
const folderOption = /^(-C|--directory|--cwd|--prefix|--dir|--chdir|--work-tree)(?:=(.*))?$/s;

function addArguments(analysis: Analysis, { name, args }: { name: string; args: readonly Word[] }): void {
  const folders = args.flatMap(({ text }, index) => {
    const [whole, , value = args[index + 1]?.text] = folderOption.exec(text) ?? [];
    return whole === undefined || value === undefined ? [] : [value];
  });
  args.forEach(({ text, quoted }, index) => {
    const access = accessOf(name, { index, count: args.length });
    for (const written of new Set(pathsIn(text))) {
      const certain = /\/|^[.~]/.test(written) || (access === "write" && !written.startsWith("-"));
      if (written !== "") addPath(analysis, { written, access, certain, quoted, inFolders: folders });
    }
  });
}

/** Adds the paths outside that a program text names: `w /file` of sed, `print > "/file"` of awk. */
function addTextPaths(analysis: Analysis, args: readonly Word[]): void {
  for (const { text } of args) {
    for (const written of text.match(/(?<![\w.*)\]])(?:\/|~\/|\.\.)[\w./~-]+/g) ?? []) {
      addPath(analysis, { written, access: "unknown", certain: true, quoted: false });
    }
  }
}

interface NewPath {
  readonly written: string;
  readonly access: PathAccess;
  readonly certain: boolean;
  readonly quoted: boolean;
  readonly inFolders?: readonly string[];
}

function addPath(analysis: Analysis, { written, access, certain, quoted, inFolders = [] }: NewPath): void {
  const { paths, seen, folders } = analysis;
  const bases = folders.current.flatMap((base) => [base, ...inFolders.map((folder) => [...base, folder])]);
  // A quoted tilde is an ordinary character, but a program may expand it by itself.
  const spelled = quoted && written.startsWith("~") ? [written, `./${written}`] : [written];
  for (const one of spelled) {
    for (const base of bases) {
      const key = [access, certain, one, ...base].join("\0");
      if (!seen.has(key)) paths.push({ written: one, access, certain, folders: base });
      seen.add(key);
    }
  }
  if (paths.length > MAX_PATHS) throw new TooComplex("it names too many paths");
}

/** The folders in which the next command may run, each as the arguments of `cd` that lead there. */
interface Folders {
  current: readonly (readonly string[])[];
  /** All folders that were possible since the list of commands began: any command of it may have failed. */
  possible: readonly (readonly string[])[];
  /** Whether the next command runs only under a condition other than the success of the ones before. */
  uncertain: boolean;
}

const startFolders = (current: Folders["current"]): Folders => ({ current, possible: current, uncertain: false });

/** Maximum number of folders, and of `cd` commands that lead to one. */
const MAX_FOLDERS = 8;

function changeFolder(analysis: Analysis, args: readonly Word[]): void {
  const { folders } = analysis;
  const operands = args.filter(({ text }) => !/^(-[PLe@]|--)$/.test(text));
  const [target = "~"] = operands.map(({ text }) => text);
  addPath(analysis, { written: target, access: "read", certain: true, quoted: false });
  if (operands.length > 1 || target.startsWith("-")) markUnclear(analysis, "it changes to an unknown folder");
  const after = folders.current.map((base) => [...base, target]);
  folders.possible = [...folders.possible, ...after];
  folders.current = folders.uncertain ? [...folders.current, ...after] : after;
  if (folders.possible.length > MAX_FOLDERS || after.some(({ length }) => length > MAX_FOLDERS)) {
    throw new TooComplex("it changes its folder too often");
  }
}

function passOperator(folders: Folders, operator: string): void {
  if (operator === "&&") return;
  if (operator === "!") {
    folders.uncertain = true;
    return;
  }
  folders.current = folders.possible;
  folders.uncertain = operator.startsWith("|");
}
