/**
 * Takes a shell command apart far enough to compare it with permission rules. It is no shell: whatever it cannot take
 * apart for certain it calls opaque, and an opaque command is never allowed by a pattern for some other command.
 */

export interface CommandLine {
  /** The simple commands, each as its words joined by one space. */
  readonly commands: readonly string[];
  /** The words, unquoted: paths among them may lead outside. */
  readonly words: readonly string[];
  /** Something in it can run or write what the words do not show. */
  readonly opaque: boolean;
}

/** Commands that run what their arguments say. */
const runners: ReadonlySet<string> = new Set([
  "eval",
  "exec",
  "source",
  ".",
  "sh",
  "bash",
  "zsh",
  "dash",
  "ksh",
  "fish",
  "env",
  "xargs",
  "sudo",
  "doas",
  "su",
  "nohup",
  "nice",
  "timeout",
  "time",
  "command",
  "builtin",
  "watch",
  "parallel",
  "ssh",
  "trap",
  "alias",
  "function",
  "export",
  "set",
  "coproc",
]);
const keywords: ReadonlySet<string> = new Set([
  "if",
  "then",
  "else",
  "elif",
  "fi",
  "for",
  "while",
  "until",
  "do",
  "done",
  "case",
  "esac",
  "select",
  "in",
  "[[",
  "{",
  "}",
  "!",
]);

/** Outside quotes these make a simple command into something else. */
const special = new Set("$`<>(){}\\#~*?[]!\r\0");
const specialInDouble = new Set("$`\\!");

interface Scan {
  readonly commands: string[][];
  word: string | null;
  opaque: boolean;
}

export function readCommandLine(text: string): CommandLine {
  const scan: Scan = { commands: [[]], word: null, opaque: false };
  let index = 0;
  while (index < text.length) index = readNext(scan, text, index);
  endWord(scan);
  const commands = scan.commands.filter((words) => words.length > 0);
  const opaque = scan.opaque || commands.length === 0 || commands.some(hidesACommand);
  return { commands: commands.map((words) => words.join(" ")), words: commands.flat(), opaque };
}

function readNext(scan: Scan, text: string, index: number): number {
  const character = text.charAt(index);
  if (character === "'") return readSingle(scan, text, index + 1);
  if (character === '"') return readDouble(scan, text, index + 1);
  if (character === " " || character === "\t") {
    endWord(scan);
    return index + 1;
  }
  if (character === ";" || character === "|" || character === "&" || character === "\n") {
    endWord(scan);
    scan.commands.push([]);
    return index + 1;
  }
  // Globs are harmless where they stand for names, but what they stand for is not seen here.
  if (special.has(character)) scan.opaque = true;
  scan.word = (scan.word ?? "") + character;
  return index + 1;
}

function readSingle(scan: Scan, text: string, start: number): number {
  const end = text.indexOf("'", start);
  if (end < 0) scan.opaque = true;
  scan.word = (scan.word ?? "") + text.slice(start, end < 0 ? text.length : end);
  return end < 0 ? text.length : end + 1;
}

function readDouble(scan: Scan, text: string, start: number): number {
  let index = start;
  while (index < text.length && text.charAt(index) !== '"') {
    if (specialInDouble.has(text.charAt(index))) scan.opaque = true;
    index += 1;
  }
  if (index >= text.length) scan.opaque = true;
  scan.word = (scan.word ?? "") + text.slice(start, index);
  return index + 1;
}

function endWord(scan: Scan): void {
  if (scan.word !== null) scan.commands.at(-1)?.push(scan.word);
  scan.word = null;
}

function hidesACommand([first = ""]: readonly string[]): boolean {
  const name = first.slice(first.lastIndexOf("/") + 1);
  return first.includes("=") || first.includes(" ") || runners.has(name) || keywords.has(first);
}
