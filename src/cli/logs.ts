/** `franca logs`: what the daemon in the background has logged. */
import { closeSync, existsSync, openSync, readSync, statSync, watch } from "node:fs";
import { join } from "node:path";
import { type Command, InvalidArgumentError } from "commander";
import { visible } from "../core/visible.ts";
import { loadSettings } from "./config.ts";
import { onSignals } from "./signals.ts";
import { CommandError } from "./usage.ts";

const LINES = 100;
/** So much of the end of the file is read. */
const MAX_BYTES = 4 * 1024 * 1024;

interface Flags {
  readonly lines: number;
  readonly follow?: true;
  readonly json?: true;
  readonly data?: string;
  readonly config?: string;
}

export function define(command: Command): void {
  command
    .option("-n, --lines <count>", "how many lines of the end", parseLines, LINES)
    .option("-f, --follow", "stay and print new lines")
    .option("--json", "as they are stored: one JSON object per line")
    .option("--data <folder>", "the data folder (FRANCA_DATA)")
    .option("--config <file>", "the config file (FRANCA_CONFIG)")
    .addHelpText("after", "\nExamples:\n  $ franca logs -n 20\n  $ franca logs -f")
    .action(logs);
}

function parseLines(text: string): number {
  if (/^\d{1,7}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("It must be a whole number.");
}

async function logs(flags: Flags): Promise<void> {
  const { data } = await loadSettings({ flags: { ...flags }, env: process.env });
  const file = join(data, "daemon.log");
  if (!existsSync(file)) {
    throw new CommandError(
      `There is no ${file}. franca daemon start writes it; a daemon in the foreground (franca serve) logs to its terminal.`,
    );
  }
  const shown = (line: string): string => `${flags.json === true ? visible(line) : readable(line)}\n`;
  let place = statSync(file).size;
  const tail = readPart(file, { from: Math.max(0, place - MAX_BYTES), to: place })
    .split("\n")
    .filter((line) => line !== "");
  process.stdout.write(
    tail
      .slice(tail.length - Math.min(flags.lines, tail.length))
      .map(shown)
      .join(""),
  );
  if (flags.follow !== true) return;
  let rest = "";
  const watcher = watch(file, () => {
    const size = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
    if (size < place) place = 0;
    const lines = `${rest}${readPart(file, { from: place, to: size })}`.split("\n");
    place = size;
    rest = lines.pop() ?? "";
    process.stdout.write(lines.map(shown).join(""));
  });
  // After the file is moved away, the next change finds the new one.
  watcher.on("error", () => {});
  await new Promise<void>((resolve) => onSignals({ interrupt: resolve, terminate: resolve }));
  watcher.close();
}

function readPart(file: string, { from, to }: { from: number; to: number }): string {
  const bytes = Buffer.alloc(Math.max(0, to - from));
  const descriptor = openSync(file, "r");
  try {
    const read = readSync(descriptor, bytes, 0, bytes.length, from);
    return bytes.subarray(0, read).toString("utf8");
  } finally {
    closeSync(descriptor);
  }
}

const LEVELS: Readonly<Record<number, string>> = { 20: "debug", 30: "info", 40: "warn", 50: "error" };

/** `12:00:01 info process.exited pid=7 code=0`; what is no JSON is shown as it is. */
function readable(line: string): string {
  try {
    const { level, time, msg, ...fields }: Record<string, unknown> = JSON.parse(line);
    const at = typeof time === "number" ? new Date(time).toISOString().replace("T", " ").slice(0, 19) : "";
    const more = Object.entries(fields).map(
      ([name, value]) => `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`,
    );
    return visible([at, (LEVELS[Number(level)] ?? String(level)).padEnd(5), String(msg), ...more].join(" "));
  } catch {
    return visible(line);
  }
}
