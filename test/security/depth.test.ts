/** JSON that is nested deeper than a stack: from callers, models and inside strings. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { DEPTH_LIMIT, isTooDeep, isValueTooDeep, parseJson } from "../../src/core/json.ts";
import { answer, call, endOf, openHouse, resultsIn, text } from "../support/builtin.ts";
import { startDaemon } from "../support/daemon.ts";

const nested = (levels: number): string => "[".repeat(levels) + "]".repeat(levels);

describe("the bound", () => {
  test("counts levels, and nothing inside strings", () => {
    expect([nested(DEPTH_LIMIT), nested(DEPTH_LIMIT + 1)].map(isTooDeep)).toEqual([false, true]);
    expect(isTooDeep(JSON.stringify(nested(10_000)))).toBe(false);
    expect(isTooDeep(`["\\\\",${nested(DEPTH_LIMIT)}]`)).toBe(true);
    expect(isTooDeep(`["\\"",${nested(DEPTH_LIMIT - 1)}]`)).toBe(false);
    expect([nested(DEPTH_LIMIT), nested(DEPTH_LIMIT + 1)].map((json) => isValueTooDeep(JSON.parse(json)))).toEqual([
      false,
      true,
    ]);
  });

  test("what is within it is parsed as ever", () => {
    fc.assert(fc.property(fc.json({ maxDepth: 10 }), (json) => void expect(parseJson(json)).toEqual(JSON.parse(json))));
  });
});

test("a request whose body is nested too deeply is refused", async () => {
  const daemon = await startDaemon();
  const response = await fetch(`${daemon.url}/v1/sessions/deep`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: `{"agent":"mock","title":${nested(100_000)}}`,
  });
  expect([response.status, await response.text()]).toEqual([400, expect.stringContaining("nested deeper than")]);
});

test("a model whose tool call is nested too deeply gets an error, and the turn goes on", async () => {
  const input: unknown = JSON.parse(`{"command":${nested(3_000)}}`);
  const house = await openHouse([answer(call("bash", input)), answer(text("Sorry."))]);
  const events = await house.turn("go");
  expect(resultsIn(events)[0]?.is_error).toBe(true);
  expect(endOf(events)).toEqual({ reason: "completed" });
});
