/** Who may do what: patterns, rules, modes and shell commands. */
import { describe, expect, test } from "vitest";
import {
  judge,
  judgeCommand,
  type PermissionConfig,
  type Policy,
  readRules,
} from "../../../src/builtin/permission/policy.ts";
import { matchesPattern } from "../../../src/permissions/wildcard.ts";
import type { PermissionMode } from "../../../src/protocol/events.ts";
import { inspectAction } from "../../../src/runtime/inspect-action.ts";
import { temporaryFolder } from "../../support/folders.ts";

const policy = (config: PermissionConfig = {}, mode: PermissionMode = "default"): Policy => ({
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
  const effects = (mode: PermissionMode, config: PermissionConfig = {}): Record<string, string> =>
    Object.fromEntries(
      ["read", "glob", "grep", "list", "todowrite", "todoread", "question", "edit", "bash", "webfetch", "task"].map(
        (action) => [action, judge(policy(config, mode), { names: [action], texts: ["x"] }).action],
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
    const open = policy({ "*": "allow" });
    expect(judge(open, { names: ["bash"], texts: ["ls"] }).action).toBe("allow");
    expect(judge(open, { names: ["external_directory"], texts: ["/etc"] }).action).toBe("ask");
    expect(judge(open, { names: ["doom_loop"], texts: ["read"] }).action).toBe("ask");
    expect(judge(open, { names: ["private_address"], texts: ["127.0.0.1"] }).action).toBe("deny");
  });
});

describe("rules", () => {
  const edit = (config: PermissionConfig, subject: string, tool = "edit") =>
    judge(policy(config), { names: tool === "edit" ? ["edit"] : ["edit", tool], texts: [subject] }).action;

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
  test("what was allowed for the session is allowed, but not against a rule that forbids it", async () => {
    const remembered = [{ permission: "bash", match: "prefix", pattern: "npm test" }] as const;
    expect(await effect("npm test -- -t x", { ...policy(), remembered })).toBe("allow");
    expect(await effect("npm publish", { ...policy(), remembered })).toBe("ask");
    expect(await effect("npm test", { ...policy({ bash: { "npm test*": "deny" } }), remembered })).toBe("deny");
  });
});

async function effect(command: string, given: Policy): Promise<string> {
  const directory = temporaryFolder();
  const inspection = await inspectAction({ kind: "command", command }, directory);
  return judgeCommand(given, { command, inspection, directory }).action;
}

describe("shell commands", () => {
  const config: PermissionConfig = { bash: { "*": "ask", "git status*": "allow", "ls*": "allow", "rm *": "deny" } };
  const verdict = (command: string, given: PermissionConfig = config) => effect(command, policy(given));

  test.each([
    "git status",
    "git status -s",
    "git status && ls",
    "ls; ls -l",
    "ls | ls",
    "'git' status",
    'git "status"',
    "git status 'a; rm b'",
    "(git status)",
    "{ git status; }",
    "! git status",
  ])("allowed: %s", async (command) => expect(await verdict(command)).toBe("allow"));

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
    "xargs ls",
    "/tmp/git status",
    "git\tstatus;make",
    "git status \r make",
  ])("not allowed by a rule for another command: %j", async (command) =>
    expect(await verdict(command)).not.toBe("allow"),
  );

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
  ])("denied: %s", async (command) => expect(await verdict(command)).toBe("deny"));

  test("all commands allowed: what is not understood is still asked about, because it could hide anything", async () => {
    const mostly: PermissionConfig = { bash: { "*": "allow", "rm *": "deny" } };
    expect(await verdict("for f in *; do echo $f; done", { bash: "allow" })).toBe("ask");
    expect(await verdict("ls -l", mostly)).toBe("allow");
    expect(await verdict("$(echo rm) -rf x", mostly)).toBe("ask");
    expect(await verdict("rm -rf $HOME", mostly)).toBe("deny");
  });
  test("bypass mode runs what is not understood, but not what a rule denies", async () => {
    const bypass = policy({ bash: { "rm *": "deny" } }, "bypass");
    expect(await effect("for f in *; do echo $f; done", bypass)).toBe("allow");
    expect(await effect("for f in *; do rm $f; done", bypass)).toBe("deny");
  });
});
