/** Flags of `franca run` that limit what its prompt may use. */
import { type Command, InvalidArgumentError } from "commander";
import { defined } from "../core/defined.ts";
import type { BudgetLimits } from "../protocol/budget.ts";

export interface BudgetFlags {
  readonly maxCost?: number;
  readonly maxTokens?: number;
  readonly maxSteps?: number;
  readonly maxTime?: number;
  readonly maxToolCalls?: number;
}

export function addBudgetOptions(command: Command): Command {
  return command
    .option("--max-cost <usd>", "stop the turn when it has cost this much, in US dollars", amount)
    .option("--max-tokens <count>", "stop it when it has used this many tokens of all kinds", whole)
    .option("--max-steps <count>", "stop it after this many model calls", whole)
    .option("--max-time <time>", "stop it after this time: 90s, 10m, 2h", duration)
    .option("--max-tool-calls <count>", "stop it when it calls more tools than this", whole);
}

/** Undefined when nothing is limited. */
export function budgetFrom({ maxCost, maxTokens, maxSteps, maxTime, maxToolCalls }: BudgetFlags) {
  const limits: BudgetLimits = defined({
    costUsd: maxCost,
    tokens: maxTokens,
    steps: maxSteps,
    timeMs: maxTime,
    toolCalls: maxToolCalls,
  });
  return Object.keys(limits).length === 0 ? undefined : limits;
}

function amount(text: string): number {
  const value = Number(text.replace(/^\$/, ""));
  if (/^\$?\d*\.?\d+$/.test(text) && value > 0) return value;
  throw new InvalidArgumentError("It must be an amount like 0.50.");
}

function whole(text: string): number {
  if (/^[1-9]\d{0,14}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("It must be a whole number from 1 on.");
}

const units: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

function duration(text: string): number {
  const [, count, unit = "s"] = /^(\d{1,9})(ms|s|m|h)?$/.exec(text) ?? [];
  const value = Number(count) * (units[unit] ?? 0);
  if (count !== undefined && value > 0) return value;
  throw new InvalidArgumentError("It must be a time like 90s, 10m or 2h.");
}
