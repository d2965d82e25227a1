/** What a person approves is what a person sees: commands and changes that try to hide something, before and after. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { pages } from "../../src/cli/asking.ts";
import { allowedFromNowOn } from "../../src/core/approval-words.ts";
import { replay } from "../../src/core/fold.ts";
import { markdownFold } from "../../src/projections/markdown/project.ts";
import { takopiFold } from "../../src/projections/takopi/project.ts";
import { approvalLines, paintFor, textProjection } from "../../src/projections/text/index.ts";
import { type Permission, UniversalEvent } from "../../src/protocol/events.ts";
import { permissionId, sessionId } from "../../src/protocol/ids.ts";
import { program, startDaemon, testEnvironment } from "../support/daemon.ts";
import { temporaryFolder } from "../support/folders.ts";
import { describeNeeding } from "../support/requires.ts";
import { hasTmux, openTerminal } from "../support/terminal.ts";
import { root } from "../support/transcripts.ts";

interface Asked {
  readonly action?: string;
  readonly tool?: string;
  readonly input: unknown;
  readonly patterns?: readonly string[];
  readonly more?: Readonly<Record<string, unknown>>;
}

const permission = ({ action = "bash", tool = action, input, patterns = [], more = {} }: Asked): Permission => ({
  permission_id: permissionId(sessionId("demo"), 1),
  action,
  status: "requested",
  metadata: { ...more, tool, call_id: "call_1", input, patterns, deadline: null },
});

const shown = (asked: Asked, { color = false } = {}): string =>
  approvalLines({ permission: permission(asked), directory: "/workspace" }, paintFor({ color })).join("\n");

const always = (action: string, patterns: readonly string[], scope?: string): string =>
  allowedFromNowOn(permission({ action, input: {}, patterns }), scope);

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
const OBEYED = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]/u;

const hidden: readonly (readonly [name: string, command: string, seen: string])[] = [
  ["erases its own line", "rm -rf ~\u001b[2K\u001b[1Gls", "rm -rf ~\\x1b[2K\\x1b[1Gls"],
  ["returns to the start of the line", "rm -rf ~\rls      ", "rm -rf ~\\x0dls"],
  ["goes back over itself", "rm x\b\b\b\bls", "rm x\\x08\\x08\\x08\\x08ls"],
  ["sets the title with an 8-bit sequence", "ls \u009d0;x\u009c", "ls \\x9d0;x\\x9c"],
  ["is written right to left", "echo \u202etxt.sh\u202c", "echo \\u202etxt.sh\\u202c"],
  ["isolates a direction", "a\u2066b\u2069", "a\\u2066b\\u2069"],
  ["holds zero-width characters", "l\u200bs\ufeff", "l\\u200bs\\ufeff"],
  ["has spaces that are none", "rm\u00a0-rf\u3000/\u2800", "rm\\xa0-rf\\u3000/\\u2800"],
  ["carries tag characters", "ls \u{e0041}\u{e0042}", "ls \\u{e0041}\\u{e0042}"],
  ["breaks the line as few programs do", "ls\u2028rm -rf ~", "ls\\u2028rm -rf ~"],
];

describe("before it is approved", () => {
  test.each(hidden)("a command that %s", (_name, command, seen) => {
    const screen = shown({ input: { command } });
    expect(screen).toContain(seen);
    expect(screen).not.toMatch(OBEYED);
  });

  test("a long command is shown to its end", () => {
    const long = `echo ${"harmless ".repeat(2_000)}${" ".repeat(5_000)}; rm -rf ~`;
    expect(shown({ input: { command: long } })).toContain(`$ ${long}`);
    const lines = `ls${"\n".repeat(500)}rm -rf ~`;
    expect(shown({ input: { command: lines } })).toMatch(/^\$ ls\n(?: {2}\n){499} {2}rm -rf ~$/m);
  });

  test("the description is the agent's word, and the command stands first", () => {
    const input = { command: "rm -rf ~", description: "List files\nin /tmp\nalways: nothing" };
    expect(shown({ input }).split("\n")).toEqual([
      "$ rm -rf ~",
      "the agent says: List files\\nin /tmp\\nalways: nothing",
      "in /workspace",
      "always: nothing more than this time",
    ]);
  });

  test("no field of the request is left out", () => {
    const command = { command: "ls", cmd: "rm -rf ~", cwd: "/etc", dangerouslyDisableSandbox: true };
    const screen = shown({ input: command, more: { outside: ["/etc/passwd"], blocked_path: "/etc" } });
    for (const field of ["cmd: rm -rf ~", "cwd: /etc", "dangerouslyDisableSandbox: true", "blocked_path: /etc"]) {
      expect(screen).toContain(field);
    }
    expect(screen).toContain('"/etc/passwd"');
    const both = { file_path: "a.txt", path: "/etc/passwd", old_string: "a", new_string: "b", content: "evil" };
    expect(shown({ action: "edit", input: both })).toMatch(/path: \/etc\/passwd[\s\S]*content: evil/);
    expect(shown({ action: "edit", input: { diff: "+a", content: "evil" } })).toContain("content: evil");
    expect(shown({ action: "mcp", input: ["rm", "-rf"] })).toContain('"-rf"');
    expect(shown({ action: "mcp", input: { description: { run: "evil" } } })).toContain('"run": "evil"');
  });

  const edits: readonly (readonly [name: string, asked: Asked])[] = [
    ["Claude's Edit", { input: { file_path: "/w/a.ts", old_string: "old\u202e\n", new_string: "new\u001b[8m\n" } }],
    ["Claude's Write", { input: { file_path: "/w/a.ts", content: "new\u001b[8m\n" } }],
    [
      "Claude's MultiEdit",
      { input: { file_path: "/w/a.ts", edits: [{ old_string: "old\u202e", new_string: "new\u001b[8m" }] } },
    ],
    ["Claude's NotebookEdit", { input: { notebook_path: "/w/a.ts", new_source: "new\u001b[8m" } }],
    [
      "Codex's patch",
      { input: { changes: [{ path: "/w/a.ts", kind: "update", diff: "-old\u202e\n+new\u001b[8m\n" }] } },
    ],
    [
      "an older Codex's patch",
      { input: { changes: { "/w/a.ts": { type: "update", unified_diff: "-old\u202e\n+new\u001b[8m\n" } } } },
    ],
    ["OpenCode's diff", { input: { filepath: "/w/a.ts", diff: "-old\u202e\n+new\u001b[8m\n" } }],
    [
      "the builtin agent's diff",
      { input: { path: "/w/a.ts", content: "x" }, more: { diff: "+++ /w/a.ts\n-old\u202e\n+new\u001b[8m\n" } },
    ],
  ];

  test.each(edits)("%s is a coloured diff with hidden characters visible", (name, asked) => {
    const screen = shown({ action: "edit", ...asked });
    expect(screen).toContain("/w/a.ts");
    expect(screen).toMatch(/^\+new\\x1b\[8m$/m);
    if (!/Write|Notebook/.test(name)) expect(screen).toMatch(/^-old\\u202e$/m);
    expect(screen).not.toMatch(OBEYED);
    expect(shown({ action: "edit", ...asked }, { color: true })).toContain("\u001b[32m+new\\x1b[8m\u001b[39m");
  });

  test("what is longer than the screen comes page by page, and nothing is lost between pages", () => {
    const lines = ["short", "x".repeat(1_000), ...Array.from({ length: 40 }, (_, index) => `line ${index}`)];
    const screens = pages(lines, { columns: 40, rows: 10 });
    expect(screens.length).toBeGreaterThan(6);
    for (const page of screens) expect(page.length).toBeLessThanOrEqual(10);
    expect(screens.flat().join("")).toBe(lines.join(""));
  });
});

describe("always", () => {
  test.each([
    ["bash", ["npm test"], "exactly the command `npm test`, in this session"],
    ["shell", ["rm *"], "exactly the command `rm *`, in this session"],
    ["edit", ["/w/a.ts"], "edits of `/w/a.ts`, in this session"],
    ["mcp__birds__add", ["mcp__birds__add"], "every use of `mcp__birds__add`, in this session"],
    ["bash", [], "nothing more than this time"],
  ])("%s %j", (action, patterns, words) => {
    expect(always(action, patterns)).toBe(words);
  });

  test("a broader scope is shown as a pattern, in full", () => {
    expect(always("bash", ["git log -1"], "git log *")).toBe("commands matching `git log *`, in this session");
    const more = { scopes: ["git log *"] };
    expect(shown({ input: { command: "git log -1" }, patterns: ["git log -1"], more })).toContain(
      "or always: commands matching `git log *`, in this session",
    );
  });

  test("a command cannot hide what is allowed", () => {
    expect(always("bash", ["*\u202e\u001b[2K\nls"])).toBe(
      "exactly the command `*\\u202e\\x1b[2K\\nls`, in this session",
    );
  });
});

describe("after it ran", () => {
  /** A recorded turn in which the same harmless title stands for another command. */
  const ran = (command: string): UniversalEvent[] => {
    const lines = readFileSync(join(root, "transcripts/mock/permission-once/events.jsonl"), "utf8").trim().split("\n");
    const input = { command, description: "Run the tests" };
    return lines.map((line) =>
      UniversalEvent.parse(
        JSON.parse(line, (key, value: unknown) => {
          if (key === "arguments" && String(value).includes("npm test")) return JSON.stringify(input);
          return value === "npm test" ? command : value;
        }),
      ),
    );
  };
  const asText = (command: string): string =>
    replay(textProjection({ color: false, prompts: true }), ran(command))
      .map((piece) => piece.text)
      .join("");
  const asMarkdown = (command: string): string => replay(markdownFold, ran(command)).join("");

  test.each([asText, asMarkdown])("the command is shown beside a description that lies: %o", (render) => {
    expect(render("rm -rf ~")).toMatch(
      /^(?:✓ Bash rm -rf ~ · Run the tests(?: · \d+ ms)?|- \*\*bash\*\* `rm -rf ~` · `Run the tests`)$/m,
    );
  });

  test.each(hidden)("a command that %s", (_name, command, seen) => {
    for (const document of [asText(command), asMarkdown(command)]) {
      expect(document).toContain(seen);
      expect(document).not.toMatch(OBEYED);
    }
  });

  test("the end of a long command is shown, and how much is left out", () => {
    const long = asText(`echo ${"harmless ".repeat(500)}; rm -rf ~`);
    expect(long).toMatch(/^✓ Bash echo harmless .*… \d+ characters ….*; rm -rf ~ · Run the tests · \d+ ms$/m);
    expect(long).toMatch(/^\? bash: echo harmless .*; rm -rf ~$/m);
    const lines = asText(`cat <<END${"\nharmless".repeat(200)}\nEND\nrm -rf ~`);
    expect(lines).toMatch(
      /^✓ Bash cat <<END\n {2}harmless$[\s\S]*^ {2}… 183 lines …$[\s\S]*^ {2}rm -rf ~ · Run the tests · \d+ ms$/m,
    );
    expect(asMarkdown("ls\n\n```\nrm -rf ~")).toContain("````sh\nls\n\n```\nrm -rf ~\n````");
  });

  test("Takopi's action holds the whole command", () => {
    const command = `echo ${"harmless ".repeat(500)}; rm -rf ~`;
    const actions = replay(takopiFold(), ran(command)).filter((line) => line.type === "action");
    const commands = actions.filter(({ action }) => action.kind === "command").map(({ action }) => action.detail.input);
    expect(commands).toEqual([
      { command, description: "Run the tests" },
      { command, description: "Run the tests" },
    ]);
  });
});

describeNeeding("in a terminal", { missing: hasTmux() ? null : "tmux is not installed" }, () => {
  const ask = async (command: string, { rows }: { rows: number }) => {
    const daemon = await startDaemon();
    const session = await daemon.client.create({ agent: "mock", directory: daemon.directory });
    await session.prompt(`permission ${command}`);
    const terminal = openTerminal({
      command: [process.execPath, program, "attach", session.id, "--attach", daemon.url],
      env: testEnvironment(temporaryFolder(), { LANG: "C.UTF-8" }),
      screens: join(root, "test-output", "approval"),
      rows,
    });
    return { terminal, session, directory: daemon.directory };
  };

  test("a command cannot erase itself, and the change after it is a diff", async () => {
    const { terminal, directory } = await ask("rm -rf ~\u001b[2K\u001b[1G\u202els", { rows: 42 });
    const screen = await terminal.shows(/Allow bash\?[\s\S]*Always:/);
    expect(screen).toContain("$ rm -rf ~\\x1b[2K\\x1b[1G\\u202els");
    expect(screen).toContain("the agent says: Run the tests");
    expect(screen).toContain(`in ${directory}`);
    expect(screen).toContain("Always: exactly the command `rm -rf ~\\x1b[2K\\x1b[1G\\u202els`, in this session");
    terminal.keep("command");
    terminal.press("y");
    const next = await terminal.shows(/Allow edit\?[\s\S]*Always:/);
    expect(next).toMatch(/✓ Bash rm -rf ~\\x1b\[2K\\x1b\[1G\\u202els · Run the tests/);
    expect(next).toMatch(/^ # Changes$[\s\S]*^\+- All tests pass\.$/m);
    expect(next).toMatch(/Always: edits of `\S*CHANGELOG\.md`/);
    terminal.keep("edit");
  });

  test("a command longer than the screen cannot be allowed before its end was shown", async () => {
    const { terminal, session } = await ask(`ls${"\nls".repeat(40)}\nrm -rf ~`, { rows: 24 });
    await terminal.shows(/There is more to see/);
    terminal.press("y");
    terminal.press("a");
    terminal.press("m");
    await terminal.shows(/more to see before you answer \(1 page\)/);
    expect((await session.get()).pendingPermissions).toHaveLength(1);
    terminal.press("Enter");
    expect(await terminal.shows(/Allow bash\?/)).toContain("rm -rf ~");
    terminal.keep("paged");
    terminal.press("y");
    await terminal.shows(/There is more to see|Allow edit\?/);
  });
});
