/** A budget in words, the same wherever a person reads of it. */
import type { BudgetKind, BudgetScope, BudgetUpdate } from "../protocol/budget.ts";

const names: Readonly<Record<BudgetKind, string>> = {
  cost: "cost",
  tokens: "token",
  steps: "step",
  time: "time",
  tool_calls: "tool call",
};

export const budgetOwners: Readonly<Record<BudgetScope, string>> = {
  prompt: "this prompt",
  session: "this session",
  day: "this day",
  agent: "this agent for this day",
};

export function budgetWords({ scope, kind, limit, used, state }: BudgetUpdate): string {
  const how = state === "reached" ? "is used up" : "is nearly used up";
  return `The ${names[kind]} budget of ${budgetOwners[scope]} ${how}: ${amount(kind, used)} of ${amount(kind, limit)}.`;
}

function amount(kind: BudgetKind, value: number): string {
  if (kind === "cost") return `$${value.toFixed(value < 1 ? 4 : 2)}`;
  return kind === "time" ? `${(value / 1_000).toFixed(1)} s` : String(value);
}
