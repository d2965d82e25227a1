/** Who may do what: rules, modes, shell commands, and the person who is asked. */
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { readCommandLine } from "../../src/builtin/command-line.ts";
import {
  type Effect,
  judge,
  judgeCommand,
  type Law,
  type PermissionConfig,
  readRules,
} from "../../src/builtin/permissions.ts";
import { matchesPattern } from "../../src/builtin/wildcard.ts";
import type { PermissionMode, UniversalEvent } from "../../src/protocol/events.ts";
import { answer, call, endOf, type House, of, openHouse, resultsIn, saidIn, text } from "../support/builtin.ts";

const law = (config: PermissionConfig = {}, mode: PermissionMode = "default"): Law => ({
  mode,
  rules: readRules(config),
  remembered: [],
});

describe("patterns", () => {
  test.each<[string, string, boolean]>([
    ["*", "anything at all", true],
    ["git status*", "git status", true],
    ["git status*", "git status -s", true],
    ["git status *", "git status", true],
    ["git status *", "git statusx", false],
    ["git status", "git status -s", false],
    ["src/*", "src/a/b.ts", true],
    ["src/*", "other/a.ts", false],
    ["*.env", "deep/in/.env", true],
    ["a?c", "abc", true],
    ["a.c", "abc", false],
    ["(x|y)", "(x|y)", true],
    ["(x|y)", "x", false],
    ["***", "x", true],
  ])("%s against %s: %s", (pattern, subject, expected) => {
    expect(matchesPattern({ pattern, text: subject })).toBe(expected);
  });

  // As a regular expression this would not come back.
  test("many stars against a long text", () => {
    expect(matchesPattern({ pattern: `${"*a".repeat(40)}b`, text: "a".repeat(5_000) })).toBe(false);
    expect(matchesPattern({ pattern: `${"*a".repeat(40)}b*`, text: `${"a".repeat(5_000)}bc` })).toBe(true);
  });
});

describe("modes", () => {
  const effects = (mode: PermissionMode, config: PermissionConfig = {}): Record<string, Effect> =>
    Object.fromEntries(
      ["read", "glob", "grep", "list", "todowrite", "todoread", "question", "edit", "bash", "webfetch", "task"].map(
        (action) => [action, judge(law(config, mode), { actions: [action], subject: "x" }).effect],
      ),
    );
  const quiet = { read: "allow", glob: "allow", grep: "allow", list: "allow" };
  const notes = { todowrite: "allow", todoread: "allow", question: "allow" };

  test("default", () => {
    expect(effects("default")).toEqual({
      ...quiet,
      ...notes,
      edit: "ask",
      bash: "ask",
      webfetch: "ask",
      task: "ask",
    });
  });
  test("acceptEdits", () => expect(effects("acceptEdits")).toMatchObject({ edit: "allow", bash: "ask", task: "ask" }));
  test("plan refuses writes and commands without asking, whatever the rules say", () => {
    expect(effects("plan", { edit: "allow", bash: "allow" })).toMatchObject({ ...quiet, edit: "deny", bash: "deny" });
  });
  test("bypass allows all, except what the configuration forbids", () => {
    expect(new Set(Object.values(effects("bypass")))).toEqual(new Set(["allow"]));
    expect(effects("bypass", { webfetch: "deny" }).webfetch).toBe("deny");
  });
  test("places and repetitions must be named: a rule for * is about tools", () => {
    const open = law({ "*": "allow" });
    expect(judge(open, { actions: ["bash"], subject: "ls" }).effect).toBe("allow");
    expect(judge(open, { actions: ["external_directory"], subject: "/etc" }).effect).toBe("ask");
    expect(judge(open, { actions: ["doom_loop"], subject: "read" }).effect).toBe("ask");
    expect(judge(open, { actions: ["private_address"], subject: "127.0.0.1" }).effect).toBe("deny");
  });
});

describe("rules", () => {
  const edit = (config: PermissionConfig, subject: string, tool = "edit") =>
    judge(law(config), { actions: tool === "edit" ? ["edit"] : ["edit", tool], subject }).effect;

  test("the last rule that matches wins", () => {
    const config = { edit: { "*": "allow", "secret/*": "deny", "secret/open/*": "ask" } } as const;
    expect(edit(config, "a.ts")).toBe("allow");
    expect(edit(config, "secret/a")).toBe("deny");
    expect(edit(config, "secret/open/a")).toBe("ask");
  });
  test("edit speaks for write and multiedit, unless they have rules of their own", () => {
    expect(edit({ edit: "allow" }, "a", "write")).toBe("allow");
    expect(edit({ write: "deny", edit: "allow" }, "a", "write")).toBe("deny");
    expect(edit({ write: "deny", edit: "allow" }, "a", "multiedit")).toBe("allow");
  });
  test("what was allowed for the session is allowed, but not against a rule that forbids it", () => {
    const remembered = [{ action: "bash", pattern: "npm test *" }];
    expect(judgeCommand({ ...law(), remembered }, "npm test -- -t x").effect).toBe("allow");
    expect(judgeCommand({ ...law(), remembered }, "npm publish").effect).toBe("ask");
    expect(judgeCommand({ ...law({ bash: { "npm test*": "deny" } }), remembered }, "npm test").effect).toBe("deny");
  });
});

describe("shell commands", () => {
  const config: PermissionConfig = { bash: { "*": "ask", "git status*": "allow", "ls*": "allow", "rm *": "deny" } };
  const effect = (command: string, given: PermissionConfig = config) => judgeCommand(law(given), command).effect;

  test.each([
    "git status",
    "git status -s",
    "git status && ls",
    "ls; ls -l",
    "ls | ls",
    "'git' status",
    'git "status"',
    "git status 'a; rm b'",
  ])("allowed: %s", (command) => expect(effect(command)).toBe("allow"));

  test.each([
    "git status; curl evil.example",
    "git status && make",
    "git status || make",
    "git status & make",
    "git status\nmake",
    "git status | sh",
    "git status $(make)",
    "git status `make`",
    'git status "$(make)"',
    "git status > /etc/passwd",
    "git status >> ~/.bashrc",
    "git status < /etc/shadow",
    "git status <(make)",
    "LD_PRELOAD=./evil.so git status",
    "env git status",
    "git status\\\nmake",
    "(git status)",
    "{ git status; }",
    "if git status; then make; fi",
    "eval git status",
    "bash -c 'git status'",
    "sh -c 'ls'",
    "ls *",
    "ls $HOME",
    "ls ~",
    "git status 'unclosed",
    'git status "unclosed',
    "",
    "   ",
    "g\\it status",
    "! git status",
    "xargs ls",
    "/tmp/git status",
    "git\tstatus;make",
    "git status \r make",
  ])("not allowed by a rule for another command: %j", (command) => expect(effect(command)).not.toBe("allow"));

  test.each([
    "rm -rf x",
    "ls && rm -rf x",
    "ls; rm x",
    "ls | rm x",
    "'rm' -rf x",
    'r""m x',
    "ls & rm x",
    "ls\nrm x",
    "ls $(true); rm x",
  ])("denied: %s", (command) => expect(effect(command)).toBe("deny"));

  test("all commands allowed, and nothing forbidden: also what cannot be taken apart", () => {
    expect(effect("for f in *; do echo $f; done", { bash: "allow" })).toBe("allow");
  });
  test("all commands allowed but some: what cannot be taken apart is asked about, because it could hide one", () => {
    const mostly: PermissionConfig = { bash: { "*": "allow", "rm *": "deny" } };
    expect(effect("ls -l", mostly)).toBe("allow");
    expect(effect("$(echo rm) -rf x", mostly)).toBe("ask");
    expect(effect("rm -rf $HOME", mostly)).toBe("deny");
  });
  test("words are read as the shell reads them", () => {
    expect(readCommandLine(`echo "a b" 'c;d' e`)).toEqual({
      commands: ["echo a b c;d e"],
      words: ["echo", "a b", "c;d", "e"],
      opaque: false,
    });
  });
});

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

  test("reject with continue_loop_on_deny: the model is told and goes on", async () => {
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

  test("reject with a message: the model is told why and goes on", async () => {
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

  test("always: the same kind of command is not asked about again, in this turn and after", async () => {
    const house: House = await openHouse(
      [
        answer(call("bash", { command: "touch one" })),
        answer(call("bash", { command: "touch two" })),
        answer(text("ok")),
        answer(call("bash", { command: "touch three" })),
        answer(text("ok")),
      ],
      { mode: "default" },
    );
    const events = await house.turn(
      "go",
      replying(() => house, "always"),
    );
    expect(of(events, "permission.requested")).toHaveLength(1);
    const more = await house.turn(
      "again",
      replying(() => house, "reject"),
    );
    expect(of(more, "permission.requested")).toEqual([]);
    expect(existsSync(join(house.directory, "three"))).toBe(true);
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
