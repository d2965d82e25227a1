/** `franca usage`: what the stored sessions used, by day, agent, model or folder. */
import { type Command, InvalidArgumentError, Option } from "commander";
import { usageCsv } from "../core/usage-csv.ts";
import { count, duration } from "../projections/text/index.ts";
import { UsageBy, type UsageRow } from "../protocol/resources.ts";
import { addDoorOptions, openDoor } from "./door.ts";
import { printJson, table } from "./table.ts";

interface Flags {
  readonly by: UsageBy;
  readonly days: number;
  readonly format: "text" | "csv" | "json";
}

const MOST_DAYS = 366;

export function define(command: Command): void {
  addDoorOptions(
    command
      .addOption(new Option("--by <what>", "one row for each").choices(UsageBy.options).default("day"))
      .option("--days <count>", "how many days back, today included", days, 30)
      .addOption(new Option("--format <format>", "what is printed").choices(["text", "csv", "json"]).default("text")),
  )
    .addHelpText(
      "after",
      "\nCost is what the agents report; ~ marks what the price table adds (franca prices).\n\nExamples:\n  $ franca usage\n  $ franca usage --by model --days 7\n  $ franca usage --by folder --format csv > usage.csv",
    )
    .action((flags: Flags) => usage(flags));
}

function days(text: string): number {
  const value = Number(text);
  if (/^\d{1,3}$/.test(text) && value >= 1 && value <= MOST_DAYS) return value;
  throw new InvalidArgumentError(`It must be a whole number from 1 to ${MOST_DAYS}.`);
}

async function usage(flags: Flags): Promise<void> {
  const { by, days: back, format } = flags;
  const door = await openDoor({ flags: { ...flags }, env: process.env });
  try {
    const rows = await door.usage({ by, days: back, offsetMinutes: -new Date().getTimezoneOffset() });
    if (format === "json") return printJson({ rows });
    if (format === "csv") return void process.stdout.write(usageCsv(rows));
    if (rows.length === 0) return void process.stdout.write("Nothing was used.\n");
    const head = [by.toUpperCase(), "TURNS", "STEPS", "TOOLS", "TIME", "INPUT", "OUTPUT", "CACHED", "COST"];
    process.stdout.write(table([head, ...rows.map(cells)]));
  } finally {
    await door.close();
  }
}

function cells({ key, turns, steps, toolCalls, timeMs, ...row }: UsageRow): string[] {
  const { input, output, reasoning, cache_read, cache_write } = row.usage.tokens;
  const tokens = [input, output + reasoning, cache_read + cache_write].map(count);
  return [key, String(turns), String(steps), String(toolCalls), duration(timeMs), ...tokens, costWords(row)];
}

function costWords({
  usage: { cost_usd },
  estimatedUsd,
  unknownPrices,
}: Pick<UsageRow, "usage" | "estimatedUsd" | "unknownPrices">): string {
  const missing = unknownPrices.length === 0 ? "" : `unknown: ${unknownPrices.join(", ")}`;
  if (cost_usd === null && estimatedUsd === null) return missing;
  const total = ((cost_usd ?? 0) + (estimatedUsd ?? 0)).toFixed(4);
  return `${estimatedUsd === null ? "" : "~"}$${total}${missing === "" ? "" : ` + ${missing}`}`;
}
