/** The real Codex through the real runtime, against a scripted model. `npm run test:agents -- codex` */
import { existsSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { expect, test } from "vitest";
import {
  answerOf,
  calls,
  checked,
  describeCodex,
  ends,
  items,
  runs,
  says,
  seen,
  slowly,
} from "../support/codex-agent.ts";
import { turn } from "../support/sessions.ts";
import { root } from "../support/transcripts.ts";

describeCodex("codex: turns", (start) => {
  test("reads and edits: the file is changed, and the change is told with its diff", async () => {
    const patch =
      "*** Begin Patch\n*** Update File: README.md\n@@\n A small demo project.\n+One more line.\n*** End Patch\n";
    const codex = await start({
      turns: [runs("cat README.md"), calls({ name: "apply_patch", input: patch }), says("Done.")],
    });
    const id = await codex.create("s");
    const events = await turn(codex.sessions, id, "Read README.md and add a line at the end");
    expect(ends(events)).toMatchObject([{ reason: "completed", evidence: "signal", background: [] }]);
    expect(readFileSync(join(codex.work, "README.md"), "utf8")).toMatch(/One more line\.\n$/);
    const parts = items(events).flatMap(({ content }) => content);
    expect(parts).toContainEqual(expect.objectContaining({ type: "file_ref", action: "read" }));
    expect(parts).toContainEqual(
      expect.objectContaining({ type: "file_ref", change: "update", diff: expect.stringContaining("+One more line.") }),
    );
    expect(items(events).filter(({ role }) => role === "user")).toHaveLength(1);
    expect(answerOf(events)).toBe("Done.");
    expect(ends(events)[0]?.usage.tokens).toMatchObject({ input: 300, output: 60 });
    await checked(codex, id);
  });

  const escalated = (cmd: string, call: string) =>
    calls({
      id: call,
      name: "exec_command",
      input: { cmd, sandbox_permissions: "require_escalated", justification: "It is needed." },
    });

  test.each([
    { reply: "once", made: true, asked: 2, status: "accept" },
    { reply: "always", made: true, asked: 1, status: "accept_for_session" },
    { reply: "reject", made: false, asked: 2, status: "reject" },
  ] as const)("an approval answered $reply", async ({ reply, made, asked, status }) => {
    const codex = await start({
      turns: [escalated("touch made.txt", "c1"), escalated("touch made.txt", "c2"), says("Finished.")],
    });
    const id = await codex.create("s", { permissionMode: "default" });
    await codex.sessions.prompt(id, { text: "go" });
    let last = 0;
    for (let number = 0; number < asked; number += 1) {
      const event = await seen(codex.sessions, id, ({ type }) => type === "permission.requested", { after: last });
      last = event.sequence;
      if (event.type !== "permission.requested") throw new Error(event.type);
      expect(event.data).toMatchObject({ action: "shell", metadata: { patterns: ["touch made.txt"] } });
      expect((await codex.sessions.get(id)).status).toBe("requires_action");
      await codex.sessions.replyPermission(id, event.data.permission_id, { reply });
    }
    await seen(codex.sessions, id, ({ type }) => type === "turn.ended");
    const log = await checked(codex, id);
    expect(ends(log)).toMatchObject([{ reason: "completed" }]);
    const resolved = log.flatMap((event) => (event.type === "permission.resolved" ? [event.data.status] : []));
    expect(resolved).toEqual(Array.from({ length: asked }, () => status));
    expect(existsSync(join(codex.work, "made.txt"))).toBe(made);
  });

  test("an approval cancelled by an abort: nothing runs, and the next turn works", async () => {
    const codex = await start({ turns: [escalated("touch made.txt", "c1"), says("Here again.")] });
    const id = await codex.create("s", { permissionMode: "default" });
    await codex.sessions.prompt(id, { text: "go" });
    await seen(codex.sessions, id, ({ type }) => type === "permission.requested");
    await codex.sessions.abort(id, { clearQueue: false });
    await seen(codex.sessions, id, ({ type }) => type === "turn.ended");
    expect(existsSync(join(codex.work, "made.txt"))).toBe(false);
    expect(answerOf(await turn(codex.sessions, id, "still there?"))).toBe("Here again.");
    expect(ends(await checked(codex, id)).map(({ reason }) => reason)).toEqual(["aborted", "completed"]);
  });

  test("asks several questions, and the model hears the answers", async () => {
    const ask = (id: string) => ({
      id,
      header: id,
      question: `Which ${id}?`,
      options: [
        { label: "A (Recommended)", description: "a" },
        { label: "B", description: "b" },
      ],
    });
    const questions = { questions: [ask("color"), ask("size")] };
    const codex = await start({
      turns: [calls({ name: "request_user_input", input: questions }), says("Thanks.")],
    });
    const id = await codex.create("s", { agentMode: "plan" });
    await codex.sessions.prompt(id, { text: "ask me" });
    const asked = await seen(codex.sessions, id, ({ type }) => type === "question.requested");
    if (asked.type !== "question.requested") throw new Error(asked.type);
    expect(asked.data.questions.map((question) => question.id)).toEqual(["color", "size"]);
    await codex.sessions.replyQuestion(id, asked.data.question_id, [["B"], ["as large as a heron"]]);
    await seen(codex.sessions, id, ({ type }) => type === "turn.ended");
    expect(codex.server.requests.at(-1)?.messages).toContain("as large as a heron");
    expect(ends(await checked(codex, id))).toMatchObject([{ reason: "completed" }]);
  });

  test("an MCP server's tool is approved, and the server may ask the user itself", async () => {
    const codex = await start({
      turns: [
        calls({ id: "c1", name: "mcp__birds.add", input: { a: 1, b: 2 } }),
        calls({ id: "c2", name: "mcp__birds.ask", input: {} }),
        says("Heard."),
      ],
    });
    const mcp = { birds: { command: process.execPath, args: [join(root, "test/support/mcp-server.js")] } };
    // Without metadata of its own a model is offered the tools of MCP servers directly.
    const id = await codex.create("s", { model: "scripted-model", permissionMode: "default", mcp });
    await codex.sessions.prompt(id, { text: "go" });
    let last = 0;
    for (const [call, tool] of [
      ["c1", "birds.add"],
      ["c2", "birds.ask"],
    ]) {
      const asked = await seen(codex.sessions, id, ({ type }) => type === "permission.requested", { after: last });
      if (asked.type !== "permission.requested") throw new Error(asked.type);
      last = asked.sequence;
      expect(asked.data).toMatchObject({ action: "mcp", metadata: { tool, call_id: call } });
      await codex.sessions.replyPermission(id, asked.data.permission_id, { reply: "always" });
    }
    const asked = await seen(codex.sessions, id, ({ type }) => type === "question.requested");
    if (asked.type !== "question.requested") throw new Error(asked.type);
    expect(asked.data.questions.map((question) => question.id)).toEqual(["bird", "count", "sure"]);
    await codex.sessions.replyQuestion(id, asked.data.question_id, [["heron"], ["7"], ["Yes"]]);
    await seen(codex.sessions, id, ({ type }) => type === "turn.ended");
    const results = items(await checked(codex, id)).flatMap(({ content }) =>
      content.flatMap((part) => (part.type === "tool_result" ? [part.output] : [])),
    );
    expect(results[0]).toBe("3");
    expect(JSON.parse(results[1] ?? "")).toEqual({
      action: "accept",
      content: { bird: "heron", count: 7, sure: true },
    });
  });

  test("files that are added, moved and deleted are told as what happened to them", async () => {
    const patch = (...lines: string[]) =>
      calls({ name: "apply_patch", input: ["*** Begin Patch", ...lines, "*** End Patch", ""].join("\n") });
    const codex = await start({
      turns: [
        patch("*** Add File: new.txt", "+hello", "+world"),
        patch("*** Delete File: new.txt", "*** Update File: README.md", "*** Move to: READ.md", "@@", " # Demo", "+x"),
        says("Moved."),
      ],
    });
    const id = await codex.create("s");
    const refs = items(await turn(codex.sessions, id, "go")).flatMap(({ content }) =>
      content.flatMap((part) => (part.type === "file_ref" ? [part] : [])),
    );
    const told = refs.map(({ path, change, diff }) => [basename(path), change, diff]);
    expect(told[0]).toEqual(["new.txt", "add", "@@ -0,0 +1,2 @@\n+hello\n+world\n"]);
    expect(told).toContainEqual(["new.txt", "delete", "@@ -1,2 +0,0 @@\n-hello\n-world\n"]);
    expect(told).toContainEqual(["READ.md", "move", "@@ -1,2 +1,3 @@\n # Demo\n+x\n \n"]);
    expect(told).toContainEqual(["README.md", "delete", undefined]);
    await checked(codex, id);
  });

  test("two turns, and a prompt while busy: as many ends as prompts, in order", async () => {
    const codex = await start({ turns: [slowly("The first answer."), says("The second."), says("The third.")] });
    const id = await codex.create("s");
    await codex.sessions.prompt(id, { text: "one" });
    await seen(codex.sessions, id, ({ type }) => type === "item.delta");
    await codex.sessions.prompt(id, { text: "two" });
    expect((await codex.sessions.get(id)).queue).toHaveLength(1);
    const first = await seen(codex.sessions, id, ({ type }) => type === "turn.ended");
    await seen(codex.sessions, id, ({ type }) => type === "turn.ended", { after: first.sequence });
    await turn(codex.sessions, id, "three");
    const log = await checked(codex, id);
    expect(ends(log).map(({ reason }) => reason)).toEqual(["completed", "completed", "completed"]);
    expect(answerOf(log)).toBe("The first answer.The second.The third.");
    const said = items(log).filter(({ role }) => role === "user");
    expect(said.map(({ content }) => content)).toMatchObject([
      [{ text: "one" }],
      [{ text: "two" }],
      [{ text: "three" }],
    ]);
  });

  test("a steer goes into the running turn, and what was being said breaks off", async () => {
    const codex = await start({ turns: [slowly("A long answer that is never finished."), says("Herons, then.")] });
    const id = await codex.create("s");
    await codex.sessions.prompt(id, { text: "talk" });
    await seen(codex.sessions, id, ({ type }) => type === "item.delta");
    await codex.sessions.prompt(id, { text: "about herons", delivery: "steer" });
    await seen(codex.sessions, id, ({ type }) => type === "turn.ended");
    const log = await checked(codex, id);
    expect(ends(log)).toHaveLength(1);
    expect(answerOf(log)).toBe("Herons, then.");
    expect(items(log).filter(({ role }) => role === "user")).toHaveLength(2);
  });

  test("a plan becomes todos", async () => {
    const plan = (status: string) =>
      calls({
        name: "update_plan",
        input: {
          plan: [
            { step: "Read", status },
            { step: "Edit", status: "pending" },
          ],
        },
      });
    const codex = await start(
      { turns: [plan("in_progress"), plan("completed"), says("Planned.")] },
      { config: "tools.update_plan.enabled = true" },
    );
    const id = await codex.create("s");
    const events = await turn(codex.sessions, id, "plan it");
    const todos = events.flatMap((event) => (event.type === "todo.updated" ? [event.data.todos] : []));
    expect(todos.map((list) => list.map(({ status }) => status))).toEqual([
      ["in_progress", "pending"],
      ["completed", "pending"],
    ]);
    await checked(codex, id);
  });

  test("parallel tools keep their own results", async () => {
    const codex = await start({
      turns: [
        calls(
          { id: "a", name: "exec_command", input: { cmd: "sleep 0.5; echo first" } },
          { id: "b", name: "exec_command", input: { cmd: "echo second" } },
        ),
        says("Both."),
      ],
    });
    const id = await codex.create("s");
    const results = items(await turn(codex.sessions, id, "go")).flatMap(({ content }) =>
      content.flatMap((part) => (part.type === "tool_result" ? [[part.call_id, part.output]] : [])),
    );
    expect(Object.fromEntries(results)).toEqual({ a: "first\n", b: "second\n" });
    await checked(codex, id);
  });

  test("reasoning is a block of its own, with its tokens", async () => {
    const codex = await start({
      turns: [
        {
          type: "answer",
          blocks: [
            { type: "thinking", text: "**Thinking** about it", chunks: 3 },
            { type: "text", text: "42" },
          ],
          usage: { input: 70, cacheRead: 30, output: 5, reasoning: 40 },
        },
      ],
    });
    const id = await codex.create("s");
    const events = await turn(codex.sessions, id, "think");
    const blocks = items(events).flatMap(({ content }) => content.filter(({ type }) => type === "reasoning"));
    expect(blocks).toEqual([{ type: "reasoning", text: "**Thinking** about it", visibility: "public" }]);
    expect(ends(events)[0]?.usage.tokens).toEqual({
      input: 70,
      output: 5,
      reasoning: 40,
      cache_read: 30,
      cache_write: 0,
    });
    await checked(codex, id);
  });

  test("a rate limit shows as retrying, then the turn goes on", async () => {
    const codex = await start({
      turns: [{ type: "status", status: 429, headers: { "retry-after": "1" } }, says("Recovered.")],
    });
    const id = await codex.create("s");
    const events = await turn(codex.sessions, id, "go");
    const states = events.flatMap((event) => (event.type === "turn.state" ? [event.data.state] : []));
    expect(states).toEqual(["retrying", "running"]);
    expect(answerOf(events)).toBe("Recovered.");
    await checked(codex, id);
  });

  test.each([
    { name: "a hard error", turn: { type: "status", status: 400, message: "Bad prompt" } as const, reason: "error" },
    { name: "an output limit", turn: says("This is cut", { finish: "length" }), reason: "length" },
    {
      name: "a full context",
      turn: says("x", { fault: { type: "error", afterChunks: 0, code: "context_length_exceeded", message: "full" } }),
      reason: "error",
    },
  ])("$name ends the turn, and the next one works", async ({ turn: broken, reason }) => {
    const codex = await start(
      { turns: [broken, says("Fine again.")] },
      { provider: "request_max_retries = 0\nstream_max_retries = 0" },
    );
    const id = await codex.create("s");
    expect(ends(await turn(codex.sessions, id, "go"))).toMatchObject([{ reason, evidence: "signal" }]);
    expect(answerOf(await turn(codex.sessions, id, "again"))).toBe("Fine again.");
    await checked(codex, id);
  });
});
