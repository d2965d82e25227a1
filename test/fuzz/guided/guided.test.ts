/**
 * Guided search is better than blind search: a hand-made bug behind three conditions is found by the one, and not by
 * the other with as many executions. Both follow from their seeds, so neither is a matter of luck.
 */
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { build } from "esbuild";
import { expect, test } from "vitest";
import * as z from "zod";
import { temporaryFolder } from "../../support/folders.ts";
import { root } from "../../support/transcripts.ts";

const Searched = z.object({
  executions: z.number(),
  blocks: z.object({ from: z.number(), to: z.number() }),
  corpus: z.array(z.string()),
  findings: z.array(z.object({ input: z.string(), message: z.string() })),
});

const EXECUTIONS = 2_000;
const SEED = 2;

/** In a process of its own: coverage slows down whatever else runs there. */
async function searchPlanted(): Promise<z.infer<typeof Searched>[]> {
  const outfile = join(temporaryFolder(), "planted.mjs");
  const entryPoints = ["test/fuzz/guided/planted-main.ts"];
  await build({ absWorkingDir: root, entryPoints, outfile, bundle: true, platform: "node", format: "esm" });
  const args = [outfile, String(EXECUTIONS), String(SEED)];
  const lines = execFileSync(process.execPath, args, { encoding: "utf8" }).trim().split("\n");
  return lines.map((line) => Searched.parse(JSON.parse(line)));
}

test("a bug behind three conditions is found by guided search alone, the same each time; growth is found", async () => {
  const [guided, blind, again, growth, ...rest] = await searchPlanted();
  expect(rest).toEqual([]);
  expect(guided?.findings.map(({ message }) => message)).toEqual(["the planted bug"]);
  // As small as it can be: each of the three conditions needs its field.
  expect(JSON.parse(guided?.findings[0]?.input ?? "")).toEqual({ kind: "fragile", weight: -1, stamps: [] });
  expect(guided?.executions).toBeLessThan(EXECUTIONS);
  // What led there was kept.
  expect(guided?.corpus.some((input) => input.includes('"kind":"fragile"'))).toBe(true);
  expect(blind?.findings).toEqual([]);
  expect(blind?.executions).toBeGreaterThanOrEqual(EXECUTIONS);
  expect(guided?.blocks.to).toBeGreaterThan(blind?.blocks.to ?? Number.POSITIVE_INFINITY);
  expect(again).toEqual(guided);
  expect(growth?.findings.map(({ message }) => message)).toEqual([expect.stringContaining("faster than the input")]);
});
