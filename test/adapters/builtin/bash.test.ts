/** The bash tool: output, bounds, and processes that are gone when it is over. */
import { readFileSync, statSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { OUTPUT_LIMIT } from "../../../src/builtin/tools/bound.ts";
import { processTable } from "../../../src/runtime/agent/process-table.ts";
import { livingMembers } from "../../../src/runtime/agent/process-tree.ts";
import { type Bench, openBench } from "../../support/tools.ts";

const free = (): Bench => openBench({ mode: "bypass" });
const outputOf = async (bench: Bench, tool: string, input: unknown): Promise<string> => {
  const result = await bench.run(tool, input);
  if ("output" in result) return result.output;
  throw new Error(JSON.stringify(result));
};

describe("bash", () => {
  test("output, errors and exit code", async () => {
    const bench = free();
    expect(await bench.run("bash", { command: "echo out; echo err >&2" })).toMatchObject({ exit_code: 0 });
    expect(await bench.run("bash", { command: "echo no; exit 3" })).toEqual({
      output: "no\n\n(exit code 3)",
      is_error: true,
      exit_code: 3,
    });
    expect(await outputOf(bench, "bash", { command: "true" })).toBe("(no output)");
    expect(await outputOf(bench, "bash", { command: "pwd" })).toBe(`${bench.directory}\n`);
    expect(await outputOf(bench, "bash", { command: "cat" })).toBe("(no output)");
  });

  test("is heard while it runs", async () => {
    const bench = free();
    await bench.run("bash", { command: "echo first; until [ -e go ]; do touch go; done; echo second" });
    expect(bench.said.join("")).toBe("first\nsecond\n");
  });

  test("a timeout stops it and says so", async () => {
    const bench = free();
    const result = await bench.run("bash", { command: "echo before; sleep 100", timeout: 300 });
    expect(result).toMatchObject({ is_error: true, output: expect.stringContaining("before") });
    expect(result).toMatchObject({ output: expect.stringContaining("longer than 300 ms") });
  });

  test("what it leaves running is gone when it ends, also what left the group", async () => {
    const bench = free();
    const output = await outputOf(bench, "bash", {
      command: "(sleep 300 & echo $!); setsid sleep 300 >/dev/null 2>&1 & sleep 0.2; pgrep -s 0 -x sleep || true",
    });
    const left = new Set((output.match(/\d+/g) ?? []).map(Number));
    expect(left.size).toBeGreaterThan(0);
    const living = processTable.list(performance.now()).filter(({ pid, zombie }) => left.has(pid) && !zombie);
    expect(living).toEqual([]);
    expect(livingMembers({ runId: `run-${bench.directory}-1`, leader: null, ours: false })).toEqual([]);
  });

  test("an abort ends the whole tree, also one that ignores it", async () => {
    const bench = free();
    const running = bench.run("bash", {
      command: `trap '' TERM INT; (trap '' TERM INT; while :; do sleep 1; done) & setsid sh -c 'trap "" TERM; while :; do sleep 1; done' & echo ready; wait`,
    });
    while (!bench.said.join("").includes("ready")) await new Promise((resolve) => setImmediate(resolve));
    const root = { runId: `run-${bench.directory}-1`, leader: null, ours: false };
    expect(livingMembers(root).length).toBeGreaterThan(1);
    bench.abort();
    expect(await running).toEqual({ output: "ready\n\n(stopped)", is_error: true });
    expect(livingMembers(root)).toEqual([]);
  });

  test("a flood is bounded, streamed only so far, and kept whole in a file that may be read", async () => {
    const bench = openBench({ permission: { bash: "allow" } });
    const output = await outputOf(bench, "bash", { command: "seq 1 200000" });
    expect(output.length).toBeLessThan(OUTPUT_LIMIT + 500);
    expect(bench.said.join("").length).toBe(OUTPUT_LIMIT);
    expect(output).toContain("1\n2\n3\n");
    expect(output).toContain("199999\n200000\n");
    const path = /full text is in (\S+)/.exec(output)?.[1] ?? "";
    const kept = readFileSync(path, "utf8");
    expect(kept.split("\n")).toHaveLength(200_001);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(await outputOf(bench, "read", { filePath: path, offset: 100_000, limit: 1 })).toContain("100000");
    expect(bench.asked).toEqual([]);
  });
});
