/** The house stays tidy: who imports whom, how long things are, what pure code may say, and that nothing is dead. */
import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import ts from "typescript";
import { describe, expect, test } from "vitest";
import { circlesOf, describeGraph, fileGraph, folderGraph } from "./support/import-graph.ts";
import { nodesOf, type Source, sources, sourcesIn, spanOf } from "./support/sources.ts";
import { root } from "./support/transcripts.ts";

const pure = ["protocol", "permissions", "core", "dialects", "adapters", "projections", "rules"];
const edges = ["runtime", "mock", "model-server", "builtin", "server", "cli", "sdk"];
const ours = [...pure, ...edges];

/** Which layers a layer may import, besides itself. */
const mayImport: Readonly<Record<string, readonly string[]>> = {
  protocol: [],
  permissions: ["protocol"],
  core: ["protocol", "permissions"],
  dialects: [],
  adapters: ["protocol", "permissions", "core", "dialects"],
  projections: ["protocol", "core", "dialects"],
  rules: ["protocol", "core", "dialects"],
  runtime: ["protocol", "permissions", "core", "dialects", "adapters"],
  mock: ["protocol", "core", "dialects"],
  "model-server": ["protocol", "core", "dialects"],
  builtin: ["protocol", "permissions", "core", "dialects", "runtime"],
  sdk: ["protocol"],
  server: ours.filter((layer) => layer !== "cli"),
  cli: ours,
  web: ["sdk", ...pure],
};

const layerOf = (path: string): string =>
  sources.find((source) => source.path === path)?.layer ?? /^src\/([^/]+)\/.*\.json$/.exec(path)?.[1] ?? path;

describe("imports", () => {
  test("every layer is in the table, and the table knows no other", () => {
    const layers = new Set(sources.filter(({ path }) => /^(src|web)\//.test(path)).map(({ layer }) => layer));
    expect(Object.keys(mayImport).sort()).toEqual([...layers].sort());
    expect([...new Set([...ours, ...Object.values(mayImport).flat()])].filter((name) => !layers.has(name))).toEqual([]);
  });

  test.each(Object.entries(mayImport))("%s", (layer, allowed) => {
    const strangers = sourcesIn(layer).flatMap(({ path, imports }) =>
      imports
        .filter((target) => ![layer, ...allowed].includes(layerOf(target)))
        .map((target) => `${path} imports ${target}`),
    );
    expect(strangers).toEqual([]);
  });

  test("an adapter never imports another adapter, a projection never another projection", () => {
    const folderOf = (path: string): string => path.split("/").slice(0, 3).join("/");
    const strangers = sourcesIn("adapters", "projections")
      .filter(({ path }) => path.split("/").length > 3)
      .flatMap(({ path, layer, imports }) =>
        imports
          .filter((target) => layerOf(target) === layer && folderOf(target) !== folderOf(path))
          .map((target) => `${path} imports ${target}`),
      );
    expect(strangers).toEqual([]);
  });

  test("pure layers import no Node module and no package but zod", () => {
    const strangers = sourcesIn(...pure).flatMap(({ path, packages }) =>
      packages.filter((name) => name !== "zod").map((name) => `${path} imports ${name}`),
    );
    expect(strangers).toEqual([]);
  });

  test("the SDK runs in browsers", () => {
    expect(
      sourcesIn("sdk")
        .flatMap(({ packages }) => packages)
        .filter((name) => name !== "zod"),
    ).toEqual([]);
  });
});

const program = sources.filter(({ path }) => /^(src|web)\//.test(path));

describe("import graph", () => {
  test("no file imports itself by way of others", () => {
    expect(circlesOf(fileGraph(sources))).toEqual([]);
  });

  test.each(["value", "type"] as const)("no folder imports itself by way of others, by %s", (by) => {
    expect(circlesOf(folderGraph(program, { by }))).toEqual([]);
  });

  test("the graph, with the number of files and of imports", () => {
    const text = describeGraph(folderGraph(program, { by: "value" }), program);
    console.log(text);
    expect(text).toContain("src/core");
  });
});

const bannedWords = [
  /\bDate\.now\b/,
  /\bnew Date\(\)/,
  /\bMath\.random\b/,
  /\bperformance\./,
  /\bprocess\./,
  /\bconsole\./,
  /\bsetTimeout\b/,
  /\bsetInterval\b/,
  /\bsetImmediate\b/,
  /\bqueueMicrotask\b/,
  /\bfetch\(/,
  /\bBuffer\./,
];

test("pure layers have no clock, no randomness, no output and no process", () => {
  const found = sourcesIn(...pure).flatMap((source) =>
    codeLines(source).flatMap(({ number, text }) =>
      bannedWords.filter((word) => word.test(text)).map((word) => `${source.path}:${number} ${word.source}`),
    ),
  );
  expect(found).toEqual([]);
});

test("timeouts are made by timeoutSignal, because Node 20 loses those of AbortSignal.timeout", () => {
  const found = sourcesIn(...ours, "web").flatMap((source) =>
    codeLines(source).flatMap(({ number, text }) =>
      text.includes("AbortSignal.timeout") ? [`${source.path}:${number}`] : [],
    ),
  );
  expect(found).toEqual([]);
});

describe("sizes", () => {
  test("files have at most 400 lines", () => {
    const long = sources.filter(({ lines }) => lines.length > 401);
    expect(long.map(({ path, lines }) => `${path}: ${lines.length - 1}`)).toEqual([]);
  });

  test("functions have at most 60 lines", () => {
    const long = sources
      .filter(({ layer }) => layer !== "test")
      .flatMap((source) =>
        [...nodesOf(source)]
          .filter((node) => ts.isFunctionLike(node) && "body" in node)
          .map((node) => spanOf(source, node))
          .filter(({ count }) => count > 60)
          .map(({ first, count }) => `${source.path}:${first}: ${count}`),
      );
    expect(long).toEqual([]);
  });

  test("lines have at most 120 columns, but where a literal is longer", () => {
    const long = sources.flatMap((source) => {
      const literal = new Set([...nodesOf(source)].filter(isLiteral).flatMap((node) => linesOf(source, node)));
      return source.lines.flatMap((line, index) =>
        line.length > 120 && !literal.has(index + 1) ? [`${source.path}:${index + 1}`] : [],
      );
    });
    expect(long).toEqual([]);
  });
});

const isLiteral = (node: ts.Node): boolean =>
  ts.isStringLiteralLike(node) ||
  ts.isTemplateExpression(node) ||
  ts.isRegularExpressionLiteral(node) ||
  ts.isJsxText(node);

function linesOf(source: Source, node: ts.Node): number[] {
  const { first, count } = spanOf(source, node);
  return Array.from({ length: count }, (_, index) => first + index);
}

describe("style", () => {
  test("every file says first what it is", () => {
    const silent = sources.filter(({ text }) => !/^(#!.*\n)?\/\*\*/.test(text));
    expect(silent.map(({ path }) => path)).toEqual([]);
  });

  test("names are words in kebab-case", () => {
    const odd = sources
      .map(({ path }) => path)
      .filter((path) => !/^[a-z0-9-]+((\.slow)?\.test|\.config|\.bench)?\.(ts|tsx|js)$/.test(basename(path)));
    const vague = sources
      .map(({ path }) => path)
      .filter((path) => /\b(utils?|helpers?|common|misc|manager)\b/.test(path));
    expect([...odd, ...vague]).toEqual([]);
  });

  test("no type is asserted, but constants and brands", () => {
    const asserted = sourcesIn(...ours, "web").flatMap((source) =>
      [...nodesOf(source)]
        .filter((node) => ts.isAsExpression(node) && node.type.getText(source.tree) !== "const")
        .map((node) => `${source.path}:${spanOf(source, node).first}`),
    );
    expect(asserted.filter((place) => !place.startsWith("src/protocol/ids.ts"))).toEqual([]);
  });
});

describe("the server", () => {
  test("no function is written twice", () => {
    const places = new Map<string, string[]>();
    for (const source of sourcesIn("server")) {
      for (const text of source.tree.statements.flatMap((node) => functionTexts(source, node))) {
        places.set(text, [...(places.get(text) ?? []), source.path]);
      }
    }
    expect([...places].filter(([, paths]) => paths.length > 1)).toEqual([]);
  });

  test("no record is overwritten behind the back of its type", () => {
    const found = sourcesIn("server").filter(({ text }) => text.includes("Object.assign("));
    expect(found.map(({ path }) => path)).toEqual([]);
  });
});

/** The functions that a statement at the top of a file declares, whether they are exported or not. */
function functionTexts(source: Source, node: ts.Statement): string[] {
  const plain = (one: ts.Node): string =>
    one
      .getText(source.tree)
      .replace(/^export /, "")
      .replaceAll(/\s+/g, " ");
  if (ts.isFunctionDeclaration(node)) return [plain(node)];
  if (!ts.isVariableStatement(node)) return [];
  return node.declarationList.declarations
    .filter(({ initializer }) => initializer !== undefined && ts.isArrowFunction(initializer))
    .map(plain);
}

/** The names of functions that are true on purpose: a guard that accepts anything, the last row of a table. */
const TRUE_ON_PURPOSE = ["anything", "isAnything", "always"];

test("no predicate is constantly true", () => {
  const found = sourcesIn(...ours, "web").flatMap((source) =>
    [...nodesOf(source)]
      .filter(isConstantlyTrue)
      .filter((node) => !TRUE_ON_PURPOSE.includes(nameOf(node)) && !isOutcome(node))
      .map((node) => `${source.path}:${spanOf(source, node).first}`),
  );
  expect(found).toEqual([]);
});

function isConstantlyTrue(node: ts.Node): boolean {
  if (!ts.isFunctionLike(node) || !("body" in node) || node.body === undefined) return false;
  const { body } = node;
  if (!ts.isBlock(body)) return body.kind === ts.SyntaxKind.TrueKeyword;
  const [only, ...others] = body.statements;
  if (only === undefined || others.length > 0 || !ts.isReturnStatement(only)) return false;
  return only.expression?.kind === ts.SyntaxKind.TrueKeyword;
}

function nameOf(node: ts.Node): string {
  const named = ts.isFunctionDeclaration(node) ? node : node.parent;
  const hasName = ts.isFunctionDeclaration(named) || ts.isVariableDeclaration(named);
  return hasName ? (named.name?.getText() ?? "") : "";
}

/** `.then(() => true, () => false)` tells how a promise ended; it is no predicate. */
const isOutcome = ({ parent }: ts.Node): boolean =>
  ts.isCallExpression(parent) &&
  ts.isPropertyAccessExpression(parent.expression) &&
  ["then", "catch"].includes(parent.expression.name.text);

test("no file is dead", () => {
  const programs = ["cli/main.ts", "runtime/guard/program.ts", "runtime/log/sqlite/checkpoint-worker.ts"];
  const libraries = ["server/index.ts", "sdk/index.ts", "protocol/index.ts", "server/rules.ts"];
  const alive = reachable([...programs, ...libraries].map((entry) => `src/${entry}`));
  const tested = reachable(sourcesIn("test", "bench").map(({ path }) => path));
  const dead = sources
    .map(({ path }) => path)
    .filter((path) => path.startsWith("src/") && !alive.has(path) && !(isForTests(path) && tested.has(path)));
  expect(dead).toEqual([]);
});

/** The zod schema beside a hand-written guard may serve tests alone. */
const isForTests = (path: string): boolean => /^src\/dialects\/.*-schema\.ts/.test(path);

function reachable(from: readonly string[]): ReadonlySet<string> {
  const reached = new Set<string>();
  const waiting = [...from];
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (reached.has(path)) continue;
    reached.add(path);
    waiting.push(...(sources.find((source) => source.path === path)?.imports ?? []));
  }
  return reached;
}

/** Lines without their comments. */
function codeLines({ lines }: Source): { readonly number: number; readonly text: string }[] {
  return lines.flatMap((text, index) =>
    /^\s*(\/\/|\/?\*)/.test(text) ? [] : [{ number: index + 1, text: text.replace(/\s\/\/.*$/, "") }],
  );
}

/** Private words that plain ones have replaced: everything here is written in the English of the field. */
const plainWords: readonly RegExp[] = [
  /\b(put by|brought home|let go|made again|whoever|(say|says|said|saying) nothing new)\b/i,
  /\b(re)?(tell|tells|telling|tellings|told)\b/i,
  /\b(tell|told|retell)[A-Z]\w*|[a-z](Told|Tell|Telling)\b/,
  /\b(mend|mends|mended|listeners?)\b/i,
  /\b(bringHome|letGo|RunBook|Book|Shelf)\b/,
];

/** Sentences that keep such a word, with the reason. */
const quoted: readonly string[] = [];

test("the code and the documents use plain words", () => {
  const written = sources.filter(({ path }) => /^(src|web)\//.test(path));
  const found = [...written, ...documents()].flatMap(({ path, text }) =>
    text.split("\n").flatMap((line, index) => {
      const rest = quoted.reduce((left, sentence) => left.replaceAll(sentence, ""), line);
      return plainWords.some((word) => word.test(rest)) ? [`${path}:${index + 1} ${line.trim().slice(0, 100)}`] : [];
    }),
  );
  expect(found).toEqual([]);
});

function documents(): { readonly path: string; readonly text: string }[] {
  const pages = readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".md"))
    .map((name) => `docs/${name}`);
  expect(pages.length).toBeGreaterThan(10);
  return ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", ...pages].map((path) => ({
    path,
    text: readFileSync(join(root, path), "utf8"),
  }));
}
