/** No pattern blocks the daemon: what callers, models and repositories write is matched in linear time or elsewhere. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { judgeIgnored, readIgnoreFile } from "../../src/builtin/tools/ignore.ts";
import { walk } from "../../src/builtin/tools/walk.ts";
import { compileGlob, type Meter } from "../../src/core/glob.ts";
import { findSequence } from "../../src/permissions/sequence.ts";
import { matchesPattern } from "../../src/permissions/wildcard.ts";
import { searchFiles } from "../../src/runtime/search.ts";
import { startDaemon } from "../support/daemon.ts";
import { temporaryFolder } from "../support/folders.ts";

const SIZE = 2_000;

/** Twice the input may cost twice as much, and the fixed cost. */
function expectLinear(cost: (size: number, meter: Meter) => void, { least = SIZE } = {}): void {
  const stepsAt = (size: number): number => {
    const meter = { steps: 0 };
    cost(size, meter);
    return meter.steps;
  };
  const [once, twice] = [stepsAt(SIZE), stepsAt(2 * SIZE)];
  expect(once).toBeGreaterThanOrEqual(least);
  expect(twice).toBeLessThan(2.2 * once + 100);
}

describe("globs", () => {
  // None ends in a plain character: a path with another end would not be looked at.
  test.each([
    `${"*a".repeat(20)}[b]`,
    `${"**a".repeat(20)}[b]`,
    `${"**/".repeat(20)}[x]`,
    `${"**/*a/".repeat(10)}[x]`,
    `${"{a,*a}".repeat(20)}[b]`,
    `{${"{a,aa},".repeat(10)}*}*[b]`,
    `${"[a-z]*".repeat(20)}[/]`,
    `${"?*".repeat(20)}[!a]`,
  ])("%s costs what the path is long", (pattern) => {
    const glob = compileGlob(pattern);
    expectLinear((size, meter) => expect(glob?.matches("a".repeat(size), meter)).toBe(false));
    expectLinear((size, meter) => expect(glob?.matches("a/".repeat(size), meter)).toBe(false), { least: 5 });
  });

  test("they match what expressions match", () => {
    const part = fc.constantFrom("a", "b", "/", "*", "**", "**/", "?", "[ab]", "[!a]", "{a,b}", "{a,*b}");
    const path = fc.string({ unit: fc.constantFrom("a", "b", "/"), maxLength: 8 });
    fc.assert(
      fc.property(fc.array(part, { maxLength: 5 }), path, (parts, text) => {
        const pattern = parts.join("");
        expect([pattern, compileGlob(pattern)?.matches(text)]).toEqual([pattern, expressionOf(pattern).test(text)]);
      }),
      { numRuns: 2_000 },
    );
  });

  test("what cannot be read is none", () => {
    expect([compileGlob("{a"), compileGlob("{a,{b}"), compileGlob("a".repeat(5_000))]).toEqual([null, null, null]);
  });
});

/** The same meaning as a regular expression: short patterns only. */
function expressionOf(pattern: string): RegExp {
  const source = pattern.replaceAll(/(?:(?<=^|\/)\*\*\/)+|\*+|\?|\[!|[{},]/g, (found) => {
    if (found.endsWith("/")) return "(?:.*/)?";
    if (found.startsWith("**")) return ".*";
    return { "*": "[^/]*", "?": "[^/]", "[!": "[^/", "{": "(?:", "}": ")", ",": "|" }[found] ?? found;
  });
  return new RegExp(`^${source}$`, "s");
}

describe("permission rules", () => {
  test.each([`${"*a".repeat(20)}b*`, `*${"a".repeat(100)}b*`, `${"*a?a".repeat(10)}b*`, `${"a*".repeat(20)}b c *`])(
    "%s costs what the command is long",
    (pattern) => {
      expectLinear((size, meter) => void matchesPattern({ pattern, text: "a".repeat(size), meter }));
    },
  );

  test("a rule as long as the command costs no more", () => {
    expectLinear((size, meter) => {
      const pattern = `*${"a".repeat(size / 2)}b*`;
      expect(matchesPattern({ pattern, text: "a".repeat(size), meter })).toBe(false);
    });
  });
});

test("lines looked for in a file cost what both are long", () => {
  expectLinear((size, meter) => {
    const wanted = [...Array<string>(size / 2).fill("a"), "b"];
    expect(findSequence(wanted, { text: Array<string>(size).fill("a"), meter })).toBe(-1);
  });
});

describe("ignore files", () => {
  test("a line of white space is read once", () => {
    // By an expression that looks for white space at the end this took minutes.
    expect(readIgnoreFile(`${" ".repeat(500_000)}x\n`)).toHaveLength(0);
    expect(readIgnoreFile(`x\\ ${" ".repeat(500_000)}\n`)).toHaveLength(1);
  });

  test("what a path costs grows with the path and with the rules", () => {
    const cost = ({ rules, length }: { rules: number; length: number }): number => {
      const text = `${"*a".repeat(10)}[b]\n**/${"*a".repeat(10)}[b]\n`;
      const meter = { steps: 0 };
      const question = { path: "a".repeat(length), directory: false, meter };
      const judged = judgeIgnored([{ base: "", rules: readIgnoreFile(text.repeat(rules)) }], question).next();
      // A pause would begin the count again.
      expect(judged).toEqual({ done: true, value: false });
      return meter.steps;
    };
    expect(cost({ rules: 1, length: 400 })).toBeGreaterThan(1.8 * cost({ rules: 1, length: 200 }));
    expect(cost({ rules: 1, length: 400 })).toBeLessThan(2.2 * cost({ rules: 1, length: 200 }));
    expect(cost({ rules: 8, length: 100 })).toBeLessThan(2.2 * cost({ rules: 4, length: 100 }));
  });

  test("a walk lets others work while it judges", async () => {
    const root = temporaryFolder();
    writeFileSync(join(root, ".gitignore"), `${"*a".repeat(50)}[b]\n`.repeat(100));
    const names = Array.from({ length: 5 }, (_, index) => `${"a".repeat(200)}${index}`);
    for (const name of names) writeFileSync(join(root, name), "");
    let turns = 0;
    const timer = setInterval(() => {
      turns += 1;
    }, 0);
    const found: string[] = [];
    for await (const { path } of walk({ root, signal: AbortSignal.timeout(20_000) })) found.push(path);
    clearInterval(timer);
    expect(found).toEqual(expect.arrayContaining(names));
    expect(turns).toBeGreaterThan(10);
  });
});

const runaway = "(a+)+$";

describe("regular expressions run elsewhere", () => {
  test("one that does not come back is ended", async () => {
    const root = temporaryFolder();
    writeFileSync(join(root, "bait"), `${"a".repeat(60)}b\n`);
    const options = { root, files: ["bait"], limit: 10, lineLength: 100, timeoutMs: 100 };
    const { signal } = new AbortController();
    const searches = Array.from({ length: 6 }, () => searchFiles({ ...options, pattern: runaway, signal }));
    expect(new Set((await Promise.all(searches)).map(({ type }) => type))).toEqual(new Set(["stopped"]));
    expect(await searchFiles({ ...options, pattern: "a+b", signal, timeoutMs: 5_000 })).toMatchObject({
      type: "found",
      matches: [{ path: "bait", line: 1, offset: 0 }],
    });
    expect(await searchFiles({ ...options, pattern: "(", signal, timeoutMs: 5_000 })).toMatchObject({
      type: "unreadable",
    });
  });

  test("a search whose caller left is ended", async () => {
    const root = temporaryFolder();
    writeFileSync(join(root, "bait"), `${"a".repeat(60)}b\n`);
    const options = { root, files: ["bait"], limit: 10, lineLength: 100, timeoutMs: 60_000, pattern: runaway };
    const leaving = new AbortController();
    const searches = Array.from({ length: 6 }, () => searchFiles({ ...options, signal: leaving.signal }));
    leaving.abort();
    const ended = await Promise.allSettled(searches);
    expect(new Set(ended.map(({ status }) => status))).toEqual(new Set(["rejected"]));
  });

  test("/find answers that the pattern was stopped, and the daemon answers others meanwhile", async () => {
    const daemon = await startDaemon();
    mkdirSync(join(daemon.directory, "work"));
    writeFileSync(join(daemon.directory, "work", "bait"), `${"a".repeat(60)}b\n`);
    const get = (path: string): Promise<Response> =>
      fetch(`${daemon.url}/opencode${path}`, { headers: { "x-opencode-directory": join(daemon.directory, "work") } });
    const found = get(`/find?pattern=${encodeURIComponent(runaway)}`);
    const first = await Promise.race([found.then(() => "search"), get("/find/file?query=bait").then(() => "file")]);
    expect(first).toBe("file");
    expect((await found).status).toBe(400);
  });
});
