/** Usage reports and prices, as the API and the command line show them. */
import * as z from "zod";
import { Price } from "./budget.ts";
import { UsageTotal } from "./usage-total.ts";

/** What was used on one day, by one agent or model, or in one folder: `key` is the day (`2026-11-17`) or the name. */
export const UsageRow = z.object({
  key: z.string(),
  turns: z.number().int(),
  steps: z.number().int(),
  toolCalls: z.number().int(),
  timeMs: z.number(),
  /** As the agents report it. */
  usage: UsageTotal,
  /** In US dollars, for tokens that the agents gave no price for, by the price table; null where there are none. */
  estimatedUsd: z.number().nullable(),
  /** Models without a price: their tokens are in no cost. */
  unknownPrices: z.array(z.string()).readonly(),
});
export type UsageRow = z.infer<typeof UsageRow>;
export const UsageList = z.object({ rows: z.array(UsageRow).readonly() });
export type UsageList = z.infer<typeof UsageList>;

/** One model's price, and where it is from. */
export const PriceRow = Price.extend({
  model: z.string(),
  from: z.enum(["table", "own"]),
  /** Of the table's prices: when they were read. */
  date: z.string().optional(),
});
export type PriceRow = z.infer<typeof PriceRow>;
