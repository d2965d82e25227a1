/** Tokens and cost: an agent's counters become differences, so that nothing is counted twice. */
import type { Tokens, UsageTotal } from "../protocol/events.ts";
import { defined } from "./defined.ts";
import { finishOf } from "./finish.ts";
import { emit, type MachineOutput, type MachineState, noUsage, type UsageState } from "./machine-state.ts";
import type { UsageReport } from "./report.ts";
import { combineTokens, isZero, noTokens } from "./tokens.ts";

/** `foreign`: the conversation began outside, so the agent's counter already holds what we never saw. */
export const startUsage = ({ foreign }: { foreign: boolean }): UsageState => ({
  before: noUsage(),
  session: noUsage(),
  turn: noUsage(),
  steps: 0,
  base: foreign ? null : { tokens: noTokens(), cost_usd: 0 },
});

export function beginTurnUsage(usage: UsageState): void {
  usage.before = usage.session;
  usage.turn = noUsage();
  usage.steps = 0;
}

export function addUsage(state: MachineState, out: MachineOutput[], report: UsageReport): void {
  const { usage } = state;
  const gained = report.mode === "add" ? asGiven(report) : difference(usage, report);
  const before = usage.turn;
  // What an agent says of a whole turn prices the model steps it gave no price for.
  const authoritative = report.cost_usd !== undefined && (report.mode === "total" || report.scope !== "step");
  usage.turn = grown(usage.turn, gained, { authoritative });
  usage.session = sum(usage.before, usage.turn);
  if (report.scope !== "step") {
    const repriced = usage.turn.priced !== before.priced || usage.turn.cost_usd !== before.cost_usd;
    if (isNothing(gained) && !repriced) return;
    emit(state, out, { type: "usage.updated", data: { step: null, turn: usage.turn, session: usage.session } });
    return;
  }
  const step = defined({
    index: usage.steps,
    finish: report.finish === undefined ? null : finishOf(report.finish),
    finish_native: report.finish,
    tokens: gained.tokens,
    cost_usd: gained.cost,
    message_id: report.message_id,
  });
  usage.steps += 1;
  emit(state, out, { type: "usage.updated", data: { step, turn: usage.turn, session: usage.session } });
}

interface Gained {
  readonly tokens: Tokens;
  readonly cost: number | null;
}

/** A count below nothing is a fault of the agent: it gains nothing. */
const asGiven = (report: UsageReport): Gained => ({
  tokens: combineTokens(report.tokens ?? noTokens(), noTokens(), (given, none) => Math.max(given, none)),
  cost: report.cost_usd === undefined ? null : dollars(Math.max(0, report.cost_usd)),
});

/** What a counter shows beyond what we have counted. A counter that went back was reset: it gains nothing. */
function difference(usage: UsageState, report: UsageReport): Gained {
  const counted = report.scope === "session" ? usage.session : usage.turn;
  if (report.scope === "session") learnBase(usage, report);
  const base = report.scope === "session" ? usage.base : null;
  const tokens =
    report.tokens === undefined
      ? noTokens()
      : combineTokens(report.tokens, counted.tokens, (total, known, field) =>
          Math.max(0, total - (base?.tokens[field] ?? 0) - known),
        );
  const cost =
    report.cost_usd === undefined
      ? null
      : dollars(Math.max(0, report.cost_usd - (base?.cost_usd ?? 0) - (counted.cost_usd ?? 0)));
  return { tokens, cost };
}

/** The first sight of a counter whose past we do not know: what it shows beyond this turn is the base. */
function learnBase(usage: UsageState, report: UsageReport): void {
  if (usage.base !== null) return;
  const { turn } = usage;
  usage.base = {
    tokens:
      report.tokens === undefined
        ? noTokens()
        : combineTokens(report.tokens, turn.tokens, (total, known) => Math.max(0, total - known)),
    cost_usd: Math.max(0, (report.cost_usd ?? 0) - (turn.cost_usd ?? 0)),
  };
}

/** Cost is known in full when every gain had one, or when the agent's own total says so. */
function grown(total: UsageTotal, gained: Gained, by: { readonly authoritative: boolean }): UsageTotal {
  const tokens = combineTokens(total.tokens, gained.tokens, (a, b) => a + b);
  if (gained.cost === null) {
    const priced = total.cost_usd === null ? "none" : isZero(gained.tokens) ? total.priced : "partial";
    return { tokens, cost_usd: total.cost_usd, priced };
  }
  const cost_usd = dollars((total.cost_usd ?? 0) + gained.cost);
  const priced = by.authoritative || isEmpty(total) || total.priced === "full" ? "full" : "partial";
  return { tokens, cost_usd, priced };
}

function sum(before: UsageTotal, turn: UsageTotal): UsageTotal {
  if (isEmpty(before)) return turn;
  if (isEmpty(turn)) return before;
  return {
    tokens: combineTokens(before.tokens, turn.tokens, (a, b) => a + b),
    cost_usd:
      before.cost_usd === null && turn.cost_usd === null
        ? null
        : dollars((before.cost_usd ?? 0) + (turn.cost_usd ?? 0)),
    priced: before.priced === turn.priced ? before.priced : "partial",
  };
}

/** Sums of decimal fractions are not quite what they should be; nobody's price has this many digits. */
const DIGITS = 1e12;
const dollars = (value: number): number => Math.round(value * DIGITS) / DIGITS;

const isEmpty = ({ tokens, cost_usd }: UsageTotal): boolean => cost_usd === null && isZero(tokens);

const isNothing = ({ tokens, cost }: Gained): boolean => isZero(tokens) && (cost === null || cost === 0);
