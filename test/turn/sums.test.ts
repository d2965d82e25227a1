/** What was said adds up, and what it cost is counted once. */
import { describe, expect, test } from "vitest";
import type { Report } from "../../src/core/report.ts";
import { machineOptions, openText } from "./driver.ts";
import { machine } from "./machine.ts";

const end: Report = { type: "end", reason: "completed" };
const say = (key: string, text: string): Report[] => [
  openText(key),
  { type: "close", key, status: "completed", content: [{ type: "text", text }] },
];

describe("what was said adds up", () => {
  const text = (it: ReturnType<typeof machine>): string =>
    it.drafts.flatMap((draft) => (draft.type === "item.delta" ? [draft.data.delta] : [])).join("");

  test("one synthetic delta where the agent gave none", () => {
    const it = machine();
    it.prompt("hello");
    it.hears(...say("m1", "all at once"));
    expect(text(it)).toBe("all at once");
  });

  test("never both: the rest only", () => {
    const it = machine();
    it.prompt("hello");
    it.hears(openText("m1"), { type: "delta", key: "m1", part: "text", delta: "all " });
    it.hears({ type: "close", key: "m1", status: "completed", content: [{ type: "text", text: "all of it" }] });
    expect(text(it)).toBe("all of it");
  });

  test("a correction closes what was streamed and says the new text as a new item", () => {
    const it = machine();
    it.prompt("hello");
    it.hears(openText("m1"), { type: "delta", key: "m1", part: "text", delta: "wrong" });
    it.hears({ type: "close", key: "m1", status: "completed", content: [{ type: "text", text: "right" }] });
    expect(it.said().filter((line) => line.includes("message assistant"))).toEqual([
      "item.started message assistant",
      "item.completed message assistant failed",
      "item.started message assistant",
      "item.completed message assistant completed",
    ]);
  });

  test("a delta before its item gets a synthetic start", () => {
    const it = machine();
    it.prompt("hello");
    it.hears({ type: "delta", key: "m9", part: "text", delta: "early" });
    expect(it.said().slice(-2)).toEqual(["item.started message assistant", "item.delta early"]);
  });
});

describe("usage is counted once", () => {
  const tokens = (input: number) => ({ input, output: 0, reasoning: 0, cache_read: 0, cache_write: 0 });
  const ends = (it: ReturnType<typeof machine>) =>
    it.drafts.flatMap((draft) => (draft.type === "turn.ended" ? [draft.data.usage.tokens.input] : []));

  test("a session's counter becomes a difference per turn", () => {
    const it = machine();
    it.prompt("one");
    it.hears({ type: "usage", scope: "session", mode: "total", tokens: tokens(100), cost_usd: 1 }, end);
    it.prompt("two");
    it.hears({ type: "usage", scope: "session", mode: "total", tokens: tokens(150), cost_usd: 1.5 }, end);
    expect(ends(it)).toEqual([100, 50]);
    expect(it.state.usage.session).toMatchObject({ cost_usd: 1.5, priced: "full" });
  });

  test("steps and the turn's own total are not added twice", () => {
    const it = machine();
    it.prompt("one");
    it.hears({ type: "usage", scope: "step", mode: "add", tokens: tokens(60) });
    it.hears({ type: "usage", scope: "step", mode: "add", tokens: tokens(40) });
    it.hears({ type: "usage", scope: "turn", mode: "total", tokens: tokens(100), cost_usd: 2 }, end);
    expect(ends(it)).toEqual([100]);
    expect(it.state.usage.turn).toMatchObject({ cost_usd: 2, priced: "full" });
  });

  test("a conversation that began outside is not charged to us", () => {
    const it = machine({ ...machineOptions(), foreign: true });
    it.prompt("one");
    it.hears({ type: "usage", scope: "step", mode: "add", tokens: tokens(10) });
    it.hears({ type: "usage", scope: "session", mode: "total", tokens: tokens(5_010) }, end);
    it.prompt("two");
    it.hears({ type: "usage", scope: "session", mode: "total", tokens: tokens(5_030) }, end);
    expect(ends(it)).toEqual([10, 20]);
  });
});
