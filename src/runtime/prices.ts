/** What models cost: the dated table that comes with Franca, and the prices that a person set in the data folder. */
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Price, Prices } from "../protocol/budget.ts";
import { ApiError } from "../protocol/errors.ts";
import type { PriceRow } from "../protocol/resources.ts";
import { openDataFolder } from "./data-folder.ts";
import table from "./prices.json" with { type: "json" };

export interface PriceList {
  /** By the model's name; a person's own win over the table's. */
  readonly all: () => Prices;
  readonly rows: () => readonly PriceRow[];
  /** Null removes a person's own price. Gives whether something changed. */
  readonly set: (model: string, price: Price | null) => boolean;
}

/** `folder`: where a person's own prices are kept; null when nothing is kept. */
export function openPrices({ folder }: { folder: string | null }): PriceList {
  const own = (): Prices => (folder === null ? {} : readOwn(folder));
  return {
    all: () => ({ ...listed, ...own() }),
    rows: () => {
      const mine = own();
      const rows = table.tables.flatMap(({ date, models }) =>
        Object.entries<Price>(models).map(([model, price]): PriceRow => ({ model, ...price, from: "table", date })),
      );
      return [
        ...Object.entries(mine).map(([model, price]): PriceRow => ({ model, ...price, from: "own" })),
        ...rows.filter(({ model }) => !Object.hasOwn(mine, model)),
      ];
    },
    set(model, price) {
      if (folder === null) throw new ApiError("invalid_request", "Without a data folder no price can be kept.");
      const name = model.toLowerCase();
      const { [name]: former, ...others } = own();
      if (price === null && former === undefined) return false;
      write(folder, price === null ? others : { ...others, [name]: price });
      return true;
    },
  };
}

const listed: Prices = Object.assign({}, ...table.tables.map(({ models }) => models));

const fileIn = (folder: string): string => join(folder, "prices.json");

function readOwn(folder: string): Prices {
  let text: string;
  try {
    text = readFileSync(fileIn(folder), "utf8");
  } catch {
    return {};
  }
  try {
    return Prices.parse(JSON.parse(text));
  } catch (error) {
    throw new ApiError("storage_error", `${fileIn(folder)} is not a list of prices: correct or remove it.`, {
      cause: error,
    });
  }
}

function write(folder: string, prices: Prices): void {
  openDataFolder(folder);
  const draft = `${fileIn(folder)}.${process.pid}`;
  writeFileSync(draft, `${JSON.stringify(prices, null, 2)}\n`, { mode: 0o600 });
  renameSync(draft, fileIn(folder));
}
