/** Rules about tokens, cost and plans: totals only grow, and the end of a turn has the last total. */

import type { Checker, Rule } from "../core/lint.ts";
import type { Tokens, UniversalEvent, UsageTotal } from "../protocol/events.ts";

export const usageRules: readonly Rule<UniversalEvent>[] = [
  {
    id: "universal.usage-grows",
    says: "No count is negative; the session's totals, and the turn's within it, never shrink.",
    check: grows,
  },
  { id: "universal.usage-steps", says: "The model steps of a turn are numbered from 0 without a gap.", check: steps },
  {
    id: "universal.usage-total",
    says: "`turn.ended` repeats the turn's last total.",
    check: endTotal,
  },
  { id: "universal.todo-ids", says: "The ids of a plan are unique within it.", check: todoIds },
];

const kinds = [
  "input",
  "output",
  "reasoning",
  "cache_read",
  "cache_write",
] as const satisfies readonly (keyof Tokens)[];

/** Sums of decimals may differ in their last digits. */
const CENTS = 1e-9;

function shrunk(before: UsageTotal | null, after: UsageTotal): string[] {
  const out: string[] = kinds.filter((kind) => after.tokens[kind] < (before?.tokens[kind] ?? 0));
  if ((after.cost_usd ?? 0) < (before?.cost_usd ?? 0) - CENTS) out.push("cost_usd");
  return out;
}

function grows(): Checker<UniversalEvent> {
  let session: UsageTotal | null = null;
  let turn: UsageTotal | null = null;
  return {
    step(event) {
      if (event.type === "turn.started") turn = null;
      if (event.type !== "usage.updated") return [];
      const { data } = event;
      const out = shrunk(session, data.session).map((field) => `the session's ${field} shrinks`);
      // After a turn its late usage belongs to nobody's turn.
      if (event.turn_id !== null) out.push(...shrunk(turn, data.turn).map((field) => `the turn's ${field} shrinks`));
      if (data.step !== null && kinds.some((kind) => (data.step?.tokens[kind] ?? 0) < 0))
        out.push("a step has a negative count");
      session = data.session;
      turn = event.turn_id === null ? null : data.turn;
      return out;
    },
  };
}

function steps(): Checker<UniversalEvent> {
  let next = 0;
  return {
    step(event) {
      if (event.type === "turn.started") next = 0;
      if (event.type !== "usage.updated" || event.data.step === null) return [];
      const expected = next;
      next = event.data.step.index + 1;
      const { index } = event.data.step;
      return event.turn_id === null || index === expected ? [] : [`model step ${index}, expected ${expected}`];
    },
  };
}

function endTotal(): Checker<UniversalEvent> {
  let last: UsageTotal | null = null;
  return {
    step(event) {
      if (event.type === "turn.started") last = null;
      if (event.type === "usage.updated") last = event.data.turn;
      if (event.type !== "turn.ended" || last === null) return [];
      const same = JSON.stringify(last) === JSON.stringify(event.data.usage);
      return same ? [] : [`${event.data.turn_id} ends with another total than the last usage event`];
    },
  };
}

function todoIds(): Checker<UniversalEvent> {
  return {
    step(event) {
      if (event.type !== "todo.updated") return [];
      const ids = event.data.todos.map(({ id }) => id);
      return new Set(ids).size === ids.length ? [] : [`an id occurs twice: ${ids.join(", ")}`];
    },
  };
}
