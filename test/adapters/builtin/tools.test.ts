/** The tools, one by one: what they return, what bounds them, and how their errors help. */
import { chmodSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { unifiedDiff } from "../../../src/builtin/tools/diff.ts";
import { htmlToText } from "../../../src/builtin/tools/html.ts";
import { judgeIgnored, readIgnoreFile } from "../../../src/builtin/tools/ignore.ts";
import { findTool, tools } from "../../../src/builtin/tools/index.ts";
import { replaceText } from "../../../src/builtin/tools/replace.ts";
import { findRipgrep } from "../../../src/builtin/tools/ripgrep.ts";
import { compileGlob } from "../../../src/core/glob.ts";
import { describeNeeding } from "../../support/requires.ts";
import { type Bench, openBench } from "../../support/tools.ts";

const free = (): Bench => openBench({ mode: "bypass" });
function put(bench: Bench, files: Record<string, string>): void {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(bench.directory, path)), { recursive: true });
    writeFileSync(join(bench.directory, path), content);
  }
}
const outputOf = async (bench: Bench, tool: string, input: unknown): Promise<string> => {
  const result = await bench.run(tool, input);
  if ("output" in result) return result.output;
  throw new Error(JSON.stringify(result));
};
const contentOf = (bench: Bench, path: string): string => readFileSync(join(bench.directory, path), "utf8");

test("the tools are those of the design, each with a description and a schema of an object", () => {
  expect(tools.map(({ name }) => name).sort()).toEqual(
    "bash edit glob grep list multiedit question read task todoread todowrite webfetch write".split(" "),
  );
  for (const { description, schema } of tools) {
    expect(description.length).toBeGreaterThan(20);
    expect(schema).toMatchObject({ type: "object" });
  }
  expect(findTool(tools, "Read")?.name).toBe("read");
});

describe("read", () => {
  test("numbers lines, goes on from an offset, and says where the file ends", async () => {
    const bench = free();
    put(bench, { "a.txt": "one\ntwo\nthree\n" });
    expect(await outputOf(bench, "read", { filePath: "a.txt" })).toBe(
      "     1\tone\n     2\ttwo\n     3\tthree\n\n(end of file, 3 lines)",
    );
    expect(await outputOf(bench, "read", { filePath: "a.txt", offset: 2, limit: 1 })).toBe(
      "     2\ttwo\n\n(more lines follow: go on with offset 3)",
    );
    expect(await bench.run("read", { filePath: "a.txt", offset: 9 })).toEqual({ failure: "a.txt has only 3 lines." });
  });

  test("is bounded in lines, line length and size", async () => {
    const bench = free();
    put(bench, { "many.txt": "x\n".repeat(5_000), "wide.txt": "y".repeat(500_000), "empty.txt": "" });
    expect(await outputOf(bench, "read", { filePath: "many.txt" })).toContain("go on with offset 2001");
    expect((await outputOf(bench, "read", { filePath: "wide.txt" })).length).toBeLessThan(2_200);
    expect(await outputOf(bench, "read", { filePath: "empty.txt" })).toBe("(the file is empty)");
    put(bench, { "long.txt": `${"z".repeat(1_900)}\n`.repeat(1_000) });
    expect((await outputOf(bench, "read", { filePath: "long.txt" })).length).toBeLessThan(60_000);
  });

  test("multibyte characters survive the edges of chunks", async () => {
    const bench = free();
    const line = `${"a".repeat(65_534)}\n${"é".repeat(10)}ü`;
    put(bench, { "u.txt": line });
    expect(await outputOf(bench, "read", { filePath: "u.txt", offset: 2 })).toContain("ééééééééééü");
  });

  test("a missing file suggests its neighbours; a binary one says so", async () => {
    const bench = free();
    put(bench, { "Readme.md": "x", "b.bin": "a\0b" });
    expect(await bench.run("read", { filePath: "readme.MD" })).toEqual({
      failure: "readme.MD does not exist. Did you mean Readme.md?",
    });
    expect(await bench.run("read", { filePath: "b.bin" })).toHaveProperty("failure");
  });

  test("names are taken as other agents write them", async () => {
    const bench = free();
    put(bench, { a: "x" });
    expect(await outputOf(bench, "read", { file_path: "a" })).toContain("x");
    expect(await outputOf(bench, "read", { path: "a" })).toContain("x");
    expect(await outputOf(bench, "read", '{"filePath":"a"}')).toContain("x");
    expect(await bench.run("read", {})).toHaveProperty("failure");
  });
});

describe("write", () => {
  test("creates folders, replaces, keeps the mode, and tells what changed", async () => {
    const bench = free();
    expect(await bench.run("write", { filePath: "a/b/c.txt", content: "new\n" })).toMatchObject({
      output: expect.stringContaining("Created a/b/c.txt"),
      files: [{ action: "write", change: "add", path: join(bench.directory, "a/b/c.txt") }],
    });
    chmodSync(join(bench.directory, "a/b/c.txt"), 0o755);
    expect(await bench.run("write", { filePath: "a/b/c.txt", content: "newer\n" })).toMatchObject({
      files: [{ change: "update", diff: expect.stringContaining("-new\n+newer") }],
    });
    expect(statSync(join(bench.directory, "a/b/c.txt")).mode & 0o777).toBe(0o755);
  });

  test("a file that changed since it was read is not overwritten blindly", async () => {
    const bench = free();
    put(bench, { "a.txt": "one" });
    await bench.run("read", { filePath: "a.txt" });
    put(bench, { "a.txt": "somebody else's words" });
    expect(await bench.run("write", { filePath: "a.txt", content: "mine" })).toHaveProperty("failure");
    await bench.run("read", { filePath: "a.txt" });
    expect(await bench.run("write", { filePath: "a.txt", content: "mine" })).toHaveProperty("output");
  });

  test("a link inside is followed to the file inside", async () => {
    const bench = free();
    put(bench, { "real.txt": "x" });
    symlinkSync("real.txt", join(bench.directory, "link.txt"));
    await bench.run("write", { filePath: "link.txt", content: "y" });
    expect(contentOf(bench, "real.txt")).toBe("y");
  });
});

describe("edit", () => {
  test.each<[string, string, string, RegExp]>([
    ["a b a", "a", "x", /found 2 times \(lines 1, 1\).*replaceAll/],
    ["one\ntwo", "three", "x", /not found/],
    ["  if (x) {\n    y();\n  }", "if (x) {\n  y();\n}", "z", /only in white space.*\n {2}if \(x\)/s],
    ["start\nmiddle\nend", "start\nother", "z", /first line is there.*\nstart\nmiddle/s],
    ["text", "", "x", /empty.*write tool/],
    ["text", "text", "text", /the same/],
  ])("%j with %j → %j: the error helps", (text, oldString, newString, message) => {
    const replaced = replaceText(text, { oldString, newString });
    expect(replaced.ok ? "" : replaced.message).toMatch(message);
  });

  test("replaces once, or everywhere; keeps carriage returns; takes no meaning from $&", () => {
    expect(replaceText("a b c", { oldString: "b", newString: "$&$1" })).toEqual({ ok: true, text: "a $&$1 c" });
    expect(replaceText("a b a", { oldString: "a", newString: "x", replaceAll: true })).toEqual({
      ok: true,
      text: "x b x",
    });
    expect(replaceText("a\r\nb\r\nc\r\n", { oldString: "a\nb", newString: "x\ny\nz" })).toEqual({
      ok: true,
      text: "x\r\ny\r\nz\r\nc\r\n",
    });
  });

  test("multiedit makes all edits or none", async () => {
    const bench = free();
    put(bench, { "a.txt": "1 2 3" });
    const bad = [
      { oldString: "1", newString: "one" },
      { oldString: "9", newString: "nine" },
    ];
    expect(await bench.run("multiedit", { filePath: "a.txt", edits: bad })).toMatchObject({
      failure: expect.stringContaining("Edit 2 of 2, so none was made"),
    });
    expect(contentOf(bench, "a.txt")).toBe("1 2 3");
    const good = [
      { oldString: "1", newString: "one" },
      { old_string: "one 2", new_string: "ONE TWO" },
    ];
    await bench.run("multiedit", { filePath: "a.txt", edits: good });
    expect(contentOf(bench, "a.txt")).toBe("ONE TWO 3");
  });

  test("a diff applied to the old text gives the new one", () => {
    const text = fc
      .array(fc.constantFrom("a", "b", "c", "", "d e"), { maxLength: 30 })
      .map((lines) => lines.join("\n"));
    fc.assert(
      fc.property(text, text, (before, after) => {
        expect(applied(before, unifiedDiff({ path: "f", before, after }))).toBe(after);
      }),
      { examples: [["b\nb\nb\na", "a\nb\nb\nb\na"]] },
    );
  });
});

/** A small `patch`, so that diffs are judged by what they mean. */
function applied(before: string, diff: string): string {
  if (diff === "") return before;
  const old = before === "" ? [] : before.split("\n");
  const hadEnd = before.endsWith("\n");
  if (hadEnd) old.pop();
  const out: string[] = [];
  let at = 0;
  let endsBare = before !== "" && !hadEnd;
  const lines = diff.split("\n").slice(2);
  let last = "";
  for (const line of lines) {
    const hunk = /^@@ -(\d+),(\d+) \+/.exec(line);
    if (hunk !== null) {
      const start = Number(hunk[1]) - (Number(hunk[2]) === 0 ? 0 : 1);
      while (at < start) out.push(old[at++] ?? "");
    } else if (line.startsWith("\\")) {
      if (last !== "-") endsBare = true;
      else endsBare = false;
    } else if (line.startsWith("+")) {
      out.push(line.slice(1));
      endsBare = false;
      last = "+";
    } else if (line.startsWith("-")) {
      at += 1;
      last = "-";
      if (at === old.length) endsBare = false;
    } else if (line.startsWith(" ")) {
      out.push(old[at++] ?? "");
      last = " ";
    }
  }
  const rest = old.slice(at);
  // What no hunk touched ends as it did.
  if (rest.length > 0) endsBare = !hadEnd;
  out.push(...rest);
  if (out.length === 0) return "";
  return out.join("\n") + (endsBare ? "" : "\n");
}

describe("glob, grep and list", async () => {
  const files = {
    ".gitignore": "*.log\n/build/\n!keep.log\nnode_modules\n",
    "src/a.ts": "const needle = 1;\nother\n",
    "src/deep/b.ts": "needle again\r\n",
    "src/c.js": "no\n",
    "keep.log": "needle kept\n",
    "drop.log": "needle dropped\n",
    "build/out.ts": "needle built\n",
    "src/build/fine.ts": "needle below\n",
    "node_modules/x/index.js": "needle module\n",
    ".hidden": "needle hidden\n",
  };
  function furnished(): Bench {
    const bench = free();
    put(bench, files);
    writeFileSync(join(bench.directory, "binary"), "needle\0binary");
    return bench;
  }

  test("glob finds by pattern and leaves out what is ignored", async () => {
    const bench = furnished();
    const found = async (pattern: string) => (await outputOf(bench, "glob", { pattern })).split("\n").sort();
    expect(await found("**/*.ts")).toEqual(["src/a.ts", "src/build/fine.ts", "src/deep/b.ts"]);
    expect(await found("*.ts")).toEqual(["src/a.ts", "src/build/fine.ts", "src/deep/b.ts"]);
    expect(await found("src/*.{ts,js}")).toEqual(["src/a.ts", "src/c.js"]);
    expect(await found("*.log")).toEqual(["keep.log"]);
    expect(await found("nothing*")).toEqual(["No file matches."]);
    expect(await outputOf(bench, "glob", { pattern: "*.ts", path: "src/deep" })).toBe("src/deep/b.ts");
  });

  test("grep finds lines, leaves out what is ignored or binary, and takes a file or a kind of file", async () => {
    const bench = furnished();
    const all = await outputOf(bench, "grep", { pattern: "need.e" });
    expect(all).toBe(
      [
        ".hidden",
        "  1: needle hidden",
        "",
        "keep.log",
        "  1: needle kept",
        "",
        "src/a.ts",
        "  1: const needle = 1;",
        "",
        "src/build/fine.ts",
        "  1: needle below",
        "",
        "src/deep/b.ts",
        "  1: needle again",
      ].join("\n"),
    );
    expect(await outputOf(bench, "grep", { pattern: "needle", include: "*.log" })).toBe("keep.log\n  1: needle kept");
    expect(await outputOf(bench, "grep", { pattern: "needle", path: "src/a.ts" })).toBe(
      "src/a.ts\n  1: const needle = 1;",
    );
    expect(await outputOf(bench, "grep", { pattern: "absent" })).toBe("No line matches.");
    expect(await bench.run("grep", { pattern: "(" })).toMatchObject({ failure: expect.stringContaining("pattern") });
  });

  test("list shows a tree", async () => {
    const bench = furnished();
    expect(await outputOf(bench, "list", { path: "src" })).toBe("a.ts\nbuild/\n  fine.ts\nc.js\ndeep/\n  b.ts");
    expect(await outputOf(bench, "list", { path: "src", depth: 1 })).toBe("a.ts\nbuild/\nc.js\ndeep/");
  });

  test("ignore files above the directory count, up to the repository's top", async () => {
    const bench = free();
    put(bench, {
      ".git/HEAD": "",
      ".gitignore": "secret/\n*.tmp",
      "sub/secret/a": "x",
      "sub/b.tmp": "x",
      "sub/c": "x",
    });
    expect(await outputOf(bench, "glob", { pattern: "**/*", path: "sub" })).toBe("sub/c");
  });

  test("ripgrep is asked for the same, where it is installed", async () => {
    const bench = openBench({ mode: "bypass", ripgrep: join(import.meta.dirname, "..", "..", "data", "fake-rg.sh") });
    put(bench, { "a.txt": "needle\n" });
    // The stand-in says its arguments as a match, so that what ripgrep is asked for is seen.
    const output = await outputOf(bench, "grep", { pattern: "--need", include: "*.txt" });
    expect(output).toContain("a.txt\n  7: ");
    expect(output).toContain("-e --need -- .");
    expect(output).toContain("--type-add=wanted:*.txt --type=wanted");
    expect(output).toContain("--no-config");
  });

  // With FRANCA_TEST_RIPGREP, or rg on the path.
  const ripgrep = process.env.FRANCA_TEST_RIPGREP ?? (await findRipgrep(process.env.PATH));
  const missing = ripgrep === null ? "it needs rg on the path (Debian's package ripgrep)" : null;
  describeNeeding("with the real ripgrep", { missing }, () => {
    test.each([
      { pattern: "need.e" },
      { pattern: "needle", include: "*.log" },
      { pattern: "needle", include: "*.{ts,log}" },
      { pattern: "needle", include: "src/**/*.ts" },
      { pattern: "needle", path: "src/a.ts" },
      { pattern: "needle", path: "src/deep" },
      { pattern: "absent" },
    ])("the same is found: %j", async (input) => {
      const plain = furnished();
      const fast = openBench({ mode: "bypass", ripgrep });
      put(fast, files);
      writeFileSync(join(fast.directory, "binary"), "needle\0binary");
      expect(await outputOf(fast, "grep", input)).toBe(await outputOf(plain, "grep", input));
    });
  });

  test.each<[string, string, boolean]>([
    ["**/*.ts", "a.ts", true],
    ["**/*.ts", "x/y/a.ts", true],
    ["src/**", "src/a/b", true],
    ["src/**/b", "src/b", true],
    ["src/**/b", "src/x/y/b", true],
    ["*.ts", "x/a.ts", false],
    ["a?c", "abc", true],
    ["a?c", "a/c", false],
    ["[!a]b", "cb", true],
    ["[!a]b", "ab", false],
    ["{a,b}/*.{x,y}", "b/1.y", true],
    ["a.b", "aXb", false],
    ["a+b", "a+b", true],
  ])("glob %s on %s: %s", (pattern, path, expected) => {
    expect(compileGlob(pattern)?.matches(path)).toBe(expected);
  });

  test("an ignore file reads as git reads it", () => {
    const layers = [{ base: "", rules: readIgnoreFile("# no\n*.o\n!main.o\n/top\ndir/\na/b\n\\#hash\n") }];
    const ignored = (path: string, directory = false) =>
      judgeIgnored(layers, { path, directory, meter: { steps: 0 } }).next().value;
    expect(["x.o", "d/x.o", "top", "a/b", "#hash"].map((path) => ignored(path))).toEqual([
      true,
      true,
      true,
      true,
      true,
    ]);
    expect(["main.o", "d/top", "x/a/b", "dir"].map((path) => ignored(path))).toEqual([false, false, false, false]);
    expect(ignored("dir", true) && ignored("x/dir", true)).toBe(true);
  });
});

describe("pages", () => {
  test("HTML becomes text", () => {
    const page = `<!doctype html><html><head><title>A &amp; B</title><style>p{}</style></head><body>
      <script>alert("<p>no</p>")</script><h1>Head <em>line</em></h1><p>One<br>two &lt;3 &#x41;</p>
      <ul><li>first</li><li><a href="/x">second</a></li></ul><pre>a  b\n  c</pre><!-- hidden --><a href="#top">up</a></body></html>`;
    expect(htmlToText(page)).toBe(
      "# A & B\n\n# Head line\n\nOne\ntwo <3 A\n\n- first\n- [second](/x)\n\n```\na  b\n  c\n```\nup",
    );
  });

  test("a page made to be slow is not", () => {
    for (const evil of ["<pre>", "<a href='x'>", "<", "<!--", "<script>", "&#", "<p "]) {
      expect(typeof htmlToText(evil.repeat(100_000))).toBe("string");
    }
  });
});
