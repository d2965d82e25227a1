/** The continuation governor inside the machine: it is bounded, it obeys, and listeners see one busy and one idle. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Report } from "../../src/core/report.ts";
import type { Todo } from "../../src/protocol/events.ts";
import { TurnId } from "../../src/protocol/id-schemas.ts";
import type { FinishTodos } from "../../src/protocol/resources.ts";
import { callReports, closeResult, policy } from "./driver.ts";
import { type Machine, machine, turnsOf } from "./machine.ts";

const end: Report = { type: "end", reason: "completed" };

const todos = (...statuses: Todo["status"][]): Report => ({
  type: "todo",
  todos: statuses.map((status, index) => ({ id: `${index}`, content: `task ${index}`, status })),
});

const governed = (finishTodos: FinishTodos, options: { askPlugins?: boolean } = {}): Machine =>
  machine({ policy: { ...policy, finishTodos, askPlugins: options.askPlugins ?? false } });

const continued = (it: Machine): string[] => turnsOf(it).filter((line) => line.startsWith("turn.continued"));

describe("it continues", () => {
  test("inside the same turn while todos are closed one by one, then settles", () => {
    const it = governed(true);
    it.prompt("work");
    it.hears(todos("pending", "pending"), end);
    it.hears(todos("completed", "in_progress"), end);
    it.hears(todos("completed", "completed"), end);
    expect(turnsOf(it)).toEqual([
      "turn.started user",
      "turn.continued continue",
      "turn.continued continue",
      "turn.ended completed signal",
    ]);
    const prompts = it.outputs.flatMap((one) => (one.type === "command" && one.command.type === "prompt" ? [one] : []));
    expect(prompts).toHaveLength(3);
    expect(JSON.stringify(prompts)).not.toMatch(/without asking/i);
  });

  test("for a plugin's reason, under the same bounds", () => {
    const it = governed(false, { askPlugins: true });
    it.prompt("work");
    it.hears(end);
    const proposals = [{ plugin: "tests", reason: "a test fails", prompt: "Please mend the test." }];
    for (let attempt = 0; attempt < 10 && it.state.turn !== null; attempt += 1) {
      it.feed({ type: "proposals", turn_id: it.state.turn.id, proposals, at: it.state.at + 1 });
      it.hears(end);
    }
    expect(continued(it)).toEqual(["turn.continued continue", "turn.continued settle"]);
  });
});

const openTurn = ({ state }: Machine): TurnId => state.turn?.id ?? TurnId.parse("none");

/** Why it settled, as it says. */
const settledBecause = (it: Machine): string[] =>
  it.drafts.flatMap((draft) =>
    draft.type === "turn.continued" && draft.data.decision === "settle" ? [draft.data.reason] : [],
  );

describe("the reason it gives is true", () => {
  test("todos are open, but neither the session nor a plugin asked to continue", () => {
    const it = governed(false, { askPlugins: true });
    it.prompt("work");
    it.hears(todos("pending", "completed"), end);
    it.feed({ type: "proposals", turn_id: openTurn(it), proposals: [], at: it.state.at + 1 });
    expect(settledBecause(it)).toEqual(["1 todo is open, and nobody asked to continue"]);
  });

  test("several continuations in a row may pass without progress", () => {
    const it = governed({ maxWithoutProgress: 1, maxContinuations: 20 });
    it.prompt("work");
    for (let round = 0; round < 5 && (round === 0 || it.state.turn !== null); round += 1)
      it.hears(todos("pending"), end);
    expect(settledBecause(it)).toEqual(["the last 2 continuations closed no more todos than before"]);
  });

  test("a todo that is opened again and closed again is no progress", () => {
    const it = governed({ maxContinuations: 20 });
    it.prompt("work");
    it.hears(todos("completed", "pending"), end);
    it.hears(todos("pending", "pending"));
    it.hears(todos("completed", "pending"), end);
    expect(settledBecause(it)).toEqual(["the last continuation closed no more todos than before"]);
  });
});

describe("it stops", () => {
  test("after one attempt without progress, and says why", () => {
    const it = governed(true);
    it.prompt("work");
    it.hears(todos("pending", "pending"), end);
    it.hears(end);
    expect(continued(it)).toEqual(["turn.continued continue", "turn.continued settle"]);
    expect(it.drafts).toContainEqual(
      expect.objectContaining({
        data: expect.objectContaining({ reason: "the last continuation closed no more todos than before" }),
      }),
    );
  });

  test.each([
    ["status churn", todos("in_progress", "pending")],
    ["added todos", todos("pending", "pending", "pending")],
    ["a re-worded list", { type: "todo", todos: [{ id: "9", content: "else", status: "pending" }] } as const],
  ])("%s is not progress", (_name, report) => {
    const it = governed(true);
    it.prompt("work");
    it.hears(todos("pending", "pending"), end);
    it.hears(report, end);
    expect(turnsOf(it).at(-1)).toBe("turn.ended completed signal");
  });

  test("when the same call has the same result three times", () => {
    const it = governed({ maxWithoutProgress: 20, maxContinuations: 20 });
    it.prompt("work");
    it.hears(todos("pending"));
    for (let round = 0; round < 10 && it.state.turn !== null; round += 1) {
      it.hears(...callReports(`c${round}`), closeResult(`c${round}`), end);
    }
    expect(continued(it)).toHaveLength(3);
  });

  test("when the plugins do not answer in time it settles without them", () => {
    const it = governed(false, { askPlugins: true });
    it.prompt("work");
    it.hears(end);
    expect(it.wait()).toBe(true);
    expect(turnsOf(it).at(-1)).toBe("turn.ended completed signal");
  });

  test("a prompt that arrives while settling wins", () => {
    const it = governed(true, { askPlugins: true });
    it.prompt("work");
    it.hears(todos("pending"), end);
    it.prompt("something else");
    expect(turnsOf(it)).toEqual(["turn.started user", "turn.ended completed signal", "turn.started queue"]);
  });

  test("when the budget is used up", () => {
    const it = governed({ budgetUsd: 1, maxContinuations: 20 });
    it.prompt("work");
    it.hears(todos("pending"), { type: "usage", scope: "turn", mode: "total", cost_usd: 2 }, end);
    expect(continued(it)).toEqual(["turn.continued settle"]);
  });

  test.each([
    ["an abort", { type: "abort", clear_queue: false } as const],
    ["the stop switch", { type: "stop_continuing" } as const],
  ])("for good after %s, also for later prompts", (_name, command) => {
    const it = governed(true);
    it.prompt("work");
    it.command(command);
    it.hears(todos("pending"), end);
    it.prompt("more");
    it.hears(end);
    expect(continued(it)).not.toContain("turn.continued continue");
  });
});

type Step = { readonly type: "reports"; readonly reports: readonly Report[] } | { readonly type: "prompt" | "abort" };

const status = fc.constantFrom<Todo["status"]>("pending", "in_progress", "completed", "cancelled");
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.constant<Step>({ type: "reports", reports: [end] }) },
  {
    weight: 4,
    arbitrary: fc.array(status, { maxLength: 5 }).map((list): Step => ({ type: "reports", reports: [todos(...list)] })),
  },
  { weight: 1, arbitrary: fc.constant<Step>({ type: "prompt" }) },
  { weight: 1, arbitrary: fc.constant<Step>({ type: "abort" }) },
  {
    weight: 1,
    arbitrary: fc.constantFrom<Step>(
      { type: "reports", reports: [{ type: "background", open: [{ id: "job", kind: "command", title: "job" }] }] },
      { type: "reports", reports: [{ type: "background", open: [] }] },
    ),
  },
);

describe("over arbitrary histories", () => {
  const limits = fc.record({
    maxContinuations: fc.integer({ min: 0, max: 20 }),
    maxWithoutProgress: fc.integer({ min: 0, max: 3 }),
  });

  test("never more continuations than the cap, never after an abort, never while something waits", () => {
    fc.assert(
      fc.property(limits, fc.array(step, { maxLength: 80, size: "max" }), (finishTodos, steps) => {
        const it = governed(finishTodos);
        it.prompt("work");
        let aborted = false;
        for (const one of steps) {
          const before = it.outputs.length;
          const waiting = it.state.background.length + it.state.queue.length + it.state.requests.size;
          play(it, one);
          if (one.type === "abort" && it.outputs.length > before) aborted = true;
          const goesOn = it.outputs.slice(before).some(isContinuation);
          if (goesOn) expect([aborted, waiting]).toEqual([false, 0]);
        }
        expect(mostPerTurn(it)).toBeLessThanOrEqual(finishTodos.maxContinuations);
      }),
      { numRuns: 300 },
    );
  });

  test("without progress it settles after at most maxWithoutProgress + 1 continuations", () => {
    fc.assert(
      fc.property(
        limits,
        fc.array(fc.constantFrom("pending", "in_progress"), { minLength: 1 }),
        (finishTodos, list) => {
          const it = governed(finishTodos);
          it.prompt("work");
          it.hears(todos(...list.map((one) => (one === "pending" ? "pending" : "in_progress"))));
          let ends = 0;
          for (; it.state.turn !== null && ends < 100; ends += 1) it.hears(end);
          expect(continued(it).filter((line) => line.endsWith("continue")).length).toBeLessThanOrEqual(
            finishTodos.maxWithoutProgress + 1,
          );
          expect(it.state.turn).toBeNull();
        },
      ),
    );
  });

  test("the same history gives the same decisions", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const [first, second] = [governed(true), governed(true)];
        for (const it of [first, second]) {
          it.prompt("work");
          for (const one of steps) play(it, one);
        }
        expect(first.outputs).toEqual(second.outputs);
      }),
    );
  });
});

function play(it: Machine, one: Step): void {
  if (one.type === "reports") return it.hears(...one.reports);
  if (one.type === "abort") return it.command({ type: "abort", clear_queue: false });
  it.prompt(`p${it.outputs.length}`);
}

const isContinuation = (output: Machine["outputs"][number]): boolean =>
  output.type === "event" && output.draft.type === "turn.continued" && output.draft.data.decision === "continue";

function mostPerTurn(it: Machine): number {
  const counts = new Map<string, number>();
  for (const draft of it.drafts) {
    if (draft.type !== "turn.continued" || draft.data.decision !== "continue") continue;
    counts.set(draft.data.turn_id, (counts.get(draft.data.turn_id) ?? 0) + 1);
  }
  return Math.max(0, ...counts.values());
}
