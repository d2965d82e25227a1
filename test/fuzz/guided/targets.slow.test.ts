/** The first inputs of each kind of target run and break nothing; `npm run fuzz` goes on from there. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { root } from "../../support/transcripts.ts";

/** One of each kind. */
const names = ["lines", "sse", "group", "native", "packing", "config", "adapter:mock", "files:amp-file", "requests:v1"];

test("each reaches something and finds nothing", { timeout: 600_000 }, async () => {
  const args = ["scripts/fuzz.js", "--target", names.join(), "--seed", "1", "--executions", "60"];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: root });
  for (const name of names) {
    const row = stdout.split("\n").find((line) => line.startsWith(name));
    expect(row).toMatch(/ [1-9]\d* +[1-9]\d* → [1-9]\d* +[1-9]\d* +0$/);
  }
});
