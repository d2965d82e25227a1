/** docs/turn.md is true: its diagram comes from the machine, and every test and bug it names exists. */
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { drawDiagram } from "./diagram.ts";

const path = fileURLToPath(new URL("../../docs/turn.md", import.meta.url));
const read = (file: string): string => readFileSync(fileURLToPath(new URL(`../../${file}`, import.meta.url)), "utf8");

test("the state diagram is the machine's", () => {
  const page = readFileSync(path, "utf8");
  const diagram = drawDiagram();
  const updated = page.replace(/```mermaid[\s\S]*?```/, diagram);
  if (process.env.UPDATE === "1") writeFileSync(path, updated);
  else expect(page).toContain(diagram);
});

test("every test that a promise names exists", () => {
  const rows = [...readFileSync(path, "utf8").matchAll(/`(test\/[\w./-]+)`: ([^|\n]+)\|/g)];
  expect(rows.length).toBeGreaterThan(10);
  for (const [, file = "", titles = ""] of rows) {
    const source = read(file);
    for (const title of titles.split("; ")) expect(source).toContain(title.trim());
  }
});

test("every hand-made bug is listed", () => {
  const page = readFileSync(path, "utf8");
  const bugs = [...read("scripts/mutate.js").matchAll(/bug: "([^"]+)"/g)].map(([, bug]) => bug ?? "");
  expect(bugs.length).toBeGreaterThanOrEqual(10);
  for (const bug of bugs) expect(page).toContain(bug);
});

test("every text that a hand-made bug replaces is there once", () => {
  const source = ["mutate", "broken-builds", "broken-simulations"].map((name) => read(`scripts/${name}.js`)).join("");
  const bugs = [...source.matchAll(/file: "([^"]+)",\s+from: (?:'([^']+)'|("[^\n]+")),\n/g)];
  expect(bugs.length).toBe([...source.matchAll(/^ {4}bug: "/gm)].length);
  for (const [, file = "", single, double = '""'] of bugs) {
    const text: string = single?.replaceAll("\\n", "\n") ?? JSON.parse(double);
    expect([file, text, read(file).split(text).length - 1]).toEqual([file, text, 1]);
  }
});
