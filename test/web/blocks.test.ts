/** Markdown that streams: what was drawn stays, and the next words cost no more at the end than at the beginning. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { lexer, type Token } from "marked";
import { expect, test } from "vitest";
import { cut, openCutter, type TextBlock } from "../../web/model/blocks.ts";

const root = join(import.meta.dirname, "..", "..");
const documents = ["README.md", ...readdirSync(join(root, "docs")).map((name) => join("docs", name))]
  .filter((path) => path.endsWith(".md"))
  .map((path) => ({ path, text: readFileSync(join(root, path), "utf8") }));

function blocksOf(text: string, cutter = openCutter()): readonly TextBlock[] {
  const open = cut(cutter, { text, isStreaming: true });
  return open === null ? cutter.done : [...cutter.done, open];
}

const code = (language: string | undefined, text: string): string =>
  `code ${language ?? ""} ${text.replace(/\n$/, "")}`;

/** What is drawn: type and words of each block of Markdown. A block that was cut is one again. */
function drawn(tokens: readonly Token[]): string[] {
  return tokens
    .filter(({ type }) => type !== "space" && type !== "def")
    .map((token) => (token.type === "code" ? code(token.lang, token.text) : `${token.type} ${token.raw.trim()}`));
}

function drawnBlocks(blocks: readonly TextBlock[]): string[] {
  return blocks.flatMap((block) => {
    if (block.type === "markdown") return drawn(lexer(block.text));
    return [code(block.language, block.pieces.join(""))];
  });
}

test("the blocks of a text are those that Markdown finds in the whole", () => {
  const short = documents.filter(({ text }) => text.split("\n\n").every((part) => part.length < 4_000));
  expect(short.length).toBeGreaterThan(10);
  for (const { path, text } of short) {
    const blocks = blocksOf(text);
    expect(drawnBlocks(blocks), path).toEqual(drawn(lexer(text)));
    const longest = Math.max(...blocks.map((block) => (block.type === "markdown" ? block.text.length : 0)));
    expect(longest, path).toBeLessThan(8_000);
  }
});

const INDENTED = "1. one\n\n   ```ts\n   const a = 1;\n\n   # no heading\n   ```\n\n   more of one\n2. two\n\nafter\n";

test("lists with code and paragraphs in them stay whole; fences end where they were opened", () => {
  const long = `${"word ".repeat(100)}\n\n`;
  const text = `${long}${INDENTED}${long}\`\`\`\`md\n\`\`\`\ninside\n\`\`\`\n\`\`\`\`\n${long}~~~\nopen \`\`\`\n`;
  expect(drawnBlocks(blocksOf(text))).toEqual(drawn(lexer(text)));
  expect(blocksOf(text).filter(({ type }) => type === "code")).toHaveLength(2);
});

test("however a text arrives, its blocks are the same, and none that is complete changes", () => {
  const { text } = documents.find(({ path }) => path === "README.md") ?? { text: "" };
  const source = `${text.slice(0, 12_000)}\n\n${INDENTED}\n${"a word, ".repeat(1_500)}\n${"x".repeat(9_000)}`;
  const whole = blocksOf(source);
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 3_000 }), { maxLength: 30 }), (sizes) => {
      const cutter = openCutter();
      let complete: readonly TextBlock[] = [];
      for (let at = 0, index = 0; at < source.length; index += 1) {
        at += sizes[index] ?? 500;
        blocksOf(source.slice(0, at), cutter);
        expect(cutter.done.slice(0, complete.length)).toEqual(complete);
        complete = [...cutter.done];
      }
      expect(blocksOf(source, cutter)).toEqual(whole);
      expect(cut(cutter, { text: "another text", isStreaming: false })).toMatchObject({ text: "another text" });
      expect(cutter.done).toEqual([]);
    }),
    { numRuns: 20 },
  );
});

const answers = [
  { answer: "without a paragraph", head: "", line: "#123 " },
  { answer: "with paragraphs", head: "", line: `${"Some words, and **bold** ones. ".repeat(3)}\n\n` },
  { answer: "that is one list", head: "", line: "- an item with `code` in it\n" },
  { answer: "that is one table", head: "| x | y |\n|---|---|\n", line: "| a | b |\n" },
  { answer: "of lines without an empty one", head: "", line: "A line of words.\n" },
  { answer: "that is code", head: "```ts\n", line: "const value = compute(1, 2, 3);\n" },
];

test.each(answers)("an answer $answer: each delta parses a bounded part of it", ({ head, line }) => {
  const cutter = openCutter();
  const delta = line.repeat(5);
  let text = head;
  let most = 0;
  while (text.length < 200_000) {
    text += delta;
    // Drawn again is the open block, of code its last piece.
    const open = cut(cutter, { text, isStreaming: true });
    const part = open?.type === "code" ? open.pieces.at(-1) : open?.text;
    most = Math.max(most, part?.length ?? 0);
  }
  expect(most).toBeGreaterThan(0);
  expect(most).toBeLessThan(17_000);
  const blocks = blocksOf(text, cutter);
  const kinds = new Set(blocks.map((block) => (block.type === "code" ? "code" : lexer(block.text)[0]?.type)));
  expect([...kinds]).toEqual([lexer(head + line)[0]?.type]);
});
