/** Tokens and cost, of a model step, a turn or a session. */
import * as z from "zod";

export const Tokens = z.object({
  input: z.number(),
  output: z.number(),
  reasoning: z.number(),
  cache_read: z.number(),
  cache_write: z.number(),
});
export type Tokens = z.infer<typeof Tokens>;

export const UsageTotal = z.object({
  tokens: Tokens,
  cost_usd: z.number().nullable(),
  priced: z.enum(["full", "partial", "none"]),
});
export type UsageTotal = z.infer<typeof UsageTotal>;
