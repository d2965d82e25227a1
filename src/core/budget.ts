/** Budgets in the turn machine: checked as usage arrives; at the limit the turn is stopped in order. */
import type { BudgetConfig, BudgetLimits, SessionBudget } from "../protocol/budget.ts";
import { isToolAtWork } from "./background.ts";
import { type Breach, budgetScopes, findBreach, isUnlimited, limitsOf, timeLeft } from "./budget-limits.ts";
import { defined } from "./defined.ts";
import { finishOf } from "./finish.ts";
import type { SessionInput } from "./input.ts";
import { stopTurn } from "./lifecycle.ts";
import { isWaiting, type MachineOutput, type MachineState, type Turn } from "./machine-state.ts";
import type { Report } from "./report.ts";

/** What may have changed what was used, or shows that the agent goes on. */
type Sign = Report | Extract<SessionInput, { type: "spent" | "tick" }>;

export function checkBudget(state: MachineState, out: MachineOutput[], sign: Sign): void {
  if (!isSign(sign) || !isLimited(state)) return;
  const breach = findBreach(state, out);
  const { turn } = state;
  if (breach === null || turn === null || turn.stop !== null || turn.end !== null) return;
  if (goesOn(state, { breach, sign })) {
    stopTurn(state, out, { turn, reason: "budget", error: breach.error, rule: "turn.budget" });
  }
}

function isSign(sign: Sign): boolean {
  switch (sign.type) {
    case "usage":
    case "spent":
    case "tick":
      return true;
    case "open":
      return sign.item.kind === "tool_call" || (sign.item.kind === "message" && sign.item.role === "assistant");
    default:
      return false;
  }
}

function isLimited(state: MachineState): boolean {
  for (const scope of budgetScopes) if (!isUnlimited(limitsOf(state, scope))) return true;
  return false;
}

/**
 * Whether the agent would use more. A model step that called no tool may have been the last one: its answer is not
 * taken away. The next word of the agent shows that it was not.
 */
function goesOn(state: MachineState, { breach, sign }: { breach: Breach; sign: Sign }): boolean {
  if (breach.kind === "time" || sign.type === "open") return true;
  if (isToolAtWork(state) || isWaiting(state)) return true;
  return sign.type === "usage" && sign.finish !== undefined && finishOf(sign.finish) === "tool-calls";
}

/** When the next limit of time is due. */
export function budgetDueAt(state: MachineState, turn: Turn): number {
  if (turn.stop !== null || turn.end !== null) return Number.POSITIVE_INFINITY;
  const left = timeLeft(state);
  return left === null ? Number.POSITIVE_INFINITY : state.at + left;
}

export function learnSpent(state: MachineState, spent: Extract<SessionInput, { type: "spent" }>): void {
  const { budget } = state;
  const { day, others, ownBefore, family } = spent;
  if (budget.today !== null && budget.today.day !== day) {
    for (const key of budget.said) if (/^(?:day|agent)\//.test(key)) budget.said.delete(key);
  }
  budget.today = { day, others, ownBefore };
  budget.family = family;
}

/** What a session sets itself wins over the daemon's defaults, limit by limit. */
export const sessionLimits = (
  defaults: BudgetConfig,
  own: SessionBudget = {},
): { readonly prompt: BudgetLimits; readonly session: BudgetLimits } => ({
  prompt: { ...defaults.prompt, ...own.prompt },
  session: { ...defaults.session, ...own.session },
});

/** A budget that was changed is a new one: what was said of the former counts no more. */
export function setBudget(state: MachineState, budget: SessionBudget): void {
  state.policy = { ...state.policy, budgets: { ...state.policy.budgets, ...defined(budget) } };
  for (const key of state.budget.said) if (key.startsWith("session/")) state.budget.said.delete(key);
}
