/** The first inputs of each kind of target run and break nothing; `npm run fuzz` goes on from there. */
import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { root } from "../../support/transcripts.ts";

test.each(["lines", "sse", "group", "native", "packing", "config", "guards", "adapter:mock", "files:qwen", "requests"])(
  "%s",
  (name) => {
    const args = ["scripts/fuzz.js", "--target", name, "--seed", "1", "--executions", "400"];
    const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: root, encoding: "utf8" });
    expect({ status, stdout, stderr }).toMatchObject({ status: 0 });
    const rows = stdout.split("\n").filter((line) => line.startsWith(name));
    expect(rows.length).toBeGreaterThan(0);
    for (const row of rows) expect(row).toMatch(/ [1-9]\d* +[1-9]\d* → [1-9]\d* +[1-9]\d* +0$/);
  },
);
