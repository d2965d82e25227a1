/** Printing Markdown in a terminal and redacting recordings: the work grows with the length, not with its square. */
import { expect, test } from "vitest";
import { openRedaction } from "../../../src/cli/redaction.ts";
import { openMarkdown } from "../../../src/projections/text/markdown.ts";
import { paintFor } from "../../../src/projections/text/style.ts";

const MEGABYTE = 1_000_000;
/** Enough to take minutes in all where the work is quadratic. */
const LONG = 100_000;
const paint = paintFor({ color: false });

function printed(pieces: Iterable<string>, width = 80): string {
  const markdown = openMarkdown({ paint, width });
  let out = "";
  for (const piece of pieces) out += markdown.push(piece);
  return out + markdown.end();
}

const units = [
  "`",
  "``a",
  "[",
  "[a](",
  "[a](b ",
  "](",
  "**",
  "**a",
  "* ",
  "#",
  " ",
  " a",
  "|",
  "|a",
  "> ",
  "- ",
  "x",
  "\n",
  "|\n",
  "\t",
] as const;
const beginnings = ["", "# a", "[a](", "x `", "x **", "* "] as const;

test("any repeated text is printed", () => {
  for (const unit of units) {
    for (const beginning of beginnings) {
      const text = `${beginning}${unit.repeat(LONG / unit.length)}`;
      for (const end of ["", "x", "]", ")"]) expect(() => printed([text + end])).not.toThrow();
    }
  }
}, 120_000);

test.each(["word ", "`", "x **a ", "x [a ", "|a ", "```\n", "# "])(
  "a line of %j in a great many pieces is printed",
  (begin) => {
    const pieces = Array.from({ length: 250_000 }, () => "abc ");
    expect(printed([begin, ...pieces]).length).toBeGreaterThan(MEGABYTE / 2);
  },
  120_000,
);

test("a wide table gives its widest columns less room, and one of very many columns is printed as it is", () => {
  const row = (cells: readonly string[]): string => `| ${cells.join(" | ")} |\n`;
  const table = row(["a", "b", "c"]) + row(["---", "---", "---"]) + row(["x ".repeat(30), "short", "y ".repeat(30)]);
  const lines = printed([table], 40).trimEnd().split("\n");
  expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(40);
  const many = `${"|".repeat(200_000)}\n`;
  expect(printed([many])).toBe(many);
});

test("sockets and tokens are found in one pass, wherever they are in a path or word", () => {
  const redact = openRedaction({ directory: "/project", secrets: [] });
  const part = "abcdefgh12345678";
  expect(redact(`see x-eyJ${part}.${part}.${part} and a.eyJ${part}.${part}.${part}.rest`)).toBe(
    "see x-jwt-redacted and a.jwt-redacted.rest",
  );
  expect(redact("connect /run/user/1000/a.sock, b/c.sock and /x.sock/y")).toBe(
    "connect /tmp/agent.sock, b/tmp/agent.sock and /tmp/agent.sock/y",
  );
  for (const unit of ["/a", "eyJ-", "eyJaaaaaaaa.", "a-", "bearer ", "sk-", "/a.sock"]) {
    expect(() => redact(unit.repeat(MEGABYTE / unit.length))).not.toThrow();
  }
});
