/** The real Codex goes on with what is open in its plan inside the turn, stops when it must, and stays stopped. */
import { expect, test } from "vitest";
import { answerOf, type CodexAgent, calls, checked, describeCodex, says, seen } from "../support/codex-agent.ts";
import { speaksOn, turnStory, userWords } from "../support/continuation.ts";
import { turn } from "../support/sessions.ts";

const plan = (...statuses: readonly string[]) =>
  calls({
    name: "update_plan",
    input: { plan: statuses.map((status, index) => ({ step: `Task ${index + 1}`, status })) },
  });

const setup = { config: "tools.update_plan.enabled = true" };

const statuses = async ({ sessions }: CodexAgent, id: Parameters<CodexAgent["sessions"]["get"]>[0]) =>
  (await sessions.get(id)).todos.map(({ status }) => status);

describeCodex("codex: going on", (start) => {
  test("two open todos: it goes on in the same turn and finishes", async () => {
    const codex = await start(
      {
        turns: [plan("pending", "pending"), says("I stop early. "), plan("completed", "completed"), says("All done.")],
      },
      setup,
    );
    const id = await codex.create("s", { finishTodos: true });
    const events = await turn(codex.sessions, id, "Do both");
    expect(turnStory(events)).toEqual(["started", "continue: 2 todos are open", "completed"]);
    expect(answerOf(events)).toBe("I stop early. All done.");
    expect(userWords(events)).toEqual(["Do both", expect.stringContaining("- [pending] Task 2")]);
    expect(codex.server.requests[2]?.messages).toContain("Your todo list still has 2 open entries");
    expect(await statuses(codex, id)).toEqual(["completed", "completed"]);
    await checked(codex, id);
  });

  test("a stubborn model is asked once, and the log says why it was not asked again", async () => {
    const codex = await start(
      { turns: [plan("completed", "in_progress", "pending"), says("I would rather not.")] },
      setup,
    );
    const id = await codex.create("s", { finishTodos: true });
    const events = await turn(codex.sessions, id, "Do all three");
    expect(turnStory(events)).toEqual([
      "started",
      "continue: 2 todos are open",
      "settle: the last continuation closed no more todos than before",
      "completed",
    ]);
    expect(codex.server.requests).toHaveLength(3);
    expect(await statuses(codex, id)).toEqual(["completed", "in_progress", "pending"]);
    await checked(codex, id);
  });

  test("an abort during a continuation switches it off for the session", async () => {
    const endless = says("A continuation that nobody wants to hear", { fault: { type: "hang", afterChunks: 1 } });
    const codex = await start(
      { turns: [plan("pending", "pending"), says("I stop early."), endless, says("Here again.")] },
      setup,
    );
    const id = await codex.create("s", { finishTodos: true });
    await codex.sessions.prompt(id, { text: "Do both" });
    const { sequence } = await speaksOn(codex.sessions, id);
    await codex.sessions.abort(id, { clearQueue: false });
    await seen(codex.sessions, id, ({ type }) => type === "turn.ended", { after: sequence });
    expect(turnStory(await checked(codex, id))).toEqual(["started", "continue: 2 todos are open", "aborted"]);
    const next = await turn(codex.sessions, id, "Still there?");
    // The todos are still open, and nobody is asked to go on.
    expect(await statuses(codex, id)).toEqual(["pending", "pending"]);
    expect(turnStory(next)).toEqual(["started", "completed"]);
    expect(answerOf(next)).toBe("Here again.");
    expect(codex.server.requests).toHaveLength(4);
    await checked(codex, id);
  });
});
