/**
 * OpenCode's newer API beside the real `opencode serve`: the same calls to both, answers and events field by field.
 * What may differ is the table in docs/opencode.md, and all of it does. Run by `npm run test:agents -- opencode`.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { compareRows, startComparison, written } from "../support/opencode-difference.ts";
import { converseNext, nextScript } from "../support/opencode-next-calls.ts";
import { openTwin } from "../support/opencode-twin.ts";
import { describeNeeding } from "../support/requires.ts";
import { root } from "../support/transcripts.ts";

const program = process.env.FRANCA_TEST_OPENCODE ?? "";
const missing = program === "" ? "OpenCode was not found" : null;

/** By the rows of the table. */
const allowed: Readonly<Record<string, readonly RegExp[]>> = {
  "words of errors": [/\.body\.message: "/, /\.body\.data\.ref: /, /\.error\.message: /],
  ids: [
    /\.(slug|projectID|project\.id): "[\w-]+" → "[\w-]+"$/,
    /\.(content\[\]\.id|textID|reasoningID): "(text|reasoning)-\d" → "prt_\w+"$/,
    /switched\.data\.messageID: "msg_\w+" → "msg_\w+"$/,
  ],
  model: [
    /\.model\.id: "scripted" → "(lab\/scripted|default)"$/,
    /\.model\.(providerID: "lab" → "opencode"|variant: "default" → undefined)$/,
    /\.model: undefined → \{"id":"default","providerID":"opencode"\}$/,
    /\.agent: undefined → "build"$/,
  ],
  usage: [/\.(cost|tokens\.(input|output)): 0 → [\d.]+$/],
  title: [/\.title: "New session - .*" → "A title"$/],
  snapshots: [/\.snapshot: .* → undefined$/, /\.files\[\]: "x" → undefined$/],
  tools: [
    /\.structured\.(output: undefined → ".*"|truncated: undefined → false)$/,
    /\.content\[\]: \{"type":"text","text":"Command exited with code 0\."\} → undefined$/,
    /^session\.next\.tool\.(progress: only here|input\.delta: only native)$/,
  ],
  requests: [
    /\.save\[\]: "touch x" → "touch \*"$/,
    /\.metadata: undefined → \{"command":"touch x"\}$/,
    /^(permission|question)\.v2\.asked: only (native|here)$/,
  ],
  "answered twice": [
    /per_…\/reply\.(status: 404 → 409|body\.(_tag: "Perm\w+" → "Conf\w+"|resource: undefined → ".*"))$/,
  ],
  wait: [/^POST \{session\}\/wait\.(status: 503 → 204|body: .* → null)$/],
  "new sessions": [/^POST \/api\/session, nowhere\./],
  "missing files": [/^GET \/api\/fs\/read\/none\.txt\./],
  agents: [/^GET \/api\/agent\.body\.(system|description|permissions\[\]): /],
  providers: [/^GET \/api\/provider(\/\{provider\})?\.body\.(data\.)?(id|name|api\.[\w.]+): /],
  status: [/^session\.(status|idle|updated|error): only here$/],
  "failed steps": [/^session\.next\.step\.started: only native$/],
  choices: [/^session\.next\.model\.switched: only native$/],
};

const namesFor = (difference: string): string[] =>
  Object.entries(allowed).flatMap(([name, patterns]) => (patterns.some((one) => one.test(difference)) ? [name] : []));

describeNeeding("the newer API", { missing }, () => {
  test("nothing differs but what is documented, and all of that does", { timeout: 600_000 }, async () => {
    const twin = await openTwin(program);
    onTestFinished(() => twin.close());
    const sides = await twin.open();
    twin.load(nextScript);
    const native = await converseNext(sides.native);
    twin.load(nextScript);
    const here = await converseNext(sides.here);
    const occurred = new Set<string>();
    const unknown: string[] = [];
    for (const kind of ["answers", "events", "own"] as const) {
      const comparison = startComparison();
      compareRows(comparison, { native: native[kind], here: here[kind] });
      for (const difference of comparison.differences.map(written)) {
        const names = namesFor(difference);
        for (const name of names) occurred.add(name);
        if (names.length === 0) unknown.push(difference);
      }
    }
    expect([...new Set(unknown)]).toEqual([]);
    expect([...occurred].sort()).toEqual(Object.keys(allowed).sort());
  });
});

test("the documented differences of the newer API are the ones that are allowed", () => {
  const page = readFileSync(join(root, "docs", "opencode.md"), "utf8");
  const section = page.split("\n## The newer API: `/api/…`\n")[1]?.split("\n## ")[0] ?? "";
  const names = [...section.matchAll(/^\| ([^|]+?) \| [^|]+ \| [^|]+ \|$/gm)].map(([, name]) => name);
  expect(names).toEqual(Object.keys(allowed));
});
