/**
 * The same prompts to the real `opencode serve` and to Franca with the OpenCode agent: both event streams and both
 * conversations, field by field. What may differ is the table in docs/opencode.md, and all of it does. Run by
 * `npm run test:agents -- opencode`.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { written } from "../support/opencode-difference.ts";
import { scenarios } from "../support/opencode-scenarios.ts";
import { compareConversations, compareStreams } from "../support/opencode-streams.ts";
import { openTwin, type Twin } from "../support/opencode-twin.ts";
import { root } from "../support/transcripts.ts";

const program = process.env.FRANCA_TEST_OPENCODE;

/** By the rows of the table. `in`: only in these scenarios. */
const allowed: Readonly<Record<string, { readonly in?: RegExp; readonly differences: readonly RegExp[] }>> = {
  busy: { differences: [/^(child: )?session\.status busy: only (native|here)$/] },
  idle: { in: /abort|credentials/, differences: [/^session\.(status idle|idle): only native$/] },
  "late updates": {
    differences: [
      /^(child: )?(session\.diff|message user with summary|session\.updated \(summary\)): only native$/,
      /^stored (child: )?user\.summary: \{"diffs":\[.*\]\} → undefined$/,
    ],
  },
  "repeated updates": {
    differences: [
      /^(child: )?message assistant(, completed)?: only native$/,
      /^(child: )?session\.updated \((cost, tokens)?\): only (native|here)$/,
      /^part (bash|edit|task), running( and telling)?: only (native|here)$/,
      /^part bash, running\.part\.state\.metadata: \{"output":""\} → undefined$/,
    ],
  },
  order: {
    in: /abort|credentials|busy/,
    differences: [/^message assistant: only here$/, /^session\.error: only (native|here)$/],
  },
  ids: { differences: [/^(child: )?session\.created\.info\.(slug|projectID): "[\w-]+" → "[\w-]+"$/] },
  model: {
    differences: [
      /^(stored )?(child: )?(message )?(user|assistant).*\.providerID: "lab" → "opencode"$/,
      /^(stored )?(child: )?(message )?user.*\.modelID: "scripted" → "default"$/,
      /^(stored )?(child: )?(message )?assistant.*\.modelID: "scripted" → "lab\/scripted"$/,
      /^(child: )?session\.created\.info\.model: undefined → \{"id":"default","providerID":"opencode"\}$/,
      /^session\.created\.info\.agent: undefined → "build"$/,
      /^(child: )?session\.updated \((agent, )?model\): only native$/,
      /^(stored )?part task.*\.metadata\.model: \{"modelID":"scripted","providerID":"lab"\} → undefined$/,
    ],
  },
  title: {
    differences: [
      /^session\.updated \(title\): only here$/,
      /^(stored )?child: part glob.*\.state\.title: "" → "\*"$/,
      /^(stored )?part bash.*\.state\.title: "" → "echo by hand"$/,
    ],
  },
  snapshots: {
    differences: [
      /^(stored )?(child: )?part step-(start|finish)(\.part)?\.snapshot: "[0-9a-f]{40}" → undefined$/,
      /^(stored )?part patch: only native$/,
    ],
  },
  "file.edited": { in: /permission that is given/, differences: [/^file\.edited: only here$/] },
  "tool metadata": {
    differences: [
      /^(stored )?part read.*\.metadata\.(preview|display): .* → undefined$/,
      /^(stored )?child: part glob.*\.metadata\.count: 1 → undefined$/,
    ],
  },
  "aborted command": {
    in: /abort while a command runs/,
    differences: [
      /^part bash, completed: only native$/,
      /^part bash, error: only here$/,
      /^stored part bash\.state\.(status|title|output|error|metadata\.(output|exit|truncated)): /,
    ],
  },
  "unknown tool": {
    in: /does not exist/,
    differences: [/^(stored )?part invalid.*: only native$/, /^(stored )?part teleport.*: only here$/],
  },
  "broken-off text": {
    in: /breaks off/,
    differences: [
      /^part text: only here$/,
      /^stored part text\.text: "" → "Broken o"$/,
      /^stored part text\.time\.end: undefined → \d+$/,
    ],
  },
  compaction: {
    in: /compaction/,
    differences: [
      /^delta: only native$/,
      /^delta\.delta: "SUMM" → "SUMMARY of all\."$/,
      /^session\.compacted: only (native|here)$/,
      /^message assistant, completed: only here$/,
    ],
  },
  "shell command": {
    in: /command of the user/,
    differences: [
      /^(stored )?part step-start: only here$/,
      /^part bash, pending: only here$/,
      /^stored assistant\.finish: undefined → "stop"$/,
      /^(stored )?part bash.*\.metadata\.truncated: undefined → false$/,
      /^message assistant, completed(\.info\.finish: undefined → "stop"|: only here)$/,
    ],
  },
  "subagents' tokens": {
    in: /subagent/,
    differences: [/^session\.updated \(cost, tokens\)\.(cost|tokens\.(input|output)): [\d.]+ → [\d.]+$/],
  },
  "child session": { differences: [/^child: session\.created\.info\.permission: \[.*\] → undefined$/] },
  "no repository": {
    in: /no repository/,
    differences: [
      /^(message|stored) assistant.*\.path\.root: "\/" → "\/work"$/,
      /^session\.created\.info\.path: "work" → ""$/,
    ],
  },
  "permission requests": {
    in: /permission that|edit that/,
    differences: [
      /^permission\.asked\.(always|patterns)\[\]: ".*" → ".*"$/,
      /^permission\.asked\.metadata\.scopes: undefined → \[.*\]$/,
      // Franca inspects the action first, so the event comes later among the others.
      /^permission\.asked: only (native|here)$/,
    ],
  },
  "the server's own": {
    differences: [/^(plugin\.added|(catalog|reference|integration|file\.watcher)\.updated): only native$/],
  },
};

const namesFor = (difference: string, scenario: string): string[] =>
  Object.entries(allowed).flatMap(([name, { in: where = /./, differences }]) =>
    where.test(scenario) && differences.some((pattern) => pattern.test(difference)) ? [name] : [],
  );

describe.skipIf(program === undefined)("opencode serve and Franca with OpenCode", () => {
  const occurred = new Set<string>();
  let twin: Twin;
  beforeAll(async () => {
    twin = await openTwin(program ?? "");
  });
  afterAll(() => twin?.close());

  test.each(scenarios)("$name: nothing differs but what is documented", async (scenario) => {
    const played = await twin.play(scenario);
    const differences = [...compareStreams(played), ...compareConversations(played)].map(written);
    const unknown = differences.filter((difference) => {
      const names = namesFor(difference, scenario.name);
      for (const name of names) occurred.add(name);
      return names.length === 0;
    });
    expect(unknown).toEqual([]);
  });

  test("a model's limits and prices are those that OpenCode tells", async () => {
    const { native, here } = await twin.models();
    expect(native).toMatchObject({ name: "Scripted", limit: { context: 200_000, output: 8_192 } });
    expect(native).toMatchObject({ cost: { input: 1, output: 2, cache: { read: 0, write: 0 } } });
    expect(here).toEqual([
      {
        id: "lab/scripted",
        name: "Scripted",
        variants: ["low", "medium", "high"],
        limit: { context: 200_000, output: 8_192 },
        cost: { input: 1, output: 2 },
      },
    ]);
  });

  test("whatever is documented does occur", () => {
    expect([...occurred].sort()).toEqual(Object.keys(allowed).sort());
  });
});

test("the documented differences from OpenCode are the ones that are allowed", () => {
  const page = readFileSync(join(root, "docs", "opencode.md"), "utf8");
  const section = page.split("\n## What differs from native\n")[1]?.split("\n## ")[0] ?? "";
  const names = [...section.matchAll(/^\| ([^|]+?) \| [^|]+ \| [^|]+ \|$/gm)].map(([, name]) => name);
  expect(names).toEqual(Object.keys(allowed));
});
