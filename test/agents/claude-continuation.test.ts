/** The real Claude Code goes on with its open todos inside the turn, stops when it must, and stays stopped. */
import { expect, test } from "vitest";
import { answer, answers, type Bench, call, missing, openBench, stalled, text } from "../support/claude.ts";
import { speaksOn, turnStory, userWords } from "../support/continuation.ts";
import { describeNeeding } from "../support/requires.ts";
import { turn } from "../support/sessions.ts";

const todos = (...statuses: readonly string[]) =>
  call("TodoWrite", {
    todos: statuses.map((status, index) => ({
      content: `Task ${index + 1}`,
      status,
      activeForm: `Doing task ${index + 1}`,
    })),
  });

const create = (subject: string) => call("TaskCreate", { subject, description: `${subject}, in full.` });
const complete = (taskId: string) => call("TaskUpdate", { taskId, status: "completed" });

/** Which of its two kinds of todos the CLI offers depends on version, model and these variables. */
const lists = { CLAUDE_CODE_ENABLE_TODO_TOOLS: "1", CLAUDE_CODE_ENABLE_TASKS: "0" };
const tasks = { CLAUDE_CODE_ENABLE_TODO_TOOLS: "1" };

const begin = ({ create: open, env }: Bench, more: Readonly<Record<string, string>> = lists): Promise<void> =>
  open({ finishTodos: true, env: { ...env, ...more } });

const statuses = async ({ sessions, id }: Bench): Promise<string[]> =>
  (await sessions.get(id)).todos.map(({ status }) => status);

describeNeeding("Claude Code, going on", { missing }, () => {
  test.each([
    {
      kind: "TodoWrite",
      env: lists,
      begun: answer(todos("pending", "pending")),
      finished: answer(todos("completed", "completed")),
    },
    {
      kind: "tasks",
      env: tasks,
      begun: answer(create("Task 1"), create("Task 2")),
      finished: answer(complete("1"), complete("2")),
    },
  ])("two open todos ($kind): it goes on in the same turn and finishes", async ({ env, begun, finished }) => {
    const bench = await openBench({
      script: () => ({ turns: [begun, answer(text("I stop early.")), finished, answer(text("All done."))] }),
    });
    await begin(bench, env);
    const events = await turn(bench.sessions, bench.id, "Do both");
    expect(turnStory(events)).toEqual(["started", "continue: 2 todos are open", "completed"]);
    expect(answers(events)).toEqual(["I stop early.", "All done."]);
    expect(userWords(events)).toEqual(["Do both", expect.stringContaining("- [pending] Task 2")]);
    expect(bench.told("Your todo list still has 2 open entries", 2)).toBe(true);
    expect(await statuses(bench)).toEqual(["completed", "completed"]);
  });

  test("a stubborn model is asked once, and the log says why it was not asked again", async () => {
    const bench = await openBench({
      script: () => ({
        turns: [answer(todos("completed", "pending", "pending")), answer(text("I would rather not."))],
      }),
    });
    await begin(bench);
    const events = await turn(bench.sessions, bench.id, "Do all three");
    expect(turnStory(events)).toEqual([
      "started",
      "continue: 2 todos are open",
      "settle: the last continuation closed no more todos than before",
      "completed",
    ]);
    expect(bench.model.requests).toHaveLength(3);
    expect(await statuses(bench)).toEqual(["completed", "pending", "pending"]);
  });

  test("an abort during a continuation switches it off for the session", async () => {
    const bench = await openBench({
      script: () => ({
        turns: [
          answer(todos("pending", "pending")),
          answer(text("I stop early.")),
          stalled("A continuation that nobody wants to hear to its end"),
          answer(text("Here again.")),
        ],
      }),
    });
    await begin(bench);
    await bench.sessions.prompt(bench.id, { text: "Do both" });
    const { sequence } = await speaksOn(bench.sessions, bench.id);
    await bench.sessions.abort(bench.id, { clearQueue: false });
    await bench.last("turn.ended", sequence);
    expect(turnStory(await bench.log())).toEqual(["started", "continue: 2 todos are open", "aborted"]);
    const next = await turn(bench.sessions, bench.id, "Still there?");
    // The todos are still open, and nobody is asked to go on.
    expect(await statuses(bench)).toEqual(["pending", "pending"]);
    expect(turnStory(next)).toEqual(["started", "completed"]);
    expect(answers(next)).toEqual(["Here again."]);
    expect(bench.model.requests).toHaveLength(4);
  });
});
