/**
 * What a session has used, as a fold over its events: the books behind budgets and usage reports. Tokens that the agent
 * gave no price for are kept apart by model, so that a price table can put a price on them later.
 */
import type { Prices } from "../protocol/budget.ts";
import type { Draft, Tokens, UsageTotal } from "../protocol/events.ts";
import { costOf, priceOf } from "./prices.ts";
import { addTokens, hasMore, isZero, noTokens, tokensBeyond } from "./tokens.ts";

export interface Spent {
  readonly tokens: Tokens;
  /** In US dollars, as the agent reported it; null when it reported none. */
  readonly cost: number | null;
  /** Tokens without a reported price, by the model's name; "" for a model that is not known. */
  readonly unpriced: Readonly<Record<string, Tokens>>;
  readonly steps: number;
  readonly toolCalls: number;
  readonly timeMs: number;
}

/** The books of one session. */
export interface Books {
  model: string;
  /** Of the turns before the last one. */
  before: Spent;
  /** Of the turn that runs, or ran last. */
  turn: Spent;
  /** When the turn that runs began; null between turns. */
  turnStartedAt: number | null;
}

export const nothingSpent: Spent = {
  tokens: noTokens(),
  cost: null,
  unpriced: {},
  steps: 0,
  toolCalls: 0,
  timeMs: 0,
};

export const startBooks = (): Books => ({ model: "", before: nothingSpent, turn: nothingSpent, turnStartedAt: null });

/** `at`: epoch milliseconds of the event. */
export function keepBooks(books: Books, event: Draft, at: number): void {
  switch (event.type) {
    case "session.started":
      books.model = event.data.metadata.model ?? "";
      return;
    case "session.updated":
      if (event.data.model !== undefined) books.model = event.data.model ?? "";
      return;
    case "turn.started":
      closeTurn(books);
      books.turnStartedAt = at;
      return;
    case "turn.ended":
      books.turn = spentInTurn(books, at);
      books.turnStartedAt = null;
      return;
    case "item.started":
      if (event.data.item.kind === "tool_call") books.turn = withCall(books.turn);
      return;
    case "usage.updated":
      // Counted anew although no turn began: the session was opened again meanwhile.
      if (hasMore(books.turn.tokens, event.data.turn.tokens)) closeTurn(books);
      books.turn = withUsage(books, event.data);
      return;
    default:
      return;
  }
}

function closeTurn(books: Books): void {
  if (books.turn === nothingSpent) return;
  books.before = addSpent(books.before, books.turn);
  books.turn = nothingSpent;
}

function withCall({ tokens, cost, unpriced, steps, toolCalls, timeMs }: Spent): Spent {
  return { tokens, cost, unpriced, steps, toolCalls: toolCalls + 1, timeMs };
}

/** Of the turn, as of `at`. */
export function spentInTurn(books: Books, at: number): Spent {
  const { tokens, cost, unpriced, steps, toolCalls } = books.turn;
  return { tokens, cost, unpriced, steps, toolCalls, timeMs: turnTime(books, at) };
}

/** Of the whole session, as of `at`. */
export const spentInSession = (books: Books, at: number): Spent => addSpent(books.before, spentInTurn(books, at));

const turnTime = ({ turn, turnStartedAt }: Books, at: number): number =>
  turn.timeMs + (turnStartedAt === null ? 0 : Math.max(0, at - turnStartedAt));

function withUsage(
  { turn, model }: Books,
  { step, turn: total }: { readonly step: unknown; readonly turn: UsageTotal },
): Spent {
  const isPriced = total.cost_usd !== null && total.cost_usd !== turn.cost;
  // The agent's word on the whole turn puts a price on all of it.
  const unpriced =
    total.priced === "full"
      ? {}
      : isPriced || !hasMore(total.tokens, turn.tokens)
        ? turn.unpriced
        : withTokens(turn.unpriced, model, tokensBeyond(total.tokens, turn.tokens));
  return {
    tokens: total.tokens,
    cost: total.cost_usd,
    unpriced,
    steps: turn.steps + (step === null ? 0 : 1),
    toolCalls: turn.toolCalls,
    timeMs: turn.timeMs,
  };
}

function withTokens(all: Spent["unpriced"], model: string, tokens: Tokens): Spent["unpriced"] {
  const known = all[model];
  const next: Record<string, Tokens> = Object.assign({}, all);
  next[model] = known === undefined ? tokens : addTokens(known, tokens);
  return next;
}

export function addSpent(a: Spent, b: Spent): Spent {
  let { unpriced } = a;
  for (const [model, tokens] of Object.entries(b.unpriced)) unpriced = withTokens(unpriced, model, tokens);
  return {
    tokens: addTokens(a.tokens, b.tokens),
    cost: a.cost === null && b.cost === null ? null : (a.cost ?? 0) + (b.cost ?? 0),
    unpriced,
    steps: a.steps + b.steps,
    toolCalls: a.toolCalls + b.toolCalls,
    timeMs: a.timeMs + b.timeMs,
  };
}

/** What is in the first beyond the second; never negative. */
export function spentBeyond(total: Spent, known: Spent): Spent {
  const models = Object.entries(total.unpriced).map(([model, tokens]): [string, Tokens] => [
    model,
    tokensBeyond(tokens, known.unpriced[model] ?? noTokens()),
  ]);
  return {
    tokens: tokensBeyond(total.tokens, known.tokens),
    cost: total.cost === null ? null : Math.max(0, total.cost - (known.cost ?? 0)),
    unpriced: Object.fromEntries(models.filter(([, tokens]) => !isZero(tokens))),
    steps: Math.max(0, total.steps - known.steps),
    toolCalls: Math.max(0, total.toolCalls - known.toolCalls),
    timeMs: Math.max(0, total.timeMs - known.timeMs),
  };
}

export interface Priced {
  /** The agent's own figures, and the table's for what those leave out. */
  readonly cost: number;
  /** How much of it is from the table. */
  readonly estimated: number;
  /** Models whose price nobody knows; their tokens are not in the cost. */
  readonly unknown: readonly string[];
}

export function price({ cost, unpriced }: Pick<Spent, "cost" | "unpriced">, prices: Prices): Priced {
  let estimated = 0;
  const unknown: string[] = [];
  for (const [model, tokens] of Object.entries(unpriced)) {
    const found = priceOf(prices, model);
    if (found === null) unknown.push(model);
    else estimated += costOf(found, tokens);
  }
  return { cost: (cost ?? 0) + estimated, estimated, unknown };
}
