/** Budgets and prices: what may be limited, per what, and what a token costs. */
import * as z from "zod";

/** The most of each that may be used. `costUsd` in US dollars; `tokens` counts all kinds of tokens together. */
export const BudgetLimits = z.strictObject({
  costUsd: z.number().positive().max(1_000_000).optional(),
  tokens: z.number().int().positive().optional(),
  /** Model calls. */
  steps: z.number().int().positive().optional(),
  /** Wall time of turns, time in which a person is waited for included. */
  timeMs: z.number().int().positive().optional(),
  toolCalls: z.number().int().positive().optional(),
});
export type BudgetLimits = z.infer<typeof BudgetLimits>;

/** What a session may use: each of its prompts, and all of them together. */
export const SessionBudget = z.strictObject({ prompt: BudgetLimits.optional(), session: BudgetLimits.optional() });
export type SessionBudget = z.infer<typeof SessionBudget>;

/** Of a daemon: defaults for its sessions, and what all of them together may use in a day. */
export const BudgetConfig = SessionBudget.extend({
  day: BudgetLimits.optional(),
  /** By agent's name: what its sessions together may use in a day. */
  agents: z.record(z.string().min(1), BudgetLimits).optional(),
});
export type BudgetConfig = z.infer<typeof BudgetConfig>;

export const BudgetScope = z.enum(["prompt", "session", "day", "agent"]);
export type BudgetScope = z.infer<typeof BudgetScope>;

export const BudgetKind = z.enum(["cost", "tokens", "steps", "time", "tool_calls"]);
export type BudgetKind = z.infer<typeof BudgetKind>;

export const BudgetUpdate = z.object({
  scope: BudgetScope,
  kind: BudgetKind,
  limit: z.number(),
  used: z.number(),
  state: z.enum(["warned", "reached"]),
});
export type BudgetUpdate = z.infer<typeof BudgetUpdate>;

/** US dollars per million tokens. What is not given costs what input costs; reasoning costs what output costs. */
export const Price = z.strictObject({
  input: z.number().min(0),
  output: z.number().min(0),
  cacheRead: z.number().min(0).optional(),
  cacheWrite: z.number().min(0).optional(),
});
export type Price = z.infer<typeof Price>;
export const Prices = z.record(z.string().min(1).max(200), Price);
export type Prices = z.infer<typeof Prices>;
