/** Golden files: written with UPDATE=1 and read like code in review; a missing one fails. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { expect } from "vitest";

export const updating = process.env.UPDATE === "1";

export function expectGolden(file: string, text: string): void {
  if (updating) {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
    return;
  }
  if (!existsSync(file))
    throw new Error(`${file} is missing. Run the tests with UPDATE=1, then read what was written.`);
  expect(text, `${file} (UPDATE=1 writes it again)`).toBe(readFileSync(file, "utf8"));
}

export const jsonLines = (values: readonly unknown[]): string =>
  values.map((value) => `${JSON.stringify(value)}\n`).join("");
