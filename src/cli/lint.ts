/** `franca lint`: is this a stream that consumers can rely on? Says what breaks which rule, and where. */
import type { Command } from "commander";
import type { RuleSet, Violation } from "../core/lint.ts";
import { projections } from "../projections/index.ts";
import { universal } from "../rules/index.ts";
import { type NumberedLine, openOutput, readLines } from "./pipe.ts";
import { CommandError, UsageError } from "./usage.ts";

interface Flags {
  readonly dialect: string;
  readonly json?: boolean;
}

const ruleSets: readonly RuleSet[] = [universal, ...projections.flatMap(({ rules }) => rules ?? [])];

export function define(command: Command): void {
  command
    .argument("[file]", "one event a line; - is standard input", "-")
    .option("--dialect <name>", ruleSets.map(({ dialect }) => dialect).join(", "), "universal")
    .option("--json", "one violation a line, as JSON")
    .addHelpText(
      "after",
      `
Exit code 0: no rule is broken. 1: some are. 2: wrong usage, or a file that cannot be read.

Examples:
  $ franca events ID | franca lint
  $ franca convert --from claude --to opencode recording.jsonl | franca lint --dialect opencode`,
    )
    .action(lint);
}

async function lint(file: string, { dialect, json = false }: Flags): Promise<void> {
  const linter = knownRules(dialect).open();
  const output = openOutput();
  let lines = 0;
  let violations = 0;
  const print = async (found: readonly Violation[]): Promise<void> => {
    violations += found.length;
    for (const one of found) await output.write(json ? `${JSON.stringify(one)}\n` : `${sentence(one, file)}\n`);
  };
  for await (const line of linesOf(file)) {
    lines += 1;
    await print(linter.step(parsed(line), line.number));
  }
  if (lines === 0) {
    throw new UsageError(`There is nothing to check: ${file === "-" ? "standard input" : file} holds no events.`);
  }
  await print(linter.end());
  await output.flush();
  if (!json) process.stderr.write(`${count(lines, "event")}, ${count(violations, "violation")}\n`);
  if (violations > 0) process.exitCode = 1;
}

/** Here 1 says that a rule is broken, so a file that cannot be read must not. */
async function* linesOf(file: string): AsyncGenerator<NumberedLine> {
  try {
    yield* readLines(file);
  } catch (error) {
    throw error instanceof CommandError ? new UsageError(error.message, { cause: error }) : error;
  }
}

function knownRules(dialect: string): RuleSet {
  const rules = ruleSets.find((set) => set.dialect === dialect);
  if (rules !== undefined) return rules;
  const known = ruleSets.map((set) => set.dialect).join(", ");
  throw new UsageError(`There are no rules for ${dialect}. --dialect takes ${known}.`);
}

/** A line that is no JSON is no event: its text stands for it. */
function parsed({ text }: NumberedLine): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

const sentence = ({ rule, message, line, docs }: Violation, file: string): string =>
  `${file === "-" ? "stdin" : file}:${line ?? "end"}: ${rule}: ${message} (${docs})`;

const count = (number: number, what: string): string => `${number} ${what}${number === 1 ? "" : "s"}`;
