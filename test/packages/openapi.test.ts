/** The OpenAPI document passes the linter that its readers use, without a warning. */
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../support/folders.ts";

const redocly = process.env.FRANCA_TEST_REDOCLY ?? "";
const document = join(import.meta.dirname, "..", "..", "docs", "openapi.json");

function lint(file: string): { readonly status: number | null; readonly findings: number } {
  const env = { ...process.env, REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true" };
  const args = [redocly, "lint", file, "--format=json"];
  const { status, stdout } = spawnSync(process.execPath, args, { encoding: "utf8", env, cwd: temporaryFolder() });
  const { totals } = JSON.parse(stdout.slice(stdout.indexOf("{")));
  return { status, findings: totals.errors + totals.warnings };
}

test("redocly finds nothing in docs/openapi.json, and finds what is wrong", () => {
  expect(lint(document)).toEqual({ status: 0, findings: 0 });
  const worse = join(temporaryFolder(), "openapi.json");
  writeFileSync(worse, readFileSync(document, "utf8").replace('"operationId": "getSession",', ""));
  expect(lint(worse).findings).toBeGreaterThan(0);
});
