/** The decision table, row by row, and what holds over every combination. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  type DecisionRules,
  decide,
  decideAfterCompaction,
  decisionTable,
  type Finish,
  type Outcome,
} from "../../../src/builtin/decide.ts";
import type { Failure } from "../../../src/builtin/failure.ts";

const calm: Outcome = {
  aborted: false,
  failure: null,
  finish: "stop",
  refused: false,
  unseenResults: false,
  silent: false,
  rejected: false,
  doomed: false,
  steered: false,
  overflow: false,
  compacted: false,
  lastStep: false,
  triedAgain: false,
};
const rules: DecisionRules = { continueOnDeny: false, autoCompact: true };
const failure = (kind: Failure["kind"]): Failure => ({
  kind,
  code: "some_code",
  message: "it broke",
  status: 500,
  headers: {},
});

type Case = [row: string, outcome: Partial<Outcome>, expected: object, rules?: Partial<DecisionRules>];

const cases: Case[] = [
  ["aborted", { aborted: true, failure: failure("context"), overflow: true }, { type: "stop", reason: "aborted" }],
  ["context error", { failure: failure("context"), finish: null }, { type: "compact" }],
  [
    "context error that compaction does not cure",
    { failure: failure("context"), finish: null, compacted: true },
    { type: "stop", reason: "error", error: { code: "context_overflow" } },
  ],
  [
    "context error that compaction does not cure",
    { failure: failure("context"), finish: null },
    { type: "stop", reason: "error", error: { code: "context_overflow" } },
    { autoCompact: false },
  ],
  [
    "error",
    { failure: failure("passing"), finish: null },
    { type: "stop", reason: "error", error: { code: "some_code" } },
  ],
  ["error", { failure: failure("lasting"), finish: null, steered: true }, { type: "stop", reason: "error" }],
  ["overflow", { overflow: true }, { type: "compact" }],
  ["overflow", { overflow: true, finish: "tool-calls", unseenResults: true }, { type: "compact" }],
  ["overflow", { overflow: true, rejected: true }, { type: "compact" }],
  ["rejected", { rejected: true, finish: "tool-calls", unseenResults: true }, { type: "stop", reason: "rejected" }],
  ["rejected", { rejected: true, overflow: true, compacted: true }, { type: "stop", reason: "rejected" }],
  [
    "doom loop",
    { doomed: true, finish: "tool-calls", unseenResults: true },
    { type: "stop", reason: "error", error: { code: "doom_loop" } },
  ],
  ["tool results to show", { rejected: true, unseenResults: true }, { type: "continue" }, { continueOnDeny: true }],
  [
    "overflow that compaction does not cure",
    { overflow: true, compacted: true, finish: "tool-calls", unseenResults: true },
    { type: "stop", reason: "error", error: { code: "context_overflow" } },
  ],
  ["done", { overflow: true, compacted: true }, { type: "stop", reason: "completed" }],
  ["tool results to show", { overflow: true, unseenResults: true }, { type: "continue" }, { autoCompact: false }],
  ["last step", { lastStep: true }, { type: "stop", reason: "max_steps" }],
  ["last step", { lastStep: true, finish: "tool-calls", steered: true }, { type: "stop", reason: "max_steps" }],
  ["length", { lastStep: true, finish: "length" }, { type: "stop", reason: "length" }],
  ["tool results to show", { finish: "tool-calls", unseenResults: true }, { type: "continue" }],
  ["tool results to show", { finish: "stop", unseenResults: true }, { type: "continue" }],
  ["tool results to show", { finish: "length", unseenResults: true }, { type: "continue" }],
  ["tool results to show", { finish: "unknown", unseenResults: true }, { type: "continue" }],
  ["steered", { steered: true }, { type: "continue" }],
  ["refusal", { finish: "content-filter", refused: true }, { type: "stop", reason: "refusal" }],
  ["content filter", { finish: "content-filter" }, { type: "stop", reason: "content_filter" }],
  ["length", { finish: "length" }, { type: "stop", reason: "length" }],
  ["empty answer", { finish: "unknown", silent: true }, { type: "continue" }],
  [
    "empty answer again",
    { finish: "unknown", silent: true, triedAgain: true },
    { type: "stop", reason: "error", error: { code: "no_answer" } },
  ],
  ["empty answer", { finish: "tool-calls" }, { type: "continue" }],
  ["empty answer again", { finish: "tool-calls", triedAgain: true }, { type: "stop", reason: "error" }],
  ["error finish", { finish: "error" }, { type: "stop", reason: "error", error: { code: "provider_error" } }],
  ["done", { finish: "stop" }, { type: "stop", reason: "completed" }],
  ["done", { finish: "stop", silent: true }, { type: "stop", reason: "completed" }],
  ["done", { finish: "other" }, { type: "stop", reason: "completed" }],
  ["done", { finish: "unknown" }, { type: "stop", reason: "completed" }],
];

test.each<Case>(cases)("%s: %j", (row, outcome, expected, given) => {
  const decision = decide({ ...calm, ...outcome }, { ...rules, ...given });
  expect(decision.row).toBe(row);
  expect(decision).toMatchObject(expected);
});

test("every row of the table has a case", () => {
  expect(new Set(cases.map(([row]) => row))).toEqual(new Set(decisionTable.map(({ name }) => name)));
});

describe("after a compaction", () => {
  test.each<[Partial<Outcome>, object]>([
    [{ failure: failure("context"), finish: null }, { type: "continue" }],
    [{ overflow: true }, { type: "stop", reason: "completed" }],
    [
      { overflow: true, rejected: true },
      { type: "stop", reason: "rejected" },
    ],
    [{ overflow: true, finish: "tool-calls", unseenResults: true }, { type: "continue" }],
  ])("%j", (outcome, expected) => {
    expect(decideAfterCompaction({ ...calm, ...outcome }, rules)).toMatchObject(expected);
  });
});

const anyOutcome = fc.record({
  aborted: fc.boolean(),
  failure: fc.constantFrom(null, failure("context"), failure("passing"), failure("lasting")),
  finish: fc.constantFrom<Finish | null>(
    "stop",
    "tool-calls",
    "length",
    "content-filter",
    "error",
    "other",
    "unknown",
    null,
  ),
  refused: fc.boolean(),
  unseenResults: fc.boolean(),
  silent: fc.boolean(),
  rejected: fc.boolean(),
  doomed: fc.boolean(),
  steered: fc.boolean(),
  overflow: fc.boolean(),
  compacted: fc.boolean(),
  lastStep: fc.boolean(),
  triedAgain: fc.boolean(),
});
const anyRules = fc.record({ continueOnDeny: fc.boolean(), autoCompact: fc.boolean() });

test("never compacts twice without progress, never goes on after an abort or an error, never past the last step", () => {
  fc.assert(
    fc.property(anyOutcome, anyRules, (outcome, given) => {
      const decision = decide(outcome, given);
      if (outcome.compacted || !given.autoCompact) expect(decision.type).not.toBe("compact");
      if (outcome.aborted) expect(decision).toMatchObject({ type: "stop", reason: "aborted" });
      if (outcome.failure !== null && decision.type === "continue") throw new Error("went on after an error");
      if (outcome.rejected && !given.continueOnDeny) expect(decision.type).not.toBe("continue");
      if (outcome.lastStep)
        expect(decision.type === "continue" && !outcome.refused && outcome.finish === "stop").toBe(false);
    }),
  );
});

test("a completed task has nothing open: no unseen result, no message, no error", () => {
  fc.assert(
    fc.property(anyOutcome, anyRules, (outcome, given) => {
      const decision = decide(outcome, given);
      if (decision.type !== "stop" || decision.reason !== "completed") return;
      expect(outcome).toMatchObject({ aborted: false, failure: null, unseenResults: false, steered: false });
    }),
  );
});
