/** The person who is asked: permissions, questions, and calls that repeat themselves. */
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { UniversalEvent } from "../../../src/protocol/events.ts";
import { answer, call, endOf, type House, of, openHouse, resultsIn, saidIn, text } from "../../support/builtin.ts";

/** Answers every request of a kind as told. */
const replying =
  (house: () => House, reply: "once" | "always" | "reject", message?: string) => async (event: UniversalEvent) => {
    if (event.type !== "permission.requested") return;
    const more = message === undefined ? {} : { message };
    await house().sessions.replyPermission(house().id, event.data.permission_id, { reply, ...more });
  };

describe("a person is asked", () => {
  const script = [answer(call("bash", { command: "touch made" })), answer(text("Fine."))];

  test("once: the tool runs, and what is shown says what it will do", async () => {
    const house: House = await openHouse(script, { mode: "default" });
    const events = await house.turn(
      "go",
      replying(() => house, "once"),
    );
    expect(endOf(events)).toEqual({ reason: "completed" });
    expect(existsSync(join(house.directory, "made"))).toBe(true);
    const [request] = of(events, "permission.requested");
    expect(request?.data).toMatchObject({ action: "bash", metadata: { tool: "bash", patterns: ["touch made"] } });
    expect(of(events, "turn.state").map(({ data }) => data.state)).toEqual(["requires_action", "running"]);
  });

  test("reject: nothing runs, the turn ends as rejected, and the model is not asked again", async () => {
    const house: House = await openHouse(script, { mode: "default" });
    const events = await house.turn(
      "go",
      replying(() => house, "reject"),
    );
    expect(endOf(events)).toEqual({ reason: "rejected" });
    expect(existsSync(join(house.directory, "made"))).toBe(false);
    expect(house.requests).toHaveLength(1);
    expect(of(events, "permission.resolved").map(({ data }) => data.status)).toEqual(["reject"]);
  });

  test("reject with continue_loop_on_deny: the model gets the refusal and continues", async () => {
    const house: House = await openHouse(script, {
      mode: "default",
      config: { experimental: { continue_loop_on_deny: true } },
    });
    const events = await house.turn(
      "go",
      replying(() => house, "reject"),
    );
    expect(endOf(events)).toEqual({ reason: "completed" });
    expect(existsSync(join(house.directory, "made"))).toBe(false);
    expect(house.requests[1]?.messages).toContain("refused");
  });

  test("reject with a message: the model gets the reason and continues", async () => {
    const house: House = await openHouse(script, { mode: "default" });
    const events = await house.turn(
      "go",
      replying(() => house, "reject", "use the Makefile"),
    );
    expect(endOf(events)).toEqual({ reason: "completed" });
    expect(house.requests[1]?.messages).toContain("use the Makefile");
  });

  test("one bare no rejects everything that waits", async () => {
    const house: House = await openHouse(
      [
        answer(
          call("bash", { command: "touch a" }),
          call("bash", { command: "touch b" }),
          call("question", { questions: [{ question: "Which?", options: [{ label: "x" }] }] }),
        ),
        answer(text("never")),
      ],
      { mode: "default" },
    );
    let asked = 0;
    const events = await house.turn("go", async (event) => {
      if (event.type !== "permission.requested" && event.type !== "question.requested") return;
      asked += 1;
      if (asked < 3) return;
      const [first] = (await house.sessions.get(house.id)).pendingPermissions;
      await house.sessions.replyPermission(house.id, first?.permission_id ?? "", { reply: "reject" });
    });
    expect(endOf(events)).toEqual({ reason: "rejected" });
    expect(existsSync(join(house.directory, "a")) || existsSync(join(house.directory, "b"))).toBe(false);
    expect(of(events, "permission.resolved").map(({ data }) => data.status)).toEqual(["reject", "reject"]);
    expect(of(events, "question.resolved").map(({ data }) => data.status)).toEqual(["rejected"]);
  });

  test("always: the same command is not asked about again, in this turn and after, and another one is", async () => {
    const house: House = await openHouse(
      [
        answer(call("bash", { command: "touch one" })),
        answer(call("bash", { command: "touch one && echo" })),
        answer(call("bash", { command: "touch one" })),
        answer(text("ok")),
        answer(call("bash", { command: "touch one" })),
        answer(text("ok")),
      ],
      { mode: "default" },
    );
    const events = await house.turn(
      "go",
      replying(() => house, "always"),
    );
    expect(of(events, "permission.requested").map(({ data }) => data.metadata.patterns)).toEqual([
      ["touch one"],
      ["touch one && echo"],
    ]);
    const more = await house.turn(
      "again",
      replying(() => house, "reject"),
    );
    expect(of(more, "permission.requested")).toEqual([]);
    expect(existsSync(join(house.directory, "one"))).toBe(true);
  });

  test("always for a command with a glob in it is not taken for a pattern", async () => {
    const house: House = await openHouse(
      [
        answer(call("bash", { command: "echo *" })),
        answer(call("bash", { command: "echo > made" })),
        answer(text("ok")),
      ],
      { mode: "default" },
    );
    const events = await house.turn(
      "go",
      replying(() => house, "always"),
    );
    expect(of(events, "permission.requested").map(({ data }) => data.metadata.patterns)).toEqual([
      ["echo *"],
      ["echo > made"],
    ]);
  });

  test("an edit is asked about with its diff", async () => {
    const house: House = await openHouse(
      [answer(call("edit", { filePath: "a.txt", oldString: "old", newString: "new" })), answer(text("ok"))],
      { mode: "default" },
    );
    writeFileSync(join(house.directory, "a.txt"), "old\n");
    const events = await house.turn(
      "go",
      replying(() => house, "once"),
    );
    const [request] = of(events, "permission.requested");
    expect(request?.data.action).toBe("edit");
    expect(request?.data.metadata.diff).toContain("-old\n+new");
  });

  test("a rule's no is told to the model and shown, without a request", async () => {
    const house = await openHouse(script, { mode: "default", config: { permission: { bash: "deny" } } });
    const events = await house.turn("go");
    expect(endOf(events)).toEqual({ reason: "completed" });
    expect(of(events, "permission.requested")).toEqual([]);
    expect(resultsIn(events)[0]).toMatchObject({ is_error: true, output: expect.stringContaining("Not allowed") });
    const statuses = of(events, "item.completed").filter(({ data }) => data.item.kind === "status");
    expect(JSON.stringify(statuses[0]?.data.item.content)).toContain("denied");
    expect(existsSync(join(house.directory, "made"))).toBe(false);
  });

  test("plan mode: no writes, no commands, no questions about it; leaving it opens the way", async () => {
    const house = await openHouse(
      [
        answer(
          call("bash", { command: "touch a" }),
          call("write", { filePath: "b", content: "" }),
          call("write", { filePath: "/tmp/outside", content: "" }),
        ),
        answer(text("My plan.")),
      ],
      { mode: "plan" },
    );
    const events = await house.turn("go");
    expect(endOf(events)).toEqual({ reason: "completed" });
    expect(of(events, "permission.requested")).toEqual([]);
    expect(resultsIn(events).map(({ is_error }) => is_error)).toEqual([true, true, true]);
    expect(house.requests[0]?.system).toContain("plan mode");
    await house.sessions.update(house.id, { permissionMode: "acceptEdits" });
    expect((await house.sessions.get(house.id)).permissionMode).toBe("acceptEdits");
  });
});

describe("a question", () => {
  const script = [
    answer(
      call("question", {
        questions: [
          { question: "Which language?", header: "Language", options: [{ label: "Go" }, { label: "Rust" }] },
          { question: "Which parts?", options: [{ label: "all" }], multiple: true },
        ],
      }),
    ),
    answer(text("Thanks.")),
  ];

  test("answered: the model gets the answers", async () => {
    const house = await openHouse(script, { mode: "default" });
    const events = await house.turn("ask me", async (event) => {
      if (event.type !== "question.requested") return;
      expect(event.data.questions).toHaveLength(2);
      await house.sessions.replyQuestion(house.id, event.data.question_id, [["Rust"], ["all", "docs"]]);
    });
    expect(endOf(events)).toEqual({ reason: "completed" });
    expect(house.requests[1]?.messages).toContain("Rust");
    expect(house.requests[1]?.messages).toContain("all, docs");
    expect(saidIn(events)).toEqual(["Thanks."]);
  });

  test.each([
    [undefined, "rejected", 1],
    ["decide yourself", "completed", 2],
  ])("rejected with %s: the turn ends as %s", async (message, reason, requests) => {
    const house = await openHouse(script, { mode: "default" });
    const events = await house.turn("ask me", async (event) => {
      if (event.type !== "question.requested") return;
      await house.sessions.rejectQuestion(house.id, event.data.question_id, message === undefined ? {} : { message });
    });
    expect(endOf(events)).toEqual({ reason });
    expect(house.requests).toHaveLength(requests);
  });
});

describe("a doom loop", () => {
  const reading = answer(call("read", { filePath: "a.txt" }));

  test("before the third identical call with the same result a person is asked, across steps", async () => {
    const house = await openHouse([reading], { mode: "default" });
    writeFileSync(join(house.directory, "a.txt"), "same");
    const events = await house.turn("go", async (event) => {
      if (event.type !== "permission.requested") return;
      expect(event.data).toMatchObject({ action: "doom_loop", metadata: { tool: "read", patterns: ["read"] } });
      await house.sessions.replyPermission(house.id, event.data.permission_id, { reply: "reject" });
    });
    expect(endOf(events)).toEqual({ reason: "rejected" });
    expect(house.requests).toHaveLength(3);
    expect(resultsIn(events).map(({ is_error }) => is_error)).toEqual([false, false, true]);
  });

  test("in bypass nobody is asked: the third call is refused with a message, the fifth ends the turn", async () => {
    const house = await openHouse([reading], { mode: "bypass" });
    writeFileSync(join(house.directory, "a.txt"), "same");
    const events = await house.turn("go");
    expect(of(events, "permission.requested")).toEqual([]);
    expect(events.at(-1)).toMatchObject({ data: { reason: "error", error: { code: "doom_loop" } } });
    expect(resultsIn(events).map(({ is_error }) => is_error)).toEqual([false, false, true, true, true]);
    expect(resultsIn(events)[2]?.output).toContain("do something else");
  });

  test("in bypass a model that does something else goes on, and a rule may lift the bound", async () => {
    const house = await openHouse([reading, reading, reading, answer(text("Enough."))], { mode: "bypass" });
    writeFileSync(join(house.directory, "a.txt"), "same");
    expect(endOf(await house.turn("go"))).toEqual({ reason: "completed" });
    const config = { permission: { doom_loop: "allow" } } as const;
    const open = await openHouse([...Array(6).fill(reading), answer(text("Enough."))], { mode: "bypass", config });
    writeFileSync(join(open.directory, "a.txt"), "same");
    const events = await open.turn("go");
    expect(endOf(events)).toEqual({ reason: "completed" });
    expect(resultsIn(events).every(({ is_error }) => !is_error)).toBe(true);
  });

  test("a person may let it go on", async () => {
    const house = await openHouse([reading, reading, reading, answer(text("Enough."))], { mode: "default" });
    writeFileSync(join(house.directory, "a.txt"), "same");
    const events = await house.turn(
      "go",
      replying(() => house, "once"),
    );
    expect(endOf(events)).toEqual({ reason: "completed" });
    expect(of(events, "permission.requested")).toHaveLength(1);
  });

  test("a result that changes, or a file that was changed in between, is no loop", async () => {
    const test = answer(call("bash", { command: "cat a.txt" }));
    const write = (content: string) => answer(call("write", { filePath: "a.txt", content }));
    const house = await openHouse(
      [test, write("1"), test, write("2"), test, write("2 "), test, answer(text("Green."))],
      {
        mode: "default",
        config: { permission: { bash: "allow", edit: "allow" } },
      },
    );
    writeFileSync(join(house.directory, "a.txt"), "0");
    const events = await house.turn("fix it");
    expect(endOf(events)).toEqual({ reason: "completed" });
    expect(of(events, "permission.requested")).toEqual([]);
  });
});
