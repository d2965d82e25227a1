/**
 * Reads the syntax of a bash command line: simple commands, redirections, and the operators and parentheses between
 * them. It reads loosely where the exact grammar does not matter: control flow, functions and conditions are only split
 * into their commands and marked as unclear, so that rules can deny what is inside and never allow it. Pure.
 */
import {
  beginsParentheses,
  commandStart,
  failUnclosed,
  type Heredoc,
  hasEnded,
  isBlank,
  markUnclear,
  nested,
  peek,
  type Reader,
  type SyntaxCommand,
  type Word,
} from "./shell-reader.ts";
import { readExpansions, readWord, skipArithmetic } from "./shell-words.ts";

/** Reads the whole text. Throws `TooComplex` when it needs too many steps. */
export function readShellSyntax(reader: Reader): void {
  readList(reader, null);
  if (reader.heredocs.length > 0) failUnclosed(reader, "here document");
}

/** Reads commands until the closing character, or until the end of the text. */
export function readList(reader: Reader, closer: ")" | "}" | null): void {
  while (true) {
    skipToCommand(reader);
    if (hasEnded(reader)) {
      if (closer !== null) failUnclosed(reader, "parenthesis or brace");
      return;
    }
    const character = peek(reader);
    if (character === closer && reader.openCases === 0) {
      reader.at += 1;
      return;
    }
    if (character === ")") {
      markUnclear(reader, "it has a closing parenthesis without an opening one");
      reader.at += 1;
    } else if (beginsParentheses(reader)) readParentheses(reader);
    else if (!readOperator(reader)) readSimpleCommand(reader);
  }
}

function readParentheses(reader: Reader): void {
  if (peek(reader, 1) === "(" && skipArithmetic(reader, 2)) {
    markUnclear(reader, "it has an arithmetic command");
    return;
  }
  reader.at += 1;
  nested(reader, () => readList(reader, ")"));
}

const operators = ["&&", "||", ";;&", ";;", ";&", "|&", ";", "|", "&"] as const;

function readOperator(reader: Reader): boolean {
  if (peek(reader) === "&" && peek(reader, 1) === ">") return false;
  const operator = operators.find((one) => reader.text.startsWith(one, reader.at));
  if (operator === undefined) return false;
  reader.at += operator.length;
  reader.parts.push({ type: "operator", operator });
  return true;
}

/** Skips blanks, comments and newlines. A newline ends a list and starts the bodies of here documents. */
function skipToCommand(reader: Reader): void {
  while (!hasEnded(reader)) {
    skipBlanks(reader);
    const character = peek(reader);
    if (character === "#") skipComment(reader);
    else if (character === "\n") readNewline(reader);
    else return;
  }
}

function skipBlanks(reader: Reader): void {
  while (isBlank(peek(reader)) || (peek(reader) === "\\" && peek(reader, 1) === "\n")) {
    reader.at += peek(reader) === "\\" ? 2 : 1;
    reader.budget.steps += 1;
  }
}

function skipComment(reader: Reader): void {
  const end = reader.text.indexOf("\n", reader.at);
  reader.at = end < 0 ? reader.text.length : end;
}

function readNewline(reader: Reader): void {
  reader.at += 1;
  reader.parts.push({ type: "operator", operator: "\n" });
  for (const heredoc of reader.heredocs.splice(0)) readHeredoc(reader, heredoc);
}

function readHeredoc(reader: Reader, { delimiter, quoted, stripsTabs, inputs }: Heredoc): void {
  const start = reader.at;
  while (!hasEnded(reader)) {
    const lineStart = reader.at;
    const newline = reader.text.indexOf("\n", lineStart);
    const end = newline < 0 ? reader.text.length : newline;
    const line = reader.text.slice(lineStart, end);
    reader.at = newline < 0 ? end : newline + 1;
    reader.budget.steps += 1;
    if ((stripsTabs ? line.replace(/^\t+/, "") : line) !== delimiter) continue;
    const body = reader.text.slice(start, lineStart);
    inputs.push(body);
    if (!quoted && body.includes("\\")) markUnclear(reader, "its here document has a backslash");
    if (!quoted) readExpansions(reader, body);
    return;
  }
  failUnclosed(reader, "here document");
}

/** Words that start or continue a compound command. The word after them starts a command again. */
const controlWords: ReadonlySet<string> = new Set(
  "if then else elif fi while until do done for select case esac function coproc foreach end".split(" "),
);

function readSimpleCommand(reader: Reader): void {
  const command = commandStart();
  while (true) {
    skipBlanks(reader);
    if (endsCommand(reader)) break;
    if (readRedirection(reader, command)) continue;
    const word = readWord(reader);
    if (word === null) {
      // Cannot be part of a word here, so it is skipped: otherwise the reader would not advance.
      markUnclear(reader, "it has an operator in an unexpected place");
      reader.at += 1;
    } else if (!word.quoted && word.text === "{" && command.words.length > 0) {
      markUnclear(reader, "it has a brace in an unexpected place");
      break;
    } else if (command.words.length > 0 || !takePrefix(reader, { word, assignments: command.assignments })) {
      command.words.push(word);
    }
  }
  if (command.words.length + command.assignments.length + command.redirections.length > 0) reader.parts.push(command);
}

/** Takes a word that stands before the program: a keyword or an assignment. */
function takePrefix(reader: Reader, { word, assignments }: { word: Word; assignments: Word[] }): boolean {
  if (/^[A-Za-z_]\w*(\[.*\])?\+?=/s.test(word.text)) {
    assignments.push(word);
    return true;
  }
  if (word.quoted || !word.literal) return false;
  if (word.text === "!") reader.parts.push({ type: "operator", operator: "!" });
  else if (controlWords.has(word.text)) {
    markUnclear(reader, `it uses the shell keyword ${word.text}`);
    if (word.text === "case") reader.openCases += 1;
    if (word.text === "esac" && reader.openCases > 0) reader.openCases -= 1;
    if (word.text === "function") {
      skipBlanks(reader);
      readWord(reader);
    }
  } else return word.text === "{" || word.text === "}";
  return true;
}

function endsCommand(reader: Reader): boolean {
  const character = peek(reader);
  if (character === "" || character === "\n" || character === ";" || character === "|" || character === ")")
    return true;
  if (character === "#") {
    skipComment(reader);
    return true;
  }
  if (character === "(") {
    markUnclear(reader, "it has a parenthesis in an unexpected place");
    return true;
  }
  return character === "&" && peek(reader, 1) !== ">";
}

const redirection = /(\d+|\{\w+\})?(&>>|&>|<<<|<<-|<<|<>|<&|>>|>&|>\||>|<)/y;

function readRedirection(reader: Reader, { redirections, inputs }: SyntaxCommand): boolean {
  redirection.lastIndex = reader.at;
  const [whole, descriptor = "", operator = ""] = redirection.exec(reader.text) ?? [];
  if (whole === undefined) return false;
  const after = reader.text.charAt(reader.at + whole.length);
  // A process substitution is a word.
  if (descriptor === "" && (operator === "<" || operator === ">") && after === "(") return false;
  reader.at += whole.length;
  if (descriptor.startsWith("{")) markUnclear(reader, "it sets a variable to a file descriptor");
  skipBlanks(reader);
  const target = readWord(reader);
  if (target === null || after === "!") markUnclear(reader, "it has a redirection without a clear target");
  if (target === null) return true;
  if (operator === "<<" || operator === "<<-") {
    if (!target.literal) markUnclear(reader, "the end of its here document is not clear");
    reader.heredocs.push({ delimiter: target.text, quoted: target.quoted, stripsTabs: operator === "<<-", inputs });
  } else if (operator === "<<<") inputs.push(target.text);
  if (!operator.startsWith("<<") || !target.literal) redirections.push({ operator, target });
  return true;
}
