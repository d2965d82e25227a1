/** Compares what was used with what may be used, and says so: once at 80 %, once at the limit. Decides nothing else. */
import type { BudgetKind, BudgetLimits, BudgetScope, BudgetUpdate } from "../protocol/budget.ts";
import type { ErrorInfo } from "../protocol/events.ts";
import { budgetOwners, budgetWords } from "./budget-words.ts";
import { type BudgetState, emit, type MachineOutput, type MachineState, ours } from "./machine-state.ts";
import { addSpent, nothingSpent, price, type Spent, spentBeyond, spentInSession, spentInTurn } from "./spent.ts";

/** From this share of a limit on, a warning is due. */
export const WARN_SHARE = 0.8;

/** A limit that is used up, or that cannot be checked. */
export interface Breach {
  readonly kind: BudgetKind;
  readonly error: ErrorInfo;
}

export const budgetScopes = ["prompt", "session", "day", "agent"] as const satisfies readonly BudgetScope[];

const limitNames = {
  cost: "costUsd",
  tokens: "tokens",
  steps: "steps",
  time: "timeMs",
  tool_calls: "toolCalls",
} as const satisfies Record<BudgetKind, keyof BudgetLimits>;

const kinds = ["cost", "tokens", "steps", "time", "tool_calls"] as const satisfies readonly BudgetKind[];

export const limitsOf = ({ turn, policy }: MachineState, scope: BudgetScope): BudgetLimits =>
  scope === "prompt" ? (turn?.limits ?? {}) : policy.budgets[scope];

/** Goes through all limits and reports what is new of them. Gives the first that does not hold. */
export function findBreach(state: MachineState, out: MachineOutput[]): Breach | null {
  let breach: Breach | null = null;
  for (const scope of budgetScopes) {
    const limits = limitsOf(state, scope);
    if (isUnlimited(limits)) continue;
    const spent = spentIn(state, scope);
    for (const kind of kinds) {
      const limit = limits[limitNames[kind]];
      if (limit !== undefined) breach = compare(state, out, { scope, kind, limit, spent }) ?? breach;
    }
  }
  return breach;
}

export function isUnlimited(limits: BudgetLimits): boolean {
  for (const _ in limits) return false;
  return true;
}

interface Comparison {
  readonly scope: BudgetScope;
  readonly kind: BudgetKind;
  readonly limit: number;
  readonly spent: Spent;
}

function compare(state: MachineState, out: MachineOutput[], { scope, kind, limit, spent }: Comparison): Breach | null {
  if (kind === "cost") {
    const { unknown } = price(spent, state.policy.budgets.prices);
    if (unknown.length > 0) return unpriced(state, out, { scope, model: unknown[0] ?? "" });
  }
  const used = amountOf(kind, spent, state);
  // A call that the limit allows has just begun when it is counted; every other amount is counted when it is used.
  const isReached = kind === "tool_calls" ? used > limit : used >= limit;
  if (!isReached) {
    if (used >= limit * WARN_SHARE) say(state, out, { scope, kind, limit, used, state: "warned" });
    return null;
  }
  const update = { scope, kind, limit, used, state: "reached" as const };
  say(state, out, update);
  return { kind, error: { message: budgetWords(update), code: "budget", details: { scope, kind, limit, used } } };
}

/** A limit that cannot be checked does not hold: it counts as reached, and the reason is given once. */
function unpriced(
  state: MachineState,
  out: MachineOutput[],
  { scope, model }: { scope: BudgetScope; model: string },
): Breach {
  const name = model === "" ? "a model whose name the agent does not give" : `the model ${model}`;
  const message = `The price of ${name} is not known, so the cost budget of ${budgetOwners[scope]} cannot be checked.`;
  const error = { message, code: "price_unknown", details: { scope, model } };
  const key = `${scope}/cost/unknown`;
  if (!state.budget.said.has(key)) {
    state.budget.said.add(key);
    const remedy = "Set it with franca prices set, or use another limit.";
    const data = { ...error, message: `${message} ${remedy}`, fatal: false };
    emit(state, out, { type: "error", data }, ours("turn.budget"));
  }
  return { kind: "cost", error };
}

function say(machine: MachineState, out: MachineOutput[], data: BudgetUpdate): void {
  const { said } = machine.budget;
  const name = `${data.scope}/${data.kind}`;
  const key = `${name}/${data.state}`;
  if (said.has(key) || said.has(`${name}/reached`)) return;
  said.add(key);
  emit(machine, out, { type: "budget.updated", data }, ours("turn.budget"));
}

function spentIn(state: MachineState, scope: BudgetScope): Spent {
  const { books, at, budget } = state;
  if (scope === "prompt") return addSpent(spentInTurn(books, at), spentBeyond(budget.family, budget.familyBefore));
  const session = spentInSession(books, at);
  if (scope === "session") return addSpent(session, budget.family);
  // The edge says so before the first prompt runs.
  if (budget.today === null) return nothingSpent;
  const { others, ownBefore } = budget.today;
  return addSpent(others[scope], spentBeyond(session, ownBefore));
}

function amountOf(kind: BudgetKind, spent: Spent, { policy }: MachineState): number {
  switch (kind) {
    case "cost":
      return price(spent, policy.budgets.prices).cost;
    case "tokens":
      return Object.values(spent.tokens).reduce((sum, count) => sum + count, 0);
    case "steps":
      return spent.steps;
    case "time":
      return spent.timeMs;
    case "tool_calls":
      return spent.toolCalls;
  }
}

/** How long until the next limit of time, or the warning before it, is due; null when there is none. */
export function timeLeft(state: MachineState): number | null {
  let left = Number.POSITIVE_INFINITY;
  for (const scope of budgetScopes) {
    const { timeMs } = limitsOf(state, scope);
    if (timeMs === undefined) continue;
    const used = spentIn(state, scope).timeMs;
    const warnAt = Math.ceil(timeMs * WARN_SHARE);
    left = Math.min(left, Math.max(0, (used < warnAt ? warnAt : timeMs) - used));
  }
  return Number.isFinite(left) ? left : null;
}

/** What was said of one prompt's budget is no word on the next one's. */
export function forgetPrompt({ said }: BudgetState): void {
  for (const key of said) if (key.startsWith("prompt/")) said.delete(key);
}

/** After a restart, what the log has already is not said again. */
export function recallBudget(state: MachineState): void {
  findBreach({ ...state, turn: null, started: true, books: { ...state.books } }, []);
}
