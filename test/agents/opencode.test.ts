/** The real OpenCode, from prompt to end, against a scripted model. Run by `npm run test:agents -- opencode`. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { items, prompt, rest, results, streaming, texts } from "../support/agent-turns.ts";
import {
  asked,
  bash,
  calls,
  completed,
  expectSound,
  type OpenCodeLab,
  openLab,
  says,
} from "../support/opencode-lab.ts";
import { endOf, session, spoken, turn, until, wholeLog } from "../support/sessions.ts";

const program = process.env.FRANCA_TEST_OPENCODE;

describe.skipIf(program === undefined)("opencode", () => {
  let lab: OpenCodeLab;
  beforeAll(async () => {
    lab = await openLab(program ?? "");
  });
  afterAll(() => lab?.close());

  test("read and edit", async () => {
    const begun = await lab.begin([
      {
        type: "answer",
        blocks: [
          { type: "text", text: "Reading." },
          { type: "tool_call", name: "read", input: { filePath: "README.md" } },
        ],
      },
      calls({
        name: "edit",
        input: { filePath: "README.md", oldString: "project.\n", newString: "project.\nOne more.\n" },
      }),
      says("Done."),
    ]);
    const events = await turn(lab.sessions, begun.id, "Read README.md and add a line at the end");
    expect(endOf(events)).toEqual(completed);
    expect(texts(events, "user")).toEqual(["Read README.md and add a line at the end"]);
    expect(texts(events, "assistant")).toEqual(["Reading.", "Done."]);
    expect(readFileSync(join(begun.directory, "README.md"), "utf8")).toContain("One more.");
    const files = items(events).flatMap(({ content }) => content.filter((part) => part.type === "file_ref"));
    expect(files.map(({ action, path }) => `${action} ${path.split("/").at(-1)}`)).toEqual([
      "read README.md",
      "patch README.md",
    ]);
    const used = events.flatMap((event) => (event.type === "usage.updated" ? [event.data.step?.finish] : []));
    expect(used).toEqual(["tool-calls", "tool-calls", "stop"]);
    await expectSound(lab, begun);
  });

  test("a permission allowed once, then always, then not asked again", async () => {
    const touches = ["a", "b", "b"].map((name) => calls(bash(`touch ${name}.txt`)));
    const begun = await lab.begin([...touches, says("Made.")]);
    const { id } = begun;
    const first = await asked(lab.sessions, id, await prompt(lab.sessions, begun.id, "make files"));
    expect(first.data).toMatchObject({ action: "bash", metadata: { tool: "bash", patterns: ["touch a.txt"] } });
    expect((await lab.sessions.get(id)).status).toBe("requires_action");
    await lab.sessions.replyPermission(id, first.data.permission_id, { reply: "once" });
    const second = await asked(lab.sessions, id, first.sequence);
    await lab.sessions.replyPermission(id, second.data.permission_id, { reply: "always" });
    const events = await rest(lab.sessions, id, second.sequence);
    expect(endOf(events)).toEqual(completed);
    expect(events.some(({ type }) => type === "permission.requested")).toBe(false);
    expect(results(await wholeLog(lab.sessions, id)).map(({ is_error }) => is_error)).toEqual([false, false, false]);
    await expectSound(lab, begun);
  });

  test("a permission rejected without a word ends the turn; with one, the model goes on", async () => {
    const begun = await lab.begin([calls(bash("touch a.txt")), calls(bash("touch b.txt")), says("Then not.")]);
    const { id } = begun;
    const first = await asked(lab.sessions, id, await prompt(lab.sessions, begun.id, "make a file"));
    await lab.sessions.replyPermission(id, first.data.permission_id, { reply: "reject" });
    const rejected = await rest(lab.sessions, id, first.sequence);
    expect(endOf(rejected)).toEqual({ reason: "rejected", evidence: "signal" });
    const second = await asked(lab.sessions, id, await prompt(lab.sessions, begun.id, "try again"));
    await lab.sessions.replyPermission(id, second.data.permission_id, {
      reply: "reject",
      message: "No files, please.",
    });
    const events = await rest(lab.sessions, id, second.sequence);
    expect(endOf(events)).toEqual(completed);
    expect(results(events)[0]?.output).toContain("No files, please.");
    expect(texts(events, "assistant")).toEqual(["Then not."]);
    await expectSound(lab, begun);
  });

  test("a rule that denies asks nobody", async () => {
    const begun = await lab.begin([calls(bash("echo denied")), says("It was denied.")]);
    const events = await turn(lab.sessions, begun.id, "try it");
    expect(endOf(events)).toEqual(completed);
    expect(events.some(({ type }) => type === "permission.requested")).toBe(false);
    expect(items(events).filter(({ kind }) => kind === "status")).toHaveLength(1);
    await expectSound(lab, begun);
  });

  test("everything is allowed in mode bypass", async () => {
    const begun = await lab.begin([calls(bash("touch free.txt")), says("Made.")], { permissionMode: "bypass" });
    const events = await turn(lab.sessions, begun.id, "make a file");
    expect(endOf(events)).toEqual(completed);
    expect(events.some(({ type }) => type === "permission.requested")).toBe(false);
    expect(results(events)[0]).toMatchObject({ is_error: false, exit_code: 0 });
    await expectSound(lab, begun);
  });

  test("acceptEdits edits by itself, but asks for files that run code", async () => {
    const write = (filePath: string) => calls({ name: "write", input: { filePath, content: "new\n" } });
    const begun = await lab.begin(
      [write("plain.txt"), write(".git/hooks/pre-commit"), write("sub/.envrc"), says("Done.")],
      { permissionMode: "acceptEdits" },
    );
    const { id } = begun;
    const first = await asked(lab.sessions, id, await prompt(lab.sessions, id, "write them"));
    expect(first.data).toMatchObject({
      action: "edit",
      metadata: { patterns: [expect.stringMatching(/\.git\/hooks\/pre-commit$/)] },
    });
    expect(readFileSync(join(begun.directory, "plain.txt"), "utf8")).toBe("new\n");
    await lab.sessions.replyPermission(id, first.data.permission_id, { reply: "reject", message: "not this one" });
    const second = await asked(lab.sessions, id, first.sequence);
    expect(second.data).toMatchObject({
      action: "edit",
      metadata: { patterns: [expect.stringMatching(/sub\/\.envrc$/)] },
    });
    await lab.sessions.replyPermission(id, second.data.permission_id, { reply: "once" });
    expect(endOf(await rest(lab.sessions, id, second.sequence))).toEqual(completed);
    expect(existsSync(join(begun.directory, ".git", "hooks", "pre-commit"))).toBe(false);
    expect(existsSync(join(begun.directory, "sub", ".envrc"))).toBe(true);
  });

  test("a question answered, and one rejected", async () => {
    const options = [
      { label: "SQLite", description: "A file" },
      { label: "Postgres", description: "A server" },
    ];
    const question = {
      name: "question",
      input: { questions: [{ question: "Which database?", header: "Database", options }] },
    };
    const begun = await lab.begin([calls(question), says("SQLite it is."), calls(question)]);
    const { id } = begun;
    const first = await until(lab.sessions, id, {
      type: "question.requested",
      after: await prompt(lab.sessions, begun.id, "ask me"),
    });
    expect(first.data).toMatchObject({ prompt: "Which database?", options: ["SQLite", "Postgres"] });
    await lab.sessions.replyQuestion(id, first.data.question_id, [["SQLite"]]);
    const answered = await rest(lab.sessions, id, first.sequence);
    expect(endOf(answered)).toEqual(completed);
    expect(results(answered)[0]?.output).toContain("SQLite");
    const second = await until(lab.sessions, id, {
      type: "question.requested",
      after: await prompt(lab.sessions, begun.id, "ask again"),
    });
    await lab.sessions.rejectQuestion(id, second.data.question_id, {});
    expect(endOf(await rest(lab.sessions, id, second.sequence))).toEqual({ reason: "rejected", evidence: "signal" });
    await expectSound(lab, begun);
  });

  test("several turns, and a prompt while busy that waits for its own turn", async () => {
    const begun = await lab.begin([says("One."), says("Two, slowly.", { chunkDelayMs: 500 }), says("Three.")]);
    const { id } = begun;
    expect(spoken(await turn(lab.sessions, id, "first"))).toBe("One.");
    const started = await prompt(lab.sessions, begun.id, "second");
    await streaming(lab.sessions, id, started);
    const third = turn(lab.sessions, id, "third");
    const second = await rest(lab.sessions, id, started);
    expect(spoken(second)).toBe("Two, slowly.");
    const events = (await third).filter(({ sequence }) => sequence > (second.at(-1)?.sequence ?? 0));
    expect(spoken(events)).toBe("Three.");
    const log = await wholeLog(lab.sessions, id);
    expect(log.flatMap((event) => (event.type === "turn.started" ? [event.data.origin] : []))).toEqual([
      "user",
      "user",
      "queue",
    ]);
    expect(lab.model.requests.at(-1)?.messages).toContain("Two, slowly.");
    await expectSound(lab, begun);
  });

  test("the provider is busy and then answers", async () => {
    const busy = { type: "status", status: 429, headers: { "retry-after": "1" }, message: "Too many" } as const;
    const begun = await lab.begin([busy, says("Recovered.")]);
    const events = await turn(lab.sessions, begun.id, "hello");
    expect(endOf(events)).toEqual(completed);
    const states = events.flatMap((event) => (event.type === "turn.state" ? [event.data.state] : []));
    expect(states).toEqual(["retrying", "running"]);
    await expectSound(lab, begun);
  });

  test("the provider's stream breaks off and is tried again", async () => {
    const fault = { type: "cut", afterChunks: 2 } as const;
    const begun = await lab.begin([says("Broken off here", { fault, chunkDelayMs: 50 }), says("Whole.")]);
    const events = await turn(lab.sessions, begun.id, "hello");
    expect(endOf(events)).toEqual(completed);
    expect(texts(events, "assistant").at(-1)).toBe("Whole.");
    await expectSound(lab, begun);
  });

  test("a hard error ends the turn once, and the next prompt works", async () => {
    const begun = await lab.begin([{ type: "status", status: 400, message: "Bad request" }, says("Works.")]);
    const failed = await turn(lab.sessions, begun.id, "hello");
    expect(endOf(failed)).toEqual({ reason: "error", evidence: "signal" });
    expect(failed.filter(({ type }) => type === "error")).toHaveLength(1);
    expect(endOf(await turn(lab.sessions, begun.id, "again"))).toEqual(completed);
    await expectSound(lab, begun);
  });

  test("a todo list", async () => {
    const list = (first: string) => [
      { content: "Read", status: first, priority: "high" },
      { content: "Write", status: "pending", priority: "low" },
    ];
    const write = (first: string) => calls({ name: "todowrite", input: { todos: list(first) } });
    const begun = await lab.begin([write("in_progress"), write("completed"), says("Planned.")]);
    const events = await turn(lab.sessions, begun.id, "plan");
    const lists = events.flatMap((event) => (event.type === "todo.updated" ? [event.data.todos] : []));
    expect(lists.map((todos) => todos.map(({ status }) => status))).toEqual([
      ["in_progress", "pending"],
      ["completed", "pending"],
    ]);
    expect((await lab.sessions.get(begun.id)).todos).toHaveLength(2);
    await expectSound(lab, begun);
  });

  test("a subagent's work is told inside the turn, with its name", async () => {
    const task = { description: "Look around", prompt: "CHILD look", subagent_type: "general" };
    const begun = await lab.begin([calls({ name: "task", input: task }), says("It found one file.")]);
    const child = { name: "child", match: { messageContains: "CHILD look", lacksTool: "task" } };
    const turns = [calls({ name: "glob", input: { pattern: "*" } }), says("One file.")];
    const title = { name: "title", match: { systemContains: "title generator" }, turns: [says("A title")] };
    lab.model.load({
      turns: [calls({ name: "task", input: task }), says("It found one file.")],
      side: [title, { ...child, turns }],
    });
    const events = await turn(lab.sessions, begun.id, "use a helper");
    expect(endOf(events)).toEqual(completed);
    const own = items(events).filter(({ subagent }) => subagent !== undefined);
    expect(new Set(own.map(({ subagent }) => subagent?.name))).toEqual(new Set(["general"]));
    expect(own.every(({ subagent }) => subagent?.parent_call_id !== null)).toBe(true);
    expect(own.map(({ kind }) => kind)).toEqual(
      expect.arrayContaining(["message", "tool_call", "tool_result", "status"]),
    );
    expect(texts(events, "assistant")).toEqual(["One file.", "It found one file."]);
    await expectSound(lab, begun);
  });

  test("two tools at once", async () => {
    // The first waits for the second: one after the other they would never end.
    const waits = bash("while [ ! -e go ]; do sleep 0.05; done; echo waited");
    const begun = await lab.begin([calls(waits, bash(": > go; echo went; exit 3")), says("Both.")]);
    const events = await turn(lab.sessions, begun.id, "run both");
    const ended = results(events).map(({ output, exit_code, is_error }) => ({ output, exit_code, is_error }));
    expect(ended).toHaveLength(2);
    expect(ended).toContainEqual({ output: "waited\n", exit_code: 0, is_error: false });
    expect(ended).toContainEqual({ output: "went\n", exit_code: 3, is_error: true });
    await expectSound(lab, begun);
  });

  test("a tool that does not exist keeps its name", async () => {
    const begun = await lab.begin([calls({ name: "teleport", input: { to: "home" } }), says("No such thing.")]);
    const events = await turn(lab.sessions, begun.id, "beam me up");
    const names = items(events).flatMap(({ content }) =>
      content.flatMap((part) => (part.type === "tool_call" ? [part.name] : [])),
    );
    expect(names).toEqual(["teleport"]);
    expect(results(events)[0]?.is_error).toBe(true);
    await expectSound(lab, begun);
  });

  test("reasoning comes before the answer", async () => {
    const begun = await lab.begin([
      {
        type: "answer",
        blocks: [
          { type: "thinking", text: "Let me think.", chunks: 3 },
          { type: "text", text: "Yes." },
        ],
      },
    ]);
    const events = await turn(lab.sessions, begun.id, "think");
    const said = items(events)
      .filter(({ role }) => role === "assistant")
      .flatMap(({ content }) => content);
    expect(said).toEqual([
      { type: "reasoning", text: "Let me think.", visibility: "public" },
      { type: "text", text: "Yes." },
    ]);
    await expectSound(lab, begun);
  });

  test("a compaction that was asked for is a turn of its own, and its summary is no answer", async () => {
    const begun = await lab.begin([says("Hello."), says("SUMMARY of all."), says("I remember.")]);
    const { id } = begun;
    await turn(lab.sessions, id, "hello");
    const { lastSequence } = await lab.sessions.get(id);
    await lab.sessions.compact(id);
    const events = await rest(lab.sessions, id, lastSequence);
    expect(endOf(events)).toEqual(completed);
    expect(events.flatMap((event) => (event.type === "turn.state" ? [event.data.state] : []))[0]).toBe("compacting");
    expect(texts(events, "system")).toEqual(["SUMMARY of all."]);
    expect(texts(events, "assistant")).toEqual([]);
    expect(spoken(await turn(lab.sessions, id, "what do you know?"))).toBe("I remember.");
    await expectSound(lab, begun);
  });

  test("the output limit", async () => {
    const begun = await lab.begin([says("Cut off in the", { finish: "length" })]);
    expect(endOf(await turn(lab.sessions, begun.id, "write a lot"))).toEqual({ reason: "length", evidence: "signal" });
    await expectSound(lab, begun);
  });

  test("a file given with the prompt", async () => {
    const begun = await lab.begin([says("Read it.")]);
    const path = join(begun.directory, "README.md");
    const { sequence } = await lab.sessions.prompt(begun.id, { text: "look", attachments: [{ path }] });
    const events = await rest(lab.sessions, begun.id, sequence);
    expect(endOf(events)).toEqual(completed);
    expect(items(events).flatMap(({ role, content }) => (role === "user" ? content : []))).toEqual([
      { type: "text", text: "look" },
      { type: "file_ref", path, action: "read" },
    ]);
    await expectSound(lab, begun);
  });

  test("a fork goes on by itself, and knows what was said", async () => {
    const begun = await lab.begin([says("The word is heron."), says("It was heron.")]);
    await turn(lab.sessions, begun.id, "remember a word");
    const into = { id: session(`${begun.id}-fork`), directory: begun.directory };
    await lab.sessions.fork(begun.id, into.id);
    const copied = await wholeLog(lab.sessions, into.id);
    expect([...texts(copied, "user"), ...texts(copied, "assistant")]).toEqual([
      "remember a word",
      "The word is heron.",
    ]);
    const events = await turn(lab.sessions, into.id, "which word?");
    expect(spoken(events)).toBe("It was heron.");
    expect(texts(events, "user")).toEqual(["which word?"]);
    expect(lab.model.requests.at(-1)?.messages).toContain("heron");
    expect((await lab.sessions.get(into.id)).nativeSessionId).not.toBe(
      (await lab.sessions.get(begun.id)).nativeSessionId,
    );
    await expectSound(lab, into);
  });

  test("two sessions share one server and do not hear each other", async () => {
    const first = await lab.begin([says("Same for both.", { chunkDelayMs: 30 })]);
    const pid = lab.pid();
    const second = await lab.begin([says("Same for both.", { chunkDelayMs: 30 })]);
    const [one, two] = await Promise.all([turn(lab.sessions, first.id, "a"), turn(lab.sessions, second.id, "b")]);
    expect(spoken(one)).toBe("Same for both.");
    expect(spoken(two)).toBe("Same for both.");
    expect(texts(one, "user")).toEqual(["a"]);
    expect(texts(two, "user")).toEqual(["b"]);
    expect(lab.pid()).toBe(pid);
    await expectSound(lab, first);
    await expectSound(lab, second);
  });
});
