/**
 * Text that makes careless code slow: each of these inputs takes minutes where the work grows with the square of the
 * length, and far less than a second where it grows with the length.
 */
import { expect, test } from "vitest";
import { cut, openCutter } from "../../web/model/blocks.ts";
import { diffByFile } from "../../web/model/compared.ts";
import { diffRows } from "../../web/model/diff.ts";
import { isParsable } from "../../web/model/markup-limits.ts";
import { exactText, nameText, outputText, visibleText } from "../../web/model/plain.ts";
import { outcomeOf, parsedInput } from "../../web/model/tools.ts";
import { folderName } from "../../web/model/words.ts";

const MEGABYTE = 1_000_000;
const LONG = 200_000;
const units = [
  "a",
  "/",
  "\n",
  "\r",
  "x\r",
  "\u001b[",
  "\u001b]",
  "\u001b[0;",
  "-",
  "|",
  "[",
  "`",
  " ",
  "> ",
  "[a]: b\n",
  "\ud800",
  "\u202e",
  "@@ -1 +1 @@\n",
  "-a\n+b\n",
  "diff --git ",
  '{"a":',
] as const;

const readers: Readonly<Record<string, (text: string) => unknown>> = {
  outputText,
  visibleText,
  exactText,
  nameText,
  outcomeOf,
  folderName,
  parsedInput,
  diffRows,
  diffByFile,
  isParsable,
  blocks: (text) => cut(openCutter(), { text, isStreaming: false }),
};

test.each(Object.entries(readers))("%s reads any repeated text", (_, read) => {
  for (const unit of units) {
    const text = unit.repeat(LONG / unit.length);
    for (const end of ["", "x", "\n"]) expect(() => read(text + end)).not.toThrow();
  }
});

test("a line that was written over shows its last state", () => {
  expect(outputText("10%\r50%\r100%\ndone\r\n\u001b[31mred\u001b[0m\rover")).toBe("100%\ndone\nover");
  expect(outputText("a\r\rb")).toBe("b");
  expect(outputText("kept\r")).toBe("kept\\x0d");
  expect(["", "\n\n", "a", "a\nb\n\n", "\n\nx"].map(outcomeOf)).toEqual(["", "1 line", "1 line", "2 lines", "3 lines"]);
  expect(["/a/b//", "/", "", "a", "/a/b"].map(folderName)).toEqual(["b", "/", "", "a", "b"]);
  expect(nameText("a\u202eb\nc\td\u200b")).toBe("a\\u202eb\\nc\\td\\u200b");
});

test("Markdown beyond the limits of the parser is not parsed", () => {
  const marks = [">", "> ", "- ", "* ", "+ ", "1. ", "1) ", "> - ", "-\t"];
  for (const mark of marks) {
    expect(isParsable(mark.repeat(10)), mark).toBe(true);
    expect(isParsable(`text\n${mark.repeat(8_000)}`), mark).toBe(false);
  }
  expect(isParsable(`${"*".repeat(15_000)}x`)).toBe(false);
  expect(isParsable("_a".repeat(8_000))).toBe(false);
});

test("code inside of a list is cut into pieces of bounded length, whatever its length", () => {
  const cutter = openCutter();
  const line = "   const value = compute(1, 2, 3);\n";
  let text = "1. item\n\n   ```ts\n";
  let longest = 0;
  while (text.length < 200_000) {
    text += line.repeat(5);
    const open = cut(cutter, { text, isStreaming: true });
    longest = Math.max(longest, (open?.type === "code" ? open.pieces.at(-1) : open?.text)?.length ?? 0);
  }
  expect(longest).toBeLessThan(20_000);
  text += "   ```\n\nAfter the code.\n";
  expect(cut(cutter, { text, isStreaming: false })).toMatchObject({ type: "markdown", text: "\nAfter the code.\n" });
});

test("link targets that are repeated with each block are bounded", () => {
  const cutter = openCutter();
  cut(cutter, { text: "[a]: https://example.org/\n".repeat(40_000), isStreaming: false });
  expect(cutter.definitions.length).toBeGreaterThan(0);
  expect(cutter.definitions.length).toBeLessThan(10_000);
});

test("a line without spaces in a million deltas is read once", () => {
  const cutter = openCutter();
  const text = "x".repeat(4 * MEGABYTE);
  for (let end = 0; end <= text.length; end += 4_000) cut(cutter, { text: text.slice(0, end), isStreaming: true });
  expect(cutter.done.length).toBeGreaterThan(900);
});

test("an input that is nested too deeply is shown as text, and odd keys are only keys", () => {
  const deep = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;
  expect(parsedInput(deep)).toEqual({ input: deep });
  const odd = parsedInput('{"__proto__":{"command":"polluted"},"constructor":1}');
  expect(Object.keys(odd)).toEqual(["__proto__", "constructor"]);
  expect(odd.command).toBeUndefined();
});
