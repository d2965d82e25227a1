/** An end by error: one fatal `error` event before it, whatever the agent reported. */
import { describe, expect, test } from "vitest";
import type { Report } from "../../src/core/report.ts";
import { machine, turnsOf } from "./machine.ts";

const failed: Report = { type: "end", reason: "error", error: { message: "bad", code: "bad", details: null } };

describe("an end by error has exactly one fatal error before it", () => {
  const fatal = (it: ReturnType<typeof machine>) =>
    it.outputs.flatMap((one) =>
      one.type === "event" && one.draft.type === "error" && one.draft.data.fatal
        ? [{ message: one.draft.data.message, source: one.source, turn: one.turn_id !== null }]
        : [],
    );
  const report = (message: string, more: { fatal: boolean }): Report => ({
    type: "error",
    message,
    code: null,
    ...more,
  });

  test("the error of the end, where the agent reported none", () => {
    const it = machine();
    it.prompt("hello");
    it.hears(report("a warning", { fatal: false }), failed);
    expect(fatal(it)).toEqual([{ message: "bad", source: "agent", turn: true }]);
    expect(it.said().slice(-2)).toEqual(["error", "turn.ended error signal"]);
  });

  test("the first that the agent reported, and no other", () => {
    const it = machine();
    it.prompt("hello");
    it.hears(report("first", { fatal: true }), report("second", { fatal: true }), failed);
    expect(fatal(it)).toEqual([{ message: "first", source: "agent", turn: true }]);
    expect(it.said().filter((one) => one === "error")).toHaveLength(2);
  });

  test("one that nobody gave a reason for", () => {
    const it = machine();
    it.prompt("hello");
    it.hears({ type: "end", reason: "error" });
    expect(fatal(it)).toEqual([{ message: "The test agent failed and gave no reason.", source: "daemon", turn: true }]);
    expect(it.drafts.at(-1)).toMatchObject({ data: { error: { code: "agent_error" } } });
  });

  test("a crash, and an agent that fell silent: ours", () => {
    const crashed = machine();
    crashed.prompt("hello");
    crashed.exits({ code: 3 });
    expect(fatal(crashed)).toMatchObject([{ source: "daemon", turn: true }]);
    const silent = machine();
    silent.prompt("hello");
    silent.wait();
    expect(turnsOf(silent).at(-1)).toBe("turn.ended error watchdog");
    expect(fatal(silent)).toMatchObject([{ source: "daemon", turn: true }]);
  });

  test("outside of a turn nothing is fatal; an end that opens its own turn has its error in it", () => {
    const it = machine({ connected: true });
    it.hears(report("early", { fatal: true }));
    expect(fatal(it)).toEqual([]);
    it.hears({ ...failed, says: true });
    expect(fatal(it)).toEqual([{ message: "bad", source: "agent", turn: true }]);
  });

  test("each turn has its own", () => {
    const it = machine();
    for (const name of ["one", "two"]) {
      it.prompt(name);
      it.hears(failed);
    }
    expect(fatal(it)).toHaveLength(2);
  });
});
