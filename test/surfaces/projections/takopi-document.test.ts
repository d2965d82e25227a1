/** What the OpenCode to Takopi mapping says of tools and usage, through the lines that `opencode run` prints. */
import { expect, test } from "vitest";
import { opencodeRun } from "../../../src/adapters/opencode/run.ts";
import { convertLines } from "../../../src/core/convert.ts";
import { recordedFrom } from "../../../src/dialects/recording.ts";
import type { TakopiEvent } from "../../../src/dialects/takopi.ts";
import { toTakopi } from "../../support/dialects.ts";

const run = (...lines: object[]): TakopiEvent[] =>
  toTakopi(convertLines(opencodeRun, [{ type: "step_start", sessionID: "ses_XXX" }, ...lines].map(recordedFrom)));
const finish = (part: object = {}) => ({ type: "step_finish", part: { reason: "stop", ...part } });

test.each([
  ["bash", "command"],
  ["shell", "command"],
  ["edit", "file_change"],
  ["write", "file_change"],
  ["multiedit", "file_change"],
  ["read", "tool"],
  ["glob", "tool"],
  ["grep", "tool"],
  ["websearch", "web_search"],
  ["web_search", "web_search"],
  ["webfetch", "web_search"],
  ["web_fetch", "web_search"],
  ["todowrite", "note"],
  ["todoread", "note"],
  ["task", "tool"],
  ["anything_else", "tool"],
])("the tool %s is of kind %s", (tool, kind) => {
  const lines = run({ type: "tool_use", part: { tool, state: { status: "completed" } } }, finish());
  const actions = lines.flatMap((line) => (line.type === "action" && line.action.kind !== "turn" ? [line] : []));
  expect(actions.map(({ phase, action }) => [phase, action.kind])).toEqual([
    ["started", kind],
    ["completed", kind],
  ]);
});

test("usage adds up over all steps of the run, in the documented shape", () => {
  const tokens = { input: 100, output: 10, reasoning: 1, cache: { read: 7, write: 3 } };
  const lines = run(finish({ reason: "tool-calls", tokens, cost: 0.25 }), finish({ tokens, cost: 0.5 }));
  expect(lines.at(-1)).toMatchObject({
    type: "completed",
    usage: {
      total_cost_usd: 0.75,
      tokens: { input: 200, output: 20, reasoning: 2, cache_read: 14, cache_write: 6 },
    },
  });
});

test("a tool that failed, or exited with another code, is not ok", () => {
  const failed = { type: "tool_use", part: { tool: "bash", state: { status: "error", error: "no" } } };
  const exited = { type: "tool_use", part: { tool: "bash", state: { status: "completed", metadata: { exit: 2 } } } };
  const outcomes = run(failed, exited, finish()).flatMap((line) =>
    line.type === "action" && line.action.kind === "command" && line.phase === "completed" ? [line.ok] : [],
  );
  expect(outcomes).toEqual([false, false]);
});
