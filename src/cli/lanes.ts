/** `franca lanes`: what the agent said, what it meant, and how each dialect renders it, side by side. */
import { writeFileSync } from "node:fs";
import { basename } from "node:path";
import { type Command, InvalidArgumentError } from "commander";
import { adapterFor, adapters } from "../adapters/index.ts";
import type { Adapter } from "../core/adapter.ts";
import { openConverter } from "../core/convert.ts";
import { type LaneInput, type LaneRow, openLanes } from "../core/lanes.ts";
import { type Recorded, readRecorded } from "../dialects/recording.ts";
import { projections } from "../projections/index.ts";
import { pageWith } from "./lanes-html.ts";
import { drawText } from "./lanes-text.ts";
import { readLines } from "./pipe.ts";
import { CommandError, UsageError } from "./usage.ts";

/** A table is for reading: a recording of any length is read, but no more rows than this are drawn. */
const MAX_ROWS = 20_000;
const WIDTH = 160;
const MIN_WIDTH = 60;

/** The columns after the universal one. */
export const dialects = projections.flatMap(({ lane }) => (lane === null ? [] : [lane]));

interface Flags {
  readonly from: string;
  readonly html?: string;
  readonly width?: number;
  readonly color: boolean;
}

export function define(command: Command): void {
  command
    .argument("[file]", "the recording; - is standard input", "-")
    .option("--from <agent>", `${adapters.map(({ agent }) => agent).join(", ")}, or auto`, "auto")
    .option("--html <file>", "write a page instead, with everything in it")
    .option("--width <columns>", "how wide the table is; the terminal decides when absent", width)
    .option("--no-color", "no colours")
    .addHelpText(
      "after",
      `
The bar on the left is a turn: where it is drawn, the session is busy.

Examples:
  $ franca lanes transcripts/claude/multi-turn/native.jsonl
  $ franca lanes --html turn.html recording.jsonl`,
    )
    .action(lanes);
}

async function lanes(file: string, flags: Flags): Promise<void> {
  if (flags.html !== undefined) return writePage(file, { from: flags.from, html: flags.html });
  const rows = await readRows(file, flags.from);
  if (rows.length === 0) throw nothingIn(file);
  const { stdout } = process;
  const color = flags.color && stdout.isTTY && process.env.NO_COLOR === undefined;
  stdout.write(drawText({ lanes: dialects, rows, width: flags.width ?? stdout.columns ?? WIDTH, color }));
}

const nothingIn = (file: string): CommandError =>
  new CommandError(`There is nothing in ${file === "-" ? "standard input" : file}.`);

/** All of the recording: the page draws only what is in sight. */
async function writePage(file: string, { from, html }: { from: string; html: string }): Promise<void> {
  const lines: string[] = [];
  for await (const { text } of readLines(file)) lines.push(text);
  if (lines.every((line) => line.trim() === "")) throw nothingIn(file);
  const recording = lines.flatMap((line) => readRecorded(line) ?? []);
  if ((from === "auto" ? recognised(recording) : adapterFor(from)) === null) throw unknownAgent();
  const name = file === "-" ? "recording" : basename(file);
  writeFileSync(html, pageWith({ name, text: lines.join("\n"), from }));
  process.stderr.write(`franca: ${lines.length} lines in ${html}\n`);
}

const unknownAgent = (): UsageError => {
  const known = adapters.map(({ agent }) => agent).join("|");
  return new UsageError(`It is not clear which agent this is. Say it: --from ${known}.`);
};

async function readRows(file: string, from: string): Promise<LaneRow[]> {
  const recording: Recorded[] = [];
  for await (const { text, number } of readLines(file)) {
    const recorded = readRecorded(text);
    if (recorded !== null) recording.push(recorded);
    if (number > MAX_ROWS) break;
  }
  const adapter = from === "auto" ? recognised(recording) : adapterFor(from);
  if (adapter === null) throw unknownAgent();
  return rowsOf(adapter, recording);
}

function recognised(recording: readonly Recorded[]): Adapter | null {
  for (const recorded of recording) {
    const found = recorded.type === "line" ? adapters.find((one) => one.recognises(recorded.line)) : undefined;
    if (found !== undefined) return found;
  }
  return null;
}

/** The rows of a recording; also what the documentation is made of. */
export function rowsOf(adapter: Adapter, recording: readonly Recorded[]): LaneRow[] {
  const converter = openConverter({ adapter });
  const table = openLanes(dialects);
  const rows: LaneRow[] = [];
  for (const [index, recorded] of recording.entries()) {
    rows.push(...table.step({ ...spoken(recorded), line: index + 1, events: converter.step(recorded) }));
    if (rows.length > MAX_ROWS) break;
  }
  rows.push(...table.step({ line: null, native: undefined, from: "process", events: converter.end() }));
  return [...rows, ...table.end()];
}

function spoken(recorded: Recorded): Pick<LaneInput, "native" | "from"> {
  switch (recorded.type) {
    case "line":
      return { native: recorded.line, from: recorded.from };
    case "unreadable":
      return { native: recorded.text, from: "agent" };
    case "exit":
      return { native: { type: "exit", ...recorded.exit }, from: "process" };
    case "inspected":
      return { native: { type: "inspected", key: recorded.key }, from: "process" };
  }
}

function width(text: string): number {
  const columns = Number(text);
  if (Number.isInteger(columns) && columns >= MIN_WIDTH) return columns;
  throw new InvalidArgumentError(`It is a number of columns, ${MIN_WIDTH} or more.`);
}
