/** Plugins: OpenCode's own form runs unchanged; one that throws, hangs or talks nonsense does no harm. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, expect, test } from "vitest";
import {
  loadPlugins,
  noShell,
  type PluginEntry,
  type PluginFailure,
  type Plugins,
} from "../../src/runtime/plugins/plugins.ts";

const folders: string[] = [];

afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function folderWith(files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), "franca-plugins-"));
  folders.push(folder);
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(join(folder, name, ".."), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  return folder;
}

async function load(
  files: Readonly<Record<string, string>>,
  entries: readonly PluginEntry[],
): Promise<{ plugins: Plugins; failures: PluginFailure[] }> {
  const base = folderWith(files);
  const failures: PluginFailure[] = [];
  const context = { directory: base, worktree: base, project: { id: "p", worktree: base }, client: null, $: noShell };
  const report = (failure: PluginFailure): void => void failures.push(failure);
  return { plugins: await loadPlugins({ entries, base, context, report, hookMs: 100 }), failures };
}

const part = { sessionID: "s", messageID: "m", partID: "p" };

const documented = `
export const MyPlugin = async ({ project, client, $, directory, worktree }) => {
  return {
    async "experimental.text.complete"(hookInput: { sessionID: string }, output: { text: string }) {
      if (output.text.includes("TODO")) output.text += " [noted]";
    },
  };
};
`;

test("a plugin in OpenCode's form changes the text, in TypeScript, by path", async () => {
  const { plugins, failures } = await load({ "plugin.ts": documented }, ["./plugin.ts"]);
  expect(failures).toEqual([]);
  expect(plugins.has("experimental.text.complete")).toBe(true);
  expect(await plugins.trigger("experimental.text.complete", part, { text: "a TODO" })).toEqual({
    text: "a TODO [noted]",
  });
});

test("a package with options; hooks run in order, each on what the one before left", async () => {
  const source = `
    export const a = (_context, options) => ({ "experimental.text.complete": (_in, out) => { out.text += options.word; } });
    export const b = () => ({ "experimental.text.complete": (_in, out) => { out.text = out.text.toUpperCase(); } });
  `;
  const files = {
    "node_modules/shout/package.json": '{"name":"shout","type":"module","main":"index.js"}',
    "node_modules/shout/index.js": source,
  };
  const { plugins, failures } = await load(files, [["shout", { word: " world" }]]);
  expect(failures).toEqual([]);
  expect(await plugins.trigger("experimental.text.complete", part, { text: "hello" })).toEqual({ text: "HELLO WORLD" });
});

test.each([
  ["throws", "() => { throw new Error('broken') }", "broken"],
  ["throws half-way", "(_in, out) => { out.text = 'half'; throw new Error('half-way') }", "half-way"],
  ["hangs", "() => new Promise(() => {})", "It took longer than 100 ms."],
  ["returns nonsense", "(_in, out) => { out.text = 7 }", "It left text as number, where string is expected."],
])("one that %s is reported and changes nothing; the others run", async (_name, hook, message) => {
  const { plugins, failures } = await load(
    {
      "bad.js": `export const bad = () => ({ "experimental.text.complete": ${hook} })`,
      "good.js": `export const good = () => ({ "experimental.text.complete": (_in, out) => { out.text += "!" } })`,
    },
    ["./bad.js", "./good.js"],
  );
  expect(await plugins.trigger("experimental.text.complete", part, { text: "hello" })).toEqual({ text: "hello!" });
  expect(failures).toEqual([{ plugin: "./bad.js", hook: "experimental.text.complete", message, sessionID: "s" }]);
});

test.each([
  ["is not there", {}, "./nowhere.ts"],
  ["exports nothing", { "empty.ts": "export const number = 1;" }, "./empty.ts"],
  ["returns no hooks", { "none.ts": "export const none = async () => 3;" }, "./none.ts"],
  ["has a hook that is no function", { "odd.ts": "export const odd = async () => ({ event: 3 });" }, "./odd.ts"],
])("one that %s is reported when it is loaded", async (_name, files, entry) => {
  const { plugins, failures } = await load(files, [entry]);
  expect(plugins.names).toEqual([]);
  expect(failures).toHaveLength(1);
  expect(failures[0]).toMatchObject({ plugin: entry, hook: "load" });
});

test("todo-continuation proposes to go on while todos are open, and only then", async () => {
  const { plugins } = await load({}, ["todo-continuation"]);
  const ask = (status: "pending" | "completed") =>
    plugins.each("turn.settle", { sessionID: "s", turnID: "t", todos: [{ id: "1", content: "tidy", status }] }, () => ({
      continue: null,
    }));
  expect(await ask("pending")).toMatchObject([
    { plugin: "todo-continuation", output: { continue: { reason: "1 of 1 todos are open" } } },
  ]);
  expect(await ask("completed")).toEqual([{ plugin: "todo-continuation", output: { continue: null } }]);
});

test("notify without its command says what it needs", async () => {
  const { failures } = await load({}, ["notify"]);
  expect(failures[0]?.message).toContain('["notify", {"command"');
});

test("the examples of docs/continuation.md work as printed", async () => {
  const page = readFileSync(fileURLToPath(new URL("../../docs/continuation.md", import.meta.url)), "utf8");
  const examples = [...page.matchAll(/```ts plugin\n([\s\S]*?)```/g)].map(([, code]) => code ?? "");
  expect(examples).toHaveLength(3);
  const files = Object.fromEntries(examples.map((code, index) => [`example-${index}.ts`, code]));
  const entries = examples.map((_code, index) => `./example-${index}.ts`);
  const { plugins, failures } = await load({ ...files, "failing-tests.txt": "one" }, entries);
  expect(failures).toEqual([]);
  expect(await plugins.trigger("experimental.text.complete", part, { text: "I won't" })).toEqual({
    text: "I would rather not",
  });
  const settle = await plugins.each("turn.settle", { sessionID: "s", turnID: "t", todos: [] }, () => ({
    continue: null,
  }));
  expect(settle).toMatchObject([{ output: { continue: { reason: "tests fail" } } }]);
  const asked = {
    id: "p",
    type: "edit",
    sessionID: "s",
    title: "edit",
    pattern: ["a/package-lock.json"],
    metadata: {},
  };
  expect(await plugins.trigger("permission.ask", asked, { status: "ask" })).toEqual({ status: "deny" });
});
