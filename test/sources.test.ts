/** docs/sources.md: its rows are counted, and every test and recording that it names exists. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { root, transcripts } from "./support/transcripts.ts";

const page = readFileSync(join(root, "docs", "sources.md"), "utf8");
const rows = page
  .split("\n")
  .filter((line) => /^\| \d+ \|/.test(line))
  .map((line) => line.split(" | ").map((cell) => cell.replace(/^\| | \|$/g, "")))
  .map(([number = "", statement = "", franca = "", held = ""]) => ({ number, statement, franca, held }));

/** What is named in backticks, with the test's own name after it. */
const namesIn = (held: string): string[] => held.split("<br>");

const recorded: ReadonlySet<string> = new Set(transcripts.map(({ name }) => `transcripts/${name}`));
const sources = new Map<string, string>();

function sourceOf(file: string): string {
  const known = sources.get(file) ?? (existsSync(join(root, file)) ? readFileSync(join(root, file), "utf8") : "");
  sources.set(file, known);
  return known;
}

/** What is wrong with a reference, or null. */
function missing(reference: string): string | null {
  const [, path = "", name] = /^`([^`]+)`(?: › (.+))?$/.exec(reference) ?? [];
  if (path.startsWith("transcripts/")) return recorded.has(path) ? null : `there is no recording ${path}`;
  if (!path.startsWith("test/") || name === undefined) return `${reference} names neither a recording nor a test`;
  return sourceOf(path).includes(JSON.stringify(name)) ? null : `${path} has no test "${name}"`;
}

test("every statement has what Franca does and what holds it", () => {
  expect(rows.length).toBeGreaterThan(190);
  expect(rows.map(({ number }) => Number(number))).toEqual(rows.map((_, index) => index + 1));
  for (const { statement, franca, held } of rows) {
    expect({ statement, complete: franca !== "" && held !== "" }).toEqual({ statement, complete: true });
  }
});

test("the counts are those of the rows", () => {
  const different = rows.filter(({ franca }) => franca.startsWith("**different**: ")).length;
  const counts = `**${rows.length} statements: ${rows.length - different} hold, ${different} are different on purpose**`;
  expect(page).toContain(counts);
});

test("every test and recording that is named exists", () => {
  const wrong = rows.flatMap(({ number, held }) =>
    namesIn(held).flatMap((reference) => missing(reference)?.replace(/^/, `${number}: `) ?? []),
  );
  expect(wrong).toEqual([]);
});

test("every line that the documents print is a recording that is named", () => {
  const documented = [...recorded].filter((name) => name.includes("/document-"));
  expect(documented.length).toBeGreaterThanOrEqual(12);
  expect(documented.filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
});
