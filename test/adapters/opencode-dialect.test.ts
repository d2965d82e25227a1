/** OpenCode's lines: the guard on the hot path and the schema say the same, and what is quiet is documented. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { opencode } from "../../src/adapters/opencode/index.ts";
import { quietParts, quietServerEvents, quietSessionEvents } from "../../src/adapters/opencode/quiet.ts";
import { opencodeRun } from "../../src/adapters/opencode/run.ts";
import { isOpenCodeRunLine } from "../../src/dialects/opencode-run.ts";
import { OpenCodeLineSchema, OpenCodeRunLineSchema } from "../../src/dialects/opencode-schema.ts";
import { isOpenCodeLine } from "../../src/dialects/opencode-stream.ts";
import { damaged } from "../support/mutate-lines.ts";
import { root, transcriptsOf } from "../support/transcripts.ts";

const linesOf = (adapter: typeof opencode): unknown[] =>
  transcriptsOf(adapter).flatMap(({ recording }) =>
    recording.flatMap((one) => (one.type === "line" ? [one.line] : [])),
  );

describe.each([
  { name: "the server's lines", lines: linesOf(opencode), guard: isOpenCodeLine, schema: OpenCodeLineSchema },
  { name: "a run's lines", lines: linesOf(opencodeRun), guard: isOpenCodeRunLine, schema: OpenCodeRunLineSchema },
])("$name", ({ lines, guard, schema }) => {
  test("are all accepted, by guard and schema", () => {
    expect(lines.length).toBeGreaterThan(20);
    for (const line of lines) {
      expect(guard(line)).toBe(true);
      expect(schema.safeParse(line).error).toBeUndefined();
    }
  });

  test("damaged ones are judged alike", () => {
    const judged = { yes: 0, no: 0 };
    fc.assert(
      fc.property(damaged(lines), (line) => {
        const accepted = guard(line);
        judged[accepted ? "yes" : "no"] += 1;
        expect({ line, accepted }).toEqual({ line, accepted: schema.safeParse(line).success });
      }),
      { numRuns: 3_000 },
    );
    // The damage must matter now and then, or nothing was tested.
    expect(Math.min(judged.yes, judged.no)).toBeGreaterThan(100);
  });
});

test("every ignored line is in the documentation, with its reason", () => {
  const text = readFileSync(join(root, "docs", "agents", "opencode.md"), "utf8");
  const quiet = { ...quietServerEvents, ...quietSessionEvents, ...quietParts };
  for (const [name, reason] of Object.entries(quiet)) expect(text).toContain(`| \`${name}\` | ${reason} |`);
});
