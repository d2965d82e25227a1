/** Abort by prompt id: what waits leaves the queue, and nothing else changes. */
import { expect, test } from "vitest";
import { promptId } from "../../src/protocol/ids.ts";
import { machine, turnsOf } from "./machine.ts";

test("a queued prompt that is aborted leaves the queue alone; the turn and the other prompts stay", () => {
  const it = machine();
  for (const text of ["one", "two", "three"]) it.prompt(text);
  it.command({ type: "abort", clear_queue: false, prompt_id: promptId("two") });
  expect(it.outputs.filter(({ type }) => type === "prompt.dropped")).toEqual([
    { type: "prompt.dropped", prompt_id: "two" },
  ]);
  expect(turnsOf(it).at(-1)).toBe("turn.started user");
  it.hears({ type: "end", reason: "completed" });
  expect(it.outputs).toContainEqual({ type: "prompt.started", prompt_id: "three" });
});
