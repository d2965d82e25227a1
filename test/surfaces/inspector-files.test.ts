/** What a browser loads before the inspector's first screen is there. */
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { readInspector } from "../../src/runtime/inspector-files.ts";

/** A script and those it imports at once; not those it imports when they are needed. */
function loadedWith(files: ReadonlyMap<string, string>, entry: string): ReadonlySet<string> {
  const loaded = new Set<string>();
  const waiting = [entry];
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    if (loaded.has(name)) continue;
    loaded.add(name);
    const imports = (files.get(name) ?? "").matchAll(/(?:from|import)"\.\/([\w-]+\.js)"/g);
    for (const [, other] of imports) waiting.push(`assets/${other}`);
  }
  return loaded;
}

test("the first load of the inspector is at most 120 kB of compressed script, of files that exist", () => {
  const files = readInspector() ?? new Map<string, string>();
  const [, entry = ""] = /src="(assets\/[^"]+\.js)"/.exec(files.get("index.html") ?? "") ?? [];
  const scripts = [...loadedWith(files, entry)].map((name) => files.get(name) ?? "");
  expect(scripts.length).toBeGreaterThan(1);
  expect(scripts).not.toContain("");
  const size = scripts.reduce((sum, text) => sum + gzipSync(text, { level: 9 }).length, 0);
  expect(size).toBeGreaterThan(10_000);
  expect(size).toBeLessThanOrEqual(120_000);
});
