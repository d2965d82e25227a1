/** `franca prices`: what models cost, by the dated table and by what a person has set. */
import { type Command, InvalidArgumentError } from "commander";
import { defined } from "../core/defined.ts";
import { priceOf } from "../core/prices.ts";
import { openPrices, type PriceList } from "../runtime/prices.ts";
import { loadSettings } from "./config.ts";
import { refuseInsideSession } from "./door.ts";
import { printJson, table } from "./table.ts";
import { CommandError } from "./usage.ts";

interface Flags {
  readonly data?: string;
  readonly config?: string;
  readonly json?: true;
}

interface SetFlags extends Flags {
  readonly input: number;
  readonly output: number;
  readonly cacheRead?: number;
  readonly cacheWrite?: number;
}

export function define(command: Command): void {
  placed(command.command("list [model]", { isDefault: true }))
    .description("list prices, or the price of one model (default)")
    .option("--json", "as JSON")
    .action(list);
  placed(command.command("set <model>"))
    .description("set a model's price, in US dollars per million tokens")
    .requiredOption("--input <usd>", "input tokens", amount)
    .requiredOption("--output <usd>", "output tokens, reasoning included", amount)
    .option("--cache-read <usd>", "input read from a cache (default: as input)", amount)
    .option("--cache-write <usd>", "input written to a cache (default: as input)", amount)
    .action(set);
  placed(command.command("remove <model>")).description("remove a price that you have set").action(remove);
  command.addHelpText(
    "after",
    "\nPrices are used for agents that report no cost themselves; a daemon uses a change from the next session on.\n\nExamples:\n  $ franca prices\n  $ franca prices list gpt-5.4\n  $ franca prices set my-model --input 0.5 --output 2",
  );
}

const placed = (command: Command): Command =>
  command
    .option("--data <folder>", "the data folder (FRANCA_DATA)")
    .option("--config <file>", "the config file (FRANCA_CONFIG)");

function amount(text: string): number {
  if (/^\d*\.?\d+$/.test(text)) return Number(text);
  throw new InvalidArgumentError("It must be an amount like 2.50.");
}

async function pricesOf(flags: Flags): Promise<PriceList> {
  const { data } = await loadSettings({ flags: { ...flags }, env: process.env });
  return openPrices({ folder: data });
}

async function list(model: string | undefined, flags: Flags): Promise<void> {
  const prices = await pricesOf(flags);
  const found = model === undefined ? null : priceOf(prices.all(), model);
  if (model !== undefined && found === null) {
    throw new CommandError(
      `The price of ${model} is unknown. Set it with: franca prices set ${model} --input … --output …`,
    );
  }
  const rows = prices.rows().filter((row) => found === null || priceOf({ [row.model]: row }, model ?? "") !== null);
  if (flags.json === true) return printJson({ unit: "usd_per_million_tokens", prices: rows });
  const show = (value: number | undefined): string => (value === undefined ? "as input" : String(value));
  process.stdout.write(
    table([
      ["MODEL", "INPUT", "OUTPUT", "CACHE READ", "CACHE WRITE", "FROM"],
      ...rows.map(({ model: name, input, output, cacheRead, cacheWrite, from, date = "" }) => [
        name,
        String(input),
        String(output),
        show(cacheRead),
        show(cacheWrite),
        from === "own" ? "set by you" : `table of ${date}`,
      ]),
    ]),
  );
  process.stderr.write("US dollars per million tokens. A model that is not listed has an unknown price.\n");
}

async function set(model: string, { input, output, cacheRead, cacheWrite, ...flags }: SetFlags): Promise<void> {
  refuseInsideSession(process.env);
  const prices = await pricesOf(flags);
  prices.set(model, { input, output, ...defined({ cacheRead, cacheWrite }) });
  process.stdout.write(`${model}: ${input} in, ${output} out, US dollars per million tokens\n`);
}

async function remove(model: string, flags: Flags): Promise<void> {
  refuseInsideSession(process.env);
  const prices = await pricesOf(flags);
  if (!prices.set(model, null)) throw new CommandError(`You have set no price for ${model}.`);
  process.stdout.write(`Removed your price of ${model}.\n`);
}
