/** Budgets over sessions, usage reports and prices, with the mock agent behind them. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { usageCsv } from "../../src/core/usage-csv.ts";
import { openPrices } from "../../src/runtime/prices.ts";
import type { Sessions } from "../../src/runtime/session/contract.ts";
import { endOf, open, removeFolder, session, tempFolder, turn } from "../support/sessions.ts";

let folder: string;
let sessions: Sessions | null = null;

beforeEach(() => {
  folder = tempFolder();
});
afterEach(async () => {
  await sessions?.close();
  sessions = null;
  removeFolder(folder);
});

const month = { days: 30, offsetMinutes: 0 };

test("a budget of the day holds over all sessions, and over a restart", async () => {
  const budgets = { day: { steps: 2 } };
  sessions = await open(folder, { budgets });
  for (const name of ["one", "two", "three"]) await sessions.create(session(name), { agent: "mock" });
  expect(endOf(await turn(sessions, session("one"), "hello"))?.reason).toBe("completed");
  expect(endOf(await turn(sessions, session("two"), "hello"))?.reason).toBe("completed");
  expect(endOf(await turn(sessions, session("three"), "hello"))?.reason).toBe("budget");
  await sessions.close();
  sessions = await open(folder, { budgets });
  expect(endOf(await turn(sessions, session("one"), "hello"))?.reason).toBe("budget");
  expect((await sessions.get(session("three"))).lastEnd).toMatchObject({ reason: "budget" });
});

test("a budget of an agent does not hold for another; a session's own wins over the default, and may be raised", async () => {
  sessions = await open(null, { budgets: { agents: { fake: { toolCalls: 1 } }, session: { steps: 1 } } });
  const id = session("one");
  await sessions.create(id, { agent: "mock" });
  expect(endOf(await turn(sessions, id, "hello"))?.reason).toBe("completed");
  expect(endOf(await turn(sessions, id, "hello"))?.reason).toBe("budget");
  await sessions.update(id, { budget: { session: { steps: 10 } } });
  expect(endOf(await turn(sessions, id, "hello"))?.reason).toBe("completed");
});

test("usage by day, agent, model and folder says the same in total", async () => {
  sessions = await open(null);
  for (const name of ["one", "two"]) {
    await sessions.create(session(name), { agent: "mock", directory: folder });
    await turn(sessions, session(name), "hello");
  }
  const total = (await sessions.usage({ by: "agent", ...month }))[0];
  expect(total).toMatchObject({ key: "mock", turns: 2, unknownPrices: [], estimatedUsd: null });
  for (const by of ["day", "model", "folder"] as const) {
    const rows = await sessions.usage({ by, ...month });
    expect(rows).toHaveLength(1);
    expect(rows).toMatchObject([{ turns: 2, usage: total?.usage, steps: total?.steps, toolCalls: total?.toolCalls }]);
  }
  expect((await sessions.usage({ by: "folder", ...month }))[0]?.key).toBe(folder);
  expect(usageCsv(await sessions.usage({ by: "agent", ...month }))).toMatch(/^key,turns,.*\r\nmock,2,/);
});

test("a cell that a spreadsheet would run, or that holds a comma, is only text", () => {
  const tokens = { input: 1, output: 0, reasoning: 0, cache_read: 0, cache_write: 0 };
  const usage = { tokens, cost_usd: null, priced: "none" as const };
  const row = { turns: 1, steps: 1, toolCalls: 0, timeMs: 5, usage, estimatedUsd: null, unknownPrices: [] };
  const csv = usageCsv([{ key: '=HYPERLINK("x"),1', ...row }]);
  expect(csv.split("\r\n")[1]).toBe('"\'=HYPERLINK(""x""),1",1,1,0,5,1,0,0,0,0,,,');
});

describe("prices", () => {
  test("a person's own win over the table's, until they are removed", () => {
    const prices = openPrices({ folder });
    const listed = prices.all()["gpt-5"];
    expect(listed).toBeDefined();
    expect(prices.rows().every(({ date }) => /^\d{4}-\d{2}-\d{2}$/.test(date ?? ""))).toBe(true);
    prices.set("GPT-5", { input: 1, output: 2 });
    expect(openPrices({ folder }).all()["gpt-5"]).toEqual({ input: 1, output: 2 });
    expect(prices.rows().filter(({ model }) => model === "gpt-5")).toEqual([
      { model: "gpt-5", input: 1, output: 2, from: "own" },
    ]);
    expect(prices.set("gpt-5", null)).toBe(true);
    expect(prices.set("gpt-5", null)).toBe(false);
    expect(prices.all()["gpt-5"]).toEqual(listed);
  });

  test("a file that is no list of prices is named, not ignored", () => {
    writeFileSync(join(folder, "prices.json"), '{"gpt-5": {"input": -1, "output": "free"}}');
    expect(() => openPrices({ folder }).all()).toThrow(/prices\.json is not a list of prices/);
  });
});
