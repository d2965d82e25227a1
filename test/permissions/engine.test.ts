/** The rule engine on files, links, remembered scopes and several sources. */
import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { combineVerdicts, type Verdict } from "../../src/permissions/engine.ts";
import type { RequestedAction } from "../../src/permissions/inspection.ts";
import { broaderScopes, exactScope, type RememberedScope } from "../../src/permissions/scopes.ts";
import type { PermissionRule } from "../../src/protocol/requests.ts";
import { inspectAction } from "../../src/runtime/inspect-action.ts";
import { type Fixture, judgeCommand, judgeInspected, openFixture, rule } from "./fixture.ts";

async function judgeEdit(path: string, { directory }: Fixture, rules: readonly PermissionRule[]): Promise<string> {
  const action: RequestedAction = { kind: "paths", access: "write", paths: [path] };
  const inspection = await inspectAction(action, directory);
  return judgeInspected({ action, inspection, directory }, { rules, names: ["Write"] }).action;
}

describe("files", () => {
  test("a link does not lead an allowed path outside or to a hook", async () => {
    const fixture = openFixture();
    symlinkSync(fixture.outside, join(fixture.directory, "src", "out"));
    symlinkSync("../.git/hooks", join(fixture.directory, "src", "hooks"));
    const rules = [rule("allow", "edit", "src/*")];
    expect(await judgeEdit("src/a.ts", fixture, rules)).toBe("allow");
    expect(await judgeEdit(join(fixture.directory, "src/a.ts"), fixture, rules)).toBe("allow");
    expect(await judgeEdit("src/out/file", fixture, rules)).toBe("ask");
    expect(await judgeEdit("src/hooks/post-merge", fixture, rules)).toBe("ask");
    expect(await judgeEdit("src/../a.txt", fixture, rules)).toBe("ask");
    expect(await judgeEdit("src/out/file", fixture, [...rules, rule("allow", "external_directory")])).toBe("ask");
  });

  test("a denied path is denied under its real name, as written, and through a link", async () => {
    const fixture = openFixture();
    symlinkSync("sub", join(fixture.directory, "alias"));
    const rules = [rule("allow", "edit"), rule("deny", "edit", "sub/*"), rule("deny", "edit", "link/*")];
    for (const path of ["sub/x", "src/../sub/x", "alias/x", "link/x", join(fixture.directory, "sub/x")]) {
      expect([path, await judgeEdit(path, fixture, rules)]).toEqual([path, "deny"]);
    }
  });

  test("a path outside needs external_directory; a file that runs code needs a rule for everything", async () => {
    const fixture = openFixture();
    const outside = join(fixture.outside, "x");
    expect(await judgeEdit(outside, fixture, [rule("allow", "edit")])).toBe("ask");
    expect(await judgeEdit(outside, fixture, [rule("allow", "*")])).toBe("ask");
    expect(await judgeEdit(outside, fixture, [rule("allow", "edit"), rule("allow", "external_directory")])).toBe(
      "allow",
    );
    expect(await judgeEdit(outside, fixture, [rule("allow", "edit"), rule("deny", "external_directory")])).toBe("deny");
    expect(await judgeEdit(".envrc", fixture, [rule("allow", "edit")])).toBe("ask");
    expect(await judgeEdit(".envrc", fixture, [rule("allow", "*")])).toBe("allow");
  });

  test("rules for files also apply to the paths of commands", async () => {
    const fixture = openFixture();
    const rules = [rule("allow", "bash"), rule("deny", "edit", "sub/*"), rule("deny", "read", ".env")];
    const verdicts = {
      "echo x > sub/new": "deny",
      "touch sub/new": "deny",
      "cp a.txt sub/new": "deny",
      "cd sub && touch new": "deny",
      "cat .env": "deny",
      "cat < .env": "deny",
      "npm test sub/a.txt": "ask",
      "echo x > src/new": "allow",
    };
    for (const [command, expected] of Object.entries(verdicts)) {
      expect([command, (await judgeCommand(command, fixture, { rules })).action]).toEqual([command, expected]);
    }
  });
});

describe("other actions", () => {
  const judged = (action: RequestedAction, names: readonly string[], rules: readonly PermissionRule[]): string =>
    judgeInspected({ action, inspection: null, directory: "/project" }, { rules, names }).action;

  test("an action that the agent did not report is never allowed", () => {
    expect(judged({ kind: "unknown" }, ["Bash"], [rule("allow", "*")])).toBe("ask");
    expect(judged({ kind: "unknown" }, ["Bash"], [rule("deny", "bash")])).toBe("deny");
    expect(judged({ kind: "paths", access: "write", paths: [] }, ["edit"], [rule("allow", "*")])).toBe("ask");
  });
  test("addresses and tools are matched by their own text and name", () => {
    const url: RequestedAction = { kind: "url", url: "https://example.test/a" };
    expect(judged(url, ["WebFetch"], [rule("allow", "webfetch", "https://example.test/*")])).toBe("allow");
    expect(judged(url, ["WebFetch"], [rule("allow", "webfetch", "https://other.test/*")])).toBe("ask");
    expect(judged({ kind: "tool" }, ["mcp__x__y"], [rule("allow", "mcp__x__*")])).toBe("allow");
  });
});

test("a deny of any source wins over an allow of another", () => {
  const verdict = (action: Verdict["action"]): Verdict => ({ action, reason: "", rule: null });
  expect(combineVerdicts([verdict("allow"), verdict("ask"), verdict("deny")])?.action).toBe("deny");
  expect(combineVerdicts([verdict("ask"), verdict("allow")])?.action).toBe("allow");
  expect(combineVerdicts([])).toBeNull();
});

describe("remembered scopes", () => {
  const scopesOf = async (command: string, { directory }: Fixture) => {
    const action = { kind: "command", command } as const;
    const scoped = { names: ["Bash"], action, inspection: await inspectAction(action, directory), directory };
    return { exact: exactScope(scoped), broader: broaderScopes(scoped) };
  };
  const verdictWith = async (command: string, remembered: readonly RememberedScope[], fixture: Fixture) =>
    (await judgeCommand(command, fixture, { rules: [], remembered })).action;

  test.each(["test -f a.txt", "printf hi"])(
    "always for %s does not allow a subscript that runs a command",
    async (one) => {
      const fixture = openFixture();
      const { exact, broader } = await scopesOf(one, fixture);
      const remembered = [exact, ...broader].flatMap((scope) => scope?.remembers ?? []);
      expect(broader).toEqual([]);
      expect(await verdictWith(one, remembered, fixture)).toBe("allow");
      expect(await verdictWith("test -v 'a[$(touch x)]'", remembered, fixture)).toBe("ask");
      expect(await verdictWith(`${one} x`, remembered, fixture)).toBe("ask");
    },
  );

  test("the exact scope covers the same text, also if it is not understood, and no other", async () => {
    const fixture = openFixture();
    const command = "for f in *; do cat $f; done";
    const { exact, broader } = await scopesOf(command, fixture);
    expect(broader).toEqual([]);
    expect(await verdictWith(command, exact?.remembers ?? [], fixture)).toBe("allow");
    expect(await verdictWith(`${command} `, exact?.remembers ?? [], fixture)).toBe("ask");
    const denied = [rule("deny", "bash", "cat *")];
    const verdict = await judgeCommand(command, fixture, { rules: denied, remembered: exact?.remembers ?? [] });
    expect(verdict.action).toBe("deny");
  });

  test.each(["echo x > .git/hooks/post-merge", "cp a.txt hooks/x", "tee .envrc"])(
    "%s has no scope",
    async (command) => {
      expect(await scopesOf(command, openFixture())).toEqual({ exact: null, broader: [] });
    },
  );

  test.each<[string, string | null]>([
    ["git status", "git status *"],
    ["git log --oneline", "git log *"],
    ["git log --output=x", null],
    ["git log --outp=x", null],
    ["git diff --ext-diff", null],
    ["git -c core.pager=x log", null],
    ["ls src && git diff", "ls *, git diff *"],
    ["sort -o b.txt a.txt", null],
    ["find . -delete", null],
    ["rg --pre ./x y", null],
    ["rg -nz y", null],
    ["date -s now", null],
    ["npm test", "npm test *"],
    ["npm run build", "npm run build *"],
    ["npm publish", null],
    ["make", "make *"],
    ["git status > x", null],
    ["cat ../outside/secret", null],
    ["git status $(x)", null],
    ["touch x", null],
  ])("the broader scope of %s is %s", async (command, expected) => {
    const { broader } = await scopesOf(command, openFixture());
    expect(broader.map(({ pattern }) => pattern)).toEqual(expected === null ? [] : [expected]);
  });

  test.each([
    "git log --output=x",
    "git log --ext-diff",
    "git log > x",
    "git log; touch x",
    "git log $(touch x)",
    "git -c core.pager=x log",
    "git log -- ../outside/secret",
    "git logs",
    "npm test && rm a.txt",
    "npm test > x",
    "npm testing",
    "A=1 npm test",
    "cat a.txt > b.txt",
    "cat link.txt",
  ])("broader scopes do not cover %s", async (command) => {
    const fixture = openFixture();
    const remembered = (["git log", "npm test", "cat"] as const).map(
      (pattern) => ({ permission: "bash", match: "prefix", pattern }) as const,
    );
    expect(await verdictWith("git log -5 && npm test -- x && cat a.txt", remembered, fixture)).toBe("allow");
    expect(await verdictWith(command, remembered, fixture)).toBe("ask");
  });

  test("files: the exact file, or every file in the folder except those that run code", async () => {
    const fixture = openFixture();
    const { directory } = fixture;
    const scoped = async (path: string) => {
      const action: RequestedAction = { kind: "paths", access: "write", paths: [path] };
      return { names: ["edit"], action, inspection: await inspectAction(action, directory), directory };
    };
    const edit = await scoped("src/a.ts");
    const exact = exactScope(edit)?.remembers ?? [];
    const broader = broaderScopes(edit).flatMap(({ remembers }) => remembers);
    const judged = async (path: string, remembered: readonly RememberedScope[]) =>
      judgeInspected(await scoped(path), { rules: [], remembered, names: ["edit"] }).action;
    expect(await judged("src/a.ts", exact)).toBe("allow");
    expect(await judged("src/b.ts", exact)).toBe("ask");
    expect(await judged("src/b.ts", broader)).toBe("allow");
    expect(await judged("link/b.ts", broader)).toBe("ask");
    expect(await judged("hooks/b", broader)).toBe("ask");
    expect(await judged(".envrc", broader)).toBe("ask");
  });
});
