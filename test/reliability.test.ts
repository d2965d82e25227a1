/** docs/reliability.md names tests that exist, and everything that plans of faults count. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { promises } from "./faults/checks.ts";
import { root } from "./support/transcripts.ts";

const page = readFileSync(join(root, "docs", "reliability.md"), "utf8");

test("every test that the page names exists", () => {
  const named = [...page.matchAll(/`((?:test|scripts)\/[\w./-]+)`/g)].map(([, path = ""]) => path);
  expect(named.length).toBeGreaterThan(20);
  expect(named.filter((path) => !existsSync(join(root, path)))).toEqual([]);
});

test("every promise that is counted after a plan of faults stands in the page", () => {
  const counted = [...page.matchAll(/^\| ([a-z, ]+) \| /gm)].flatMap(([, names = ""]) => names.split(", "));
  expect(promises.filter((promise) => !counted.includes(promise))).toEqual([]);
});
