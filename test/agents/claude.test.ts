/** The real Claude Code, driven through the runtime against a scripted model: what it says, asks and does. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { sessionId } from "../../src/protocol/ids.ts";
import {
  answer,
  answers,
  type Bench,
  bash,
  call,
  ends,
  missing,
  of,
  openBench,
  processesOf,
  sandbox,
  text,
} from "../support/claude.ts";
import { describeNeeding } from "../support/requires.ts";
import { turn } from "../support/sessions.ts";

describeNeeding("Claude Code", { missing }, () => {
  test("reads a file and edits it: deltas, one end, the file changed, the cost known", async () => {
    const bench = await openBench({
      script: (directory) => ({
        turns: [
          answer(text("I'll read the file first.", 4), call("Read", { file_path: join(directory, "README.md") })),
          answer(
            call("Edit", {
              file_path: join(directory, "README.md"),
              old_string: "First line.\n",
              new_string: "First line.\nAdded by the agent.\n",
            }),
          ),
          answer(text("Done: a line was added.", 5)),
        ],
      }),
    });
    await bench.create({ permissionMode: "acceptEdits" });
    const events = await turn(bench.sessions, bench.id, "Read README.md and add a line at the end");
    expect(ends(events)).toEqual(["completed/signal"]);
    expect(answers(events)).toEqual(["I'll read the file first.", "Done: a line was added."]);
    expect(readFileSync(join(bench.directory, "README.md"), "utf8")).toBe(
      "# Demo\n\nFirst line.\nAdded by the agent.\n",
    );
    const deltas = of(events, "item.delta").filter(({ data }) => data.part === "text");
    expect(deltas).toHaveLength(9);
    expect(deltas.every(({ synthetic }) => !synthetic)).toBe(true);
    const files = of(events, "item.completed").flatMap(({ data }) =>
      data.item.content.flatMap((part) => (part.type === "file_ref" ? [part] : [])),
    );
    expect(files.map(({ action }) => action)).toEqual(["read", "patch"]);
    expect(files[1]?.diff).toContain("+Added by the agent.");
    const [end] = of(events, "turn.ended");
    expect(end?.data.usage).toMatchObject({ tokens: { input: 300, output: 60 }, priced: "full" });
    expect(of(events, "usage.updated").filter(({ data }) => data.step !== null)).toHaveLength(3);
    expect(await bench.sessions.get(bench.id)).toMatchObject({ status: "idle", agent: "claude" });
  });

  test("asks for permission: allowed once, denied with a word, allowed for the session, rejected", async () => {
    const bench = await openBench({
      script: () => ({
        turns: [
          answer(bash("touch one.txt")),
          answer(bash("touch two.txt")),
          answer(bash("touch three.txt")),
          answer(bash("touch three.txt")),
          answer(text("All tried.")),
        ],
      }),
    });
    await bench.create();
    const { sequence } = await bench.sessions.prompt(bench.id, { text: "Make files" });
    const once = await bench.last("permission.requested", sequence);
    expect(once.data).toMatchObject({
      action: "bash",
      metadata: { tool: "Bash", input: { command: "touch one.txt" } },
    });
    expect((await bench.sessions.get(bench.id)).status).toBe("requires_action");
    await bench.sessions.replyPermission(bench.id, once.data.permission_id, { reply: "once" });
    const second = await bench.last("permission.requested", once.sequence);
    await bench.sessions.replyPermission(bench.id, second.data.permission_id, { reply: "reject", message: "Not two." });
    const third = await bench.last("permission.requested", second.sequence);
    await bench.sessions.replyPermission(bench.id, third.data.permission_id, { reply: "always" });
    const end = await bench.last("turn.ended", third.sequence);
    expect(end.data.reason).toBe("completed");
    const log = await bench.log();
    expect(of(log, "permission.requested")).toHaveLength(3);
    expect(of(log, "permission.resolved").map(({ data }) => data.status)).toEqual([
      "accept",
      "reject",
      "accept_for_session",
    ]);
    expect(["one", "two", "three"].map((name) => existsSync(join(bench.directory, `${name}.txt`)))).toEqual([
      true,
      false,
      true,
    ]);
    expect(bench.told("Not two.", 2)).toBe(true);

    bench.model.load({ turns: [answer(bash("touch four.txt")), answer(text("Never said."))] });
    const next = await bench.sessions.prompt(bench.id, { text: "Another" });
    const fourth = await bench.last("permission.requested", next.sequence);
    await bench.sessions.replyPermission(bench.id, fourth.data.permission_id, { reply: "reject" });
    expect((await bench.last("turn.ended", fourth.sequence)).data.reason).toBe("rejected");
    expect(existsSync(join(bench.directory, "four.txt"))).toBe(false);
  });

  test("asks questions, several at once, and is told the answers", async () => {
    const bench = await openBench({
      script: () => ({
        turns: [
          answer(
            call("AskUserQuestion", {
              questions: [
                question("Which database?", { labels: ["SQLite", "Postgres"], multiSelect: false }),
                question("Which features?", { labels: ["Auth", "Search"], multiSelect: true }),
              ],
            }),
          ),
          answer(text("As you wish.")),
        ],
      }),
    });
    await bench.create();
    const { sequence } = await bench.sessions.prompt(bench.id, { text: "Ask me" });
    const asked = await bench.last("question.requested", sequence);
    expect(asked.data.questions.map(({ multiple }) => multiple)).toEqual([false, true]);
    await bench.sessions.replyQuestion(bench.id, asked.data.question_id, [["Postgres"], ["Auth", "Search"]]);
    expect((await bench.last("turn.ended", asked.sequence)).data.reason).toBe("completed");
    expect(bench.told("Postgres")).toBe(true);
    expect(bench.told("Auth, Search")).toBe(true);
  });

  test("plans, and begins when the plan is approved", async () => {
    const bench = await openBench({
      script: () => ({ turns: [answer(call("ExitPlanMode", { plan: "1. Do it" })), answer(text("Beginning."))] }),
    });
    await bench.create({ permissionMode: "plan" });
    const { sequence } = await bench.sessions.prompt(bench.id, { text: "Plan it" });
    const asked = await bench.last("question.requested", sequence);
    await bench.sessions.replyQuestion(bench.id, asked.data.question_id, [["Approve the plan"]]);
    await bench.last("turn.ended", asked.sequence);
    const log = await bench.log();
    expect(ends(log)).toEqual(["completed/signal"]);
    expect(answers(log)).toEqual(["1. Do it", "Beginning."]);
  });

  test("turns follow each other on one process; model and mode change in between", async () => {
    const bench = await openBench({ script: () => ({ turns: [answer(text("One.")), answer(text("Two."))] }) });
    await bench.create();
    const first = await turn(bench.sessions, bench.id, "First");
    const [before] = processesOf(bench.id);
    await bench.sessions.update(bench.id, { model: "claude-sonnet-4-5", permissionMode: "acceptEdits" });
    const second = await turn(bench.sessions, bench.id, "Second");
    expect([...ends(first), ...ends(second)]).toEqual(["completed/signal", "completed/signal"]);
    expect([...answers(first), ...answers(second)]).toEqual(["One.", "Two."]);
    expect(processesOf(bench.id)[0]?.pid).toBe(before?.pid);
    expect(bench.model.requests.map(({ model }) => model).at(-1)).toBe("claude-sonnet-4-5");
    expect(bench.told("First")).toBe(true);
    expect(await bench.sessions.get(bench.id)).toMatchObject({
      model: "claude-sonnet-4-5",
      permissionMode: "acceptEdits",
    });
  });

  test("a message sent while busy waits its turn, or is steered into the running one", async () => {
    const bench = await openBench({
      script: () => ({ turns: [answer(bash("sleep 1; ls")), answer(text("Both seen.")), answer(text("Queued."))] }),
    });
    await bench.create(sandbox(bench));
    const { sequence } = await bench.sessions.prompt(bench.id, { text: "First" });
    await toolRuns(bench, sequence);
    await bench.sessions.prompt(bench.id, { text: "Steered in", delivery: "steer" });
    await bench.sessions.prompt(bench.id, { text: "Queued up" });
    const end = await bench.last("turn.ended", sequence);
    await bench.last("turn.ended", end.sequence);
    const log = await bench.log();
    expect(ends(log)).toEqual(["completed/signal", "completed/signal"]);
    expect(of(log, "turn.started").map(({ data }) => data.origin)).toEqual(["user", "queue"]);
    expect(bench.told("Steered in", 1)).toBe(true);
    expect(bench.told("Queued up", 1)).toBe(false);
    expect(answers(log)).toEqual(["Both seen.", "Queued."]);
  });

  test("a job in the background ends later and wakes the agent: a turn of its own", async () => {
    const bench = await openBench({
      script: () => ({
        turns: [
          answer(bash("sleep 1; echo woken", { run_in_background: true })),
          answer(text("Started.")),
          answer(text("The job ended.")),
        ],
      }),
    });
    await bench.create(sandbox(bench));
    const first = await turn(bench.sessions, bench.id, "Start a job");
    expect(ends(first)).toEqual(["completed/signal"]);
    expect(of(first, "turn.ended")[0]?.data.background).toMatchObject([{ kind: "command", title: "A step" }]);
    await bench.last("turn.ended", first.at(-1)?.sequence ?? 0);
    const log = await bench.log();
    expect(of(log, "turn.started").map(({ data }) => data.origin)).toEqual(["user", "background"]);
    expect(answers(log)).toEqual(["Started.", "The job ended."]);
    expect(of(log, "turn.ended").at(-1)?.data.background).toEqual([]);
  });

  test.each(["foreground", "background"])(
    "a subagent in the %s: its items are marked, its cost is counted once",
    async (where) => {
      const inBackground = where === "background";
      const bench = await openBench({
        script: (directory) => ({
          turns: [
            answer(
              call("Agent", {
                description: "Look at the readme",
                prompt: "SUBAGENT: read it",
                subagent_type: "general-purpose",
                run_in_background: inBackground,
              }),
            ),
            answer(text("The helper was asked.")),
            answer(text("The helper reported.")),
          ],
          side: [
            {
              name: "subagent",
              match: { firstMessageContains: "SUBAGENT: read it" },
              turns: [answer(call("Read", { file_path: join(directory, "README.md") })), answer(text("One line."))],
            },
          ],
        }),
      });
      await bench.create(sandbox(bench));
      const first = await turn(bench.sessions, bench.id, "Use a helper");
      if (inBackground) await bench.last("turn.ended", first.at(-1)?.sequence ?? 0);
      const log = await bench.log();
      expect(ends(log)).toEqual(inBackground ? ["completed/signal", "completed/signal"] : ["completed/signal"]);
      const own = of(log, "item.completed").filter(({ data }) => data.item.subagent !== undefined);
      expect(own.map(({ data }) => data.item.kind)).toEqual(
        expect.arrayContaining(["status", "tool_call", "tool_result"]),
      );
      expect(new Set(own.map(({ data }) => data.item.subagent?.id)).size).toBe(1);
      expect(own.every(({ data }) => data.item.status === "completed")).toBe(true);
      const requests = bench.model.requests.length;
      expect((await bench.sessions.get(bench.id)).usage.tokens).toMatchObject({
        input: requests * 100,
        output: requests * 20,
      });
    },
  );

  test("a branch goes on from the same conversation, in one of its own", async () => {
    const bench = await openBench({
      script: () => ({ turns: [answer(text("The word is fig.")), answer(text("Fig."))] }),
    });
    await bench.create();
    await turn(bench.sessions, bench.id, "Remember a word");
    const branch = sessionId(`${bench.id}-branch`);
    await bench.sessions.fork(bench.id, branch);
    const events = await turn(bench.sessions, branch, "Which word?");
    expect(ends(events)).toEqual(["completed/signal"]);
    expect(bench.told("The word is fig.")).toBe(true);
    const ids = await Promise.all([bench.id, branch].map(async (id) => (await bench.sessions.get(id)).nativeSessionId));
    expect(new Set(ids).size).toBe(2);
  });

  test("what was taken back is unknown to it: from the middle of a conversation, and from its beginning", async () => {
    const words = ["One.", "Two.", "Three.", "Four."];
    const bench = await openBench({ script: () => ({ turns: words.map((word) => answer(text(word))) }) });
    await bench.create();
    const lastRequest = () => JSON.stringify(bench.model.requests.at(-1));
    const messageOf = async (prompt: string): Promise<string> =>
      (await bench.sessions.get(bench.id)).items.find(({ content }) => JSON.stringify(content).includes(prompt))
        ?.message_id ?? "";
    await turn(bench.sessions, bench.id, "first question");
    await turn(bench.sessions, bench.id, "second question");
    await bench.sessions.revert(bench.id, { message_id: await messageOf("second question") });
    const events = await turn(bench.sessions, bench.id, "third question");
    expect(ends(events)).toEqual(["completed/signal"]);
    expect(lastRequest()).toMatch(/first question.*One\..*third question/);
    expect(lastRequest()).not.toMatch(/second question|Two\./);
    await bench.sessions.revert(bench.id, { message_id: await messageOf("first question") });
    await turn(bench.sessions, bench.id, "fourth question");
    expect(lastRequest()).not.toMatch(/first question|third question/);
  });

  test("compaction is a turn with a state of its own, and the session goes on", async () => {
    const bench = await openBench({
      script: () => ({
        turns: [answer(text("One.")), answer(text("Two.")), answer(text("Three."))],
        side: [
          {
            name: "compaction",
            match: { messageContains: "summary of the conversation" },
            turns: [answer(text("<summary>They counted.</summary>"))],
          },
        ],
      }),
    });
    await bench.create();
    await turn(bench.sessions, bench.id, "Count");
    const second = await turn(bench.sessions, bench.id, "Go on");
    await bench.sessions.compact(bench.id);
    const end = await bench.last("turn.ended", second.at(-1)?.sequence ?? 0);
    expect(end.data.reason).toBe("completed");
    await turn(bench.sessions, bench.id, "And on");
    const log = await bench.log();
    expect(of(log, "turn.state").map(({ data }) => data.state)).toContain("compacting");
    const summaries = of(log, "item.completed").filter(({ data }) => data.item.kind === "system");
    expect(JSON.stringify(summaries)).toContain("They counted.");
    expect(ends(log)).toEqual(Array.from({ length: 4 }, () => "completed/signal"));
  });

  test("a tool input of a megabyte arrives whole", async () => {
    const content = "line of text\n".repeat(80_000);
    const bench = await openBench({
      script: (directory) => ({
        turns: [answer(call("Write", { file_path: join(directory, "big.txt"), content })), answer(text("Written."))],
      }),
    });
    await bench.create(sandbox(bench));
    const events = await turn(bench.sessions, bench.id, "Write a large file");
    expect(ends(events)).toEqual(["completed/signal"]);
    expect(readFileSync(join(bench.directory, "big.txt"), "utf8")).toBe(content);
    const written = of(events, "item.completed").flatMap(({ data }) =>
      data.item.content.flatMap((part) => (part.type === "tool_call" ? [JSON.parse(part.arguments).content] : [])),
    );
    expect(written).toEqual([content]);
  });

  test("tools that run at once each have their call and their result; a failed command says so", async () => {
    const bench = await openBench({
      script: (directory) => ({
        turns: [
          answer(
            text("At once."),
            bash("sleep 0.4; echo slow"),
            call("Read", { file_path: join(directory, "README.md") }),
          ),
          answer(bash("exit 3")),
          answer(text("All done.")),
        ],
      }),
    });
    await bench.create(sandbox(bench));
    const events = await turn(bench.sessions, bench.id, "Do both");
    expect(ends(events)).toEqual(["completed/signal"]);
    const results = of(events, "item.completed").flatMap(({ data }) =>
      data.item.content.flatMap((part) => (part.type === "tool_result" ? [part] : [])),
    );
    expect(results.map(({ is_error }) => is_error)).toEqual([false, false, true]);
    expect(results.at(-1)?.exit_code).toBe(3);
    expect(results.find(({ output }) => output.includes("slow"))).toBeDefined();
  });

  test("every line of every scenario above is understood", async () => {
    // Each bench has its own log, so this one plays the widest scenario once more and looks for what was not read.
    const bench = await openBench({
      script: (directory) => ({
        turns: [
          answer(
            { type: "thinking", text: "Let me see.", chunks: 2 },
            text("Looking."),
            call("Glob", { pattern: "*.md" }),
          ),
          answer(call("Read", { file_path: join(directory, "missing.md") })),
          answer(text("Nothing there.")),
        ],
      }),
    });
    await bench.create(sandbox(bench));
    await turn(bench.sessions, bench.id, "Look around");
    await turn(bench.sessions, bench.id, "/context");
    await turn(bench.sessions, bench.id, "/clear");
    await turn(bench.sessions, bench.id, "Again");
    expect(of(await bench.log(), "agent.unparsed")).toEqual([]);
  });
});

const question = (asked: string, { labels, multiSelect }: { labels: readonly string[]; multiSelect: boolean }) => ({
  question: asked,
  header: "Choice",
  multiSelect,
  options: labels.map((label) => ({ label, description: label })),
});

/** Waits until a tool is at work. */
async function toolRuns(bench: Bench, after: number): Promise<void> {
  for (let sequence = after; ; ) {
    const started = await bench.last("item.started", sequence);
    if (started.data.item.kind === "tool_result") return;
    sequence = started.sequence;
  }
}
