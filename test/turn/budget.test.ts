/** Budgets: a warning at 80 %, a stop in order at the limit, and nothing where none is set. */
import { describe, expect, test } from "vitest";
import { defaultPolicy, noBudgets } from "../../src/core/input.ts";
import type { Report } from "../../src/core/report.ts";
import { nothingSpent } from "../../src/core/spent.ts";
import type { BudgetLimits, BudgetScope, Prices } from "../../src/protocol/budget.ts";
import { promptId } from "../../src/protocol/ids.ts";
import { openText } from "./driver.ts";
import { type Machine, machine, turnsOf } from "./machine.ts";

interface Limits {
  readonly scope?: BudgetScope;
  readonly limits: BudgetLimits;
  readonly prices?: Prices;
}

const limited = ({ scope = "prompt", limits, prices = {} }: Limits): Machine => {
  const budgets = { ...noBudgets, [scope]: limits, prices };
  return machine({ policy: { ...defaultPolicy, budgets } });
};

const step = (input: number, { finish = "tool_use", cost }: { finish?: string; cost?: number } = {}): Report => ({
  type: "usage",
  scope: "step",
  mode: "add",
  tokens: { input, output: 0, reasoning: 0, cache_read: 0, cache_write: 0 },
  finish,
  cost_usd: cost,
});

const callTool = (id: string): Report => ({
  type: "open",
  item: {
    key: id,
    native_item_id: id,
    kind: "tool_call",
    role: "assistant",
    content: [{ type: "tool_call", name: "bash", arguments: "{}", call_id: id, tool_kind: "command", title: "bash" }],
  },
});

const model = (name: string): Report => ({ type: "session", model: name });
const end: Report = { type: "end", reason: "completed" };

const budgetsOf = (it: Machine) => it.drafts.flatMap((draft) => (draft.type === "budget.updated" ? [draft.data] : []));
const aborts = (it: Machine): number =>
  it.outputs.filter((one) => one.type === "command" && one.command.type === "abort").length;
const lastEnd = (it: Machine) => it.drafts.flatMap((draft) => (draft.type === "turn.ended" ? [draft.data] : [])).at(-1);

describe("a budget of tokens", () => {
  test("is warned of at 80 % and stops the turn in order at the limit", () => {
    const it = limited({ limits: { tokens: 100 } });
    it.prompt("go");
    it.hears(step(79));
    expect(budgetsOf(it)).toEqual([]);
    it.hears(step(1));
    expect(budgetsOf(it)).toEqual([{ scope: "prompt", kind: "tokens", limit: 100, used: 80, state: "warned" }]);
    it.hears(step(19));
    expect(aborts(it)).toBe(0);
    it.hears(step(1));
    expect(budgetsOf(it).at(-1)).toMatchObject({ used: 100, state: "reached" });
    expect(budgetsOf(it)).toHaveLength(2);
    expect(aborts(it)).toBe(1);
    it.hears(end);
    expect(turnsOf(it).at(-1)).toBe("turn.ended budget signal");
    expect(lastEnd(it)?.error).toMatchObject({ code: "budget", details: { scope: "prompt", kind: "tokens" } });
  });

  test("does not take away the answer of the step that reaches it", () => {
    const it = limited({ limits: { tokens: 100 } });
    it.prompt("go");
    it.hears(step(200, { finish: "end_turn" }));
    expect(budgetsOf(it)).toMatchObject([{ state: "reached" }]);
    expect(aborts(it)).toBe(0);
    it.hears(end);
    expect(turnsOf(it).at(-1)).toBe("turn.ended completed signal");
  });

  test("stops an agent that goes on after it seemed to be done", () => {
    const it = limited({ limits: { tokens: 100 } });
    it.prompt("go");
    it.hears(step(200, { finish: "end_turn" }));
    it.hears(openText("m2"));
    expect(aborts(it)).toBe(1);
  });

  test("begins anew with each prompt; the session's does not, and refuses the next prompt", () => {
    const each = limited({ limits: { tokens: 100 } });
    for (const name of ["one", "two"]) {
      each.prompt(name);
      each.hears(step(60, { finish: "end_turn" }), end);
    }
    expect(turnsOf(each).at(-1)).toBe("turn.ended completed signal");
    const all = limited({ scope: "session", limits: { tokens: 100 } });
    all.prompt("one");
    all.hears(step(120, { finish: "end_turn" }), end);
    const commands = all.outputs.filter(({ type }) => type === "command").length;
    all.prompt("two");
    expect(turnsOf(all).slice(-2)).toEqual(["turn.started user", "turn.ended budget signal"]);
    expect(all.outputs.filter(({ type }) => type === "command")).toHaveLength(commands);
    expect(all.drafts.filter(({ type }) => type === "budget.updated")).toHaveLength(1);
    all.command({ type: "set", change: { budget: { session: { tokens: 1000 } } } });
    all.prompt("three");
    expect(turnsOf(all).at(-1)).toBe("turn.started user");
  });

  test("a prompt's own limits win over the session's", () => {
    const it = limited({ limits: { tokens: 100 } });
    const prompt = { prompt_id: promptId("p"), text: "go", attachments: [], budget: { tokens: 10 } };
    it.command({ type: "prompt", prompt, delivery: "queue" });
    it.hears(step(11));
    expect(budgetsOf(it)).toMatchObject([{ limit: 10, state: "reached" }]);
  });
});

test("an agent that does not stop by itself is stopped, and the turn still ends with reason budget", () => {
  const it = limited({ limits: { steps: 1 } });
  it.prompt("go");
  it.hears(step(1));
  expect(aborts(it)).toBe(1);
  it.wait();
  expect(it.outputs.some(({ type }) => type === "stop")).toBe(true);
  it.exits({ signal: "SIGKILL" });
  expect(turnsOf(it).at(-1)).toBe("turn.ended budget exit");
});

test("a budget of tool calls lets so many run and stops the next", () => {
  const it = limited({ limits: { toolCalls: 2 } });
  it.prompt("go");
  it.hears(callTool("a"), callTool("b"));
  expect(aborts(it)).toBe(0);
  it.hears(callTool("c"));
  expect(aborts(it)).toBe(1);
  expect(budgetsOf(it).map(({ state, used }) => [state, used])).toEqual([
    ["warned", 2],
    ["reached", 3],
  ]);
});

test("a budget of time needs no word of the agent, and counts while a person is waited for", () => {
  const it = limited({ limits: { timeMs: 10_000 } });
  it.prompt("go");
  const started = it.state.turn?.startedAt ?? 0;
  const requested = { kind: "command", command: "ls" } as const;
  it.hears({ type: "permission", key: "p", action: "bash", tool: "bash", call_id: null, input: {}, requested });
  it.wait();
  expect(it.state.at).toBe(started + 8_000);
  expect(budgetsOf(it)).toMatchObject([{ kind: "time", state: "warned" }]);
  it.wait();
  expect(it.state.at).toBe(started + 10_000);
  expect(it.said()).toContain("permission.resolved reject");
  it.hears(end);
  expect(turnsOf(it).at(-1)).toBe("turn.ended budget signal");
});

describe("a budget of cost", () => {
  const prices = { known: { input: 1_000, output: 1_000 } };

  test("takes the agent's own figures", () => {
    const it = limited({ limits: { costUsd: 0.5 } });
    it.prompt("go");
    it.hears(step(1, { cost: 0.3 }));
    it.hears(step(1, { cost: 0.3 }));
    expect(budgetsOf(it)).toMatchObject([{ kind: "cost", used: 0.6, state: "reached" }]);
  });

  test("prices the tokens of an agent that reports none", () => {
    const it = limited({ limits: { costUsd: 0.5 }, prices });
    it.prompt("go");
    it.hears(model("vendor/known-20260101"), step(400));
    expect(budgetsOf(it)).toMatchObject([{ used: 0.4, state: "warned" }]);
    // The agent's word on the whole turn replaces the estimate.
    it.hears({ type: "usage", scope: "turn", mode: "total", cost_usd: 0.1 });
    it.hears(step(100));
    expect(aborts(it)).toBe(0);
  });

  test("on a model without a price says so and does not let the turn go on", () => {
    const it = limited({ limits: { costUsd: 0.5 }, prices });
    it.prompt("go");
    it.hears(model("strange"), step(1));
    const errors = it.drafts.flatMap((draft) => (draft.type === "error" ? [draft.data] : []));
    expect(errors).toMatchObject([
      { code: "price_unknown", fatal: false, message: expect.stringContaining("strange") },
    ]);
    expect(budgetsOf(it)).toEqual([]);
    it.hears(end);
    expect(lastEnd(it)).toMatchObject({ reason: "budget", error: { code: "price_unknown" } });
  });
});

test("a budget of the day counts what others used, and begins anew with the next day", () => {
  const it = limited({ scope: "day", limits: { tokens: 100 } });
  const others = (input: number) => {
    const spent = { ...nothingSpent, tokens: { input, output: 0, reasoning: 0, cache_read: 0, cache_write: 0 } };
    return { day: spent, agent: nothingSpent };
  };
  const inform = (day: string, input: number): void =>
    it.feed({
      type: "spent",
      day,
      others: others(input),
      ownBefore: nothingSpent,
      family: nothingSpent,
      at: it.state.at + 1,
    });
  inform("monday", 70);
  it.prompt("one");
  it.hears(step(10, { finish: "end_turn" }), end);
  expect(budgetsOf(it)).toMatchObject([{ scope: "day", used: 80, state: "warned" }]);
  it.prompt("two");
  it.hears(callTool("a"));
  inform("monday", 90);
  expect(aborts(it)).toBe(1);
  it.hears(end);
  const ownBefore = it.state.books.turn;
  const family = nothingSpent;
  it.feed({ type: "spent", day: "tuesday", others: others(0), ownBefore, family, at: it.state.at + 1 });
  it.prompt("three");
  expect(turnsOf(it).at(-1)).toBe("turn.started user");
});

test("where no budget is set nothing is said of one, and nothing is waited for", () => {
  const it = machine();
  it.prompt("go");
  it.hears(step(1_000_000), callTool("a"));
  expect(budgetsOf(it)).toEqual([]);
  expect(aborts(it)).toBe(0);
});
