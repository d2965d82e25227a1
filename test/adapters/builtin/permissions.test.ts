/** Who may do what: patterns, rules, modes and shell commands. */
import { describe, expect, test } from "vitest";
import { readCommandLine } from "../../../src/builtin/permission/command-line.ts";
import {
  type Effect,
  judge,
  judgeCommand,
  type Law,
  type PermissionConfig,
  readRules,
} from "../../../src/builtin/permission/permissions.ts";
import { matchesPattern } from "../../../src/permissions/wildcard.ts";
import type { PermissionMode } from "../../../src/protocol/events.ts";

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
