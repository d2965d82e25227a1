/**
 * A shell command in lines that break where one command ends and the next begins. Nothing is removed: operators and
 * words together are exactly the command, and what copies is the command itself.
 */
export interface CommandLine {
  /** `&&`, `||`, `;`, `|` before the words, or empty. */
  readonly operator: string;
  readonly text: string;
}

/** Only outside quotes, and not in commands with here-documents or line breaks of their own: those stay as they are. */
export function commandLines(command: string): readonly CommandLine[] {
  if (command.includes("\n") || command.includes("<<")) {
    return command.split("\n").map((text) => ({ operator: "", text }));
  }
  const lines: CommandLine[] = [];
  let operator = "";
  let from = 0;
  let quote: string | null = null;
  for (let index = 0; index < command.length; index += 1) {
    const character = command[index] ?? "";
    if (quote !== null) {
      if (character === "\\" && quote === '"') index += 1;
      else if (character === quote) quote = null;
      continue;
    }
    if (character === "\\") index += 1;
    else if (character === "'" || character === '"' || character === "`") quote = character;
    else if (character === "(" || character === "{" || character === "$") {
      // Grouped commands belong together: the rest stays on one line.
      if (character !== "$" || command[index + 1] === "(") break;
    } else {
      const found = operatorAt(command, index);
      if (found === null) continue;
      lines.push({ operator, text: command.slice(from, index).trim() });
      operator = found;
      index += found.length - 1;
      from = index + 1;
    }
  }
  lines.push({ operator, text: command.slice(from).trim() });
  return lines;
}

function operatorAt(command: string, index: number): string | null {
  const two = command.slice(index, index + 2);
  if (two === "&&" || two === "||") return two;
  // `|&`, `;;` and redirections such as `>|` are left alone.
  const one = command[index];
  if (one === ";" && command[index + 1] !== ";" && command[index - 1] !== ";") return ";";
  if (one === "|" && command[index + 1] !== "&" && command[index - 1] !== ">") return "|";
  return null;
}
