/** Which models agents offer: from the adapter, or from what their program prints, within bounds. */
import { chmodSync, existsSync, mkdirSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import { adapters } from "../../src/adapters/index.ts";
import type { Sessions } from "../../src/runtime/session/contract.ts";
import { temporaryFolder } from "../support/folders.ts";
import { open } from "../support/sessions.ts";

let opened: Sessions[] = [];
afterEach(async () => {
  for (const sessions of opened) await sessions.close();
  opened = [];
  vi.unstubAllEnvs();
});

/** Sessions that find these programs and no others. */
async function withPrograms(scripts: Readonly<Record<string, string>>): Promise<{ sessions: Sessions; bin: string }> {
  const bin = join(temporaryFolder(), "bin");
  mkdirSync(bin);
  for (const [name, script] of Object.entries(scripts)) {
    writeFileSync(join(bin, name), `#!/bin/sh\n${script}\n`);
    chmodSync(join(bin, name), 0o755);
  }
  vi.stubEnv("PATH", `${bin}:/usr/bin:/bin`);
  vi.stubEnv("A_PRIVATE_NAME", "private");
  const sessions = await open(null, { adapters, directory: bin });
  opened.push(sessions);
  return { sessions, bin };
}

const catalogue = {
  models: [
    { slug: "second", display_name: "Second", visibility: "list", priority: 2 },
    {
      slug: "first",
      display_name: "First",
      visibility: "list",
      priority: 1,
      default_reasoning_level: "low",
      context_window: 272_000,
      supported_reasoning_levels: [{ effort: "low", description: "quick" }, { effort: "high" }],
    },
    { slug: "hidden", visibility: "hide", priority: 0 },
    { display_name: "nameless" },
    "no entry",
  ],
};

test("Codex's catalogue becomes models with variants, the hidden ones left out", async () => {
  const { sessions } = await withPrograms({
    codex: `[ "$*" = "debug models --bundled" ] && echo '${JSON.stringify(catalogue)}'`,
  });
  expect(await sessions.models("codex")).toEqual({
    models: [
      {
        id: "first",
        name: "First",
        variants: ["low", "high"],
        defaultVariant: "low",
        limit: { context: 272_000 },
      },
      { id: "second", name: "Second" },
    ],
  });
});

test("OpenCode's lines become models; it is asked once, with the environment that agents get", async () => {
  const { sessions, bin } = await withPrograms({
    opencode: 'echo "$1 $A_PRIVATE_NAME." >> asked; echo "Warning: old / cache"; echo lab/one; echo lab/deep/two',
  });
  const [first, again] = await Promise.all([sessions.models("opencode"), sessions.models("opencode")]);
  expect(first).toEqual({ models: [{ id: "lab/one" }, { id: "lab/deep/two" }] });
  expect(again).toEqual(first);
  expect(readFileSync(join(bin, "asked"), "utf8")).toBe("models .\n");
  const program = join(bin, "opencode");
  // A program that was replaced is asked anew.
  utimesSync(program, 1, 1);
  expect(await sessions.models("opencode")).toEqual(first);
  expect(readFileSync(join(bin, "asked"), "utf8")).toBe("models .\nmodels .\n");
});

test("what OpenCode knows of a model is told; its zeros are what it does not know", async () => {
  const about = (fields: object) => JSON.stringify(fields, null, 2);
  const known = {
    name: "One",
    cost: { input: 1, output: 2.5, cache: { read: 0.1, write: 0 } },
    limit: { context: 200_000, output: 8_192 },
    variants: { low: { reasoningEffort: "low" }, high: {} },
    options: { note: "}" },
  };
  const unknown = { cost: { input: 0, output: 0, cache: { read: 0, write: 0 } }, limit: { context: 0, output: 0 } };
  const printed = ["lab/one", about(known), "lab/two", about(unknown), "lab/three", "{\nbroken\n}", "lab/four"];
  const { sessions, bin } = await withPrograms({ opencode: 'echo "$*" > asked; cat printed' });
  writeFileSync(join(bin, "printed"), `${printed.join("\n")}\n`);
  expect(await sessions.models("opencode")).toEqual({
    models: [
      {
        id: "lab/one",
        name: "One",
        variants: ["low", "high"],
        limit: { context: 200_000, output: 8_192 },
        cost: { input: 1, output: 2.5, cacheRead: 0.1 },
      },
      { id: "lab/two" },
      { id: "lab/three" },
      { id: "lab/four" },
    ],
  });
  expect(readFileSync(join(bin, "asked"), "utf8")).toBe("models --verbose\n");
});

test("a program that fails, or prints something else, or is absent has no models", async () => {
  const { sessions } = await withPrograms({ codex: "echo no catalogue here", opencode: "echo lab/one; exit 3" });
  expect(await sessions.models("codex")).toEqual({ models: [] });
  expect(await sessions.models("opencode")).toEqual({ models: [] });
  const { sessions: none } = await withPrograms({});
  expect(await none.models("codex")).toEqual({ models: [] });
});

test("closing ends a program that never finishes printing", async () => {
  const { sessions, bin } = await withPrograms({ opencode: "echo begun > begun; exec sleep 60" });
  const models = sessions.models("opencode");
  await expect.poll(() => existsSync(join(bin, "begun"))).toBe(true);
  await sessions.close();
  expect(await models).toEqual({ models: [] });
});

test("Claude Code has its aliases, Amp has modes only", async () => {
  const { sessions } = await withPrograms({});
  expect((await sessions.models("claude")).models.map(({ id }) => id)).toEqual(["opus", "sonnet", "haiku"]);
  expect(await sessions.models("amp")).toEqual({ models: [] });
  expect((await sessions.modes("amp")).map(({ id }) => id)).toEqual(["low", "medium", "high", "ultra"]);
});
