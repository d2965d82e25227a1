/** The log of a daemon in the background moves on before it grows too large, and nothing of it is lost on the way. */
import { closeSync, existsSync, openSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { LOG_KEPT_FILES, openLogFile } from "../../src/runtime/log-file.ts";
import { temporaryFolder } from "../support/folders.ts";

test("lines move on to numbered files in order; the oldest go; another file is never cut", () => {
  const file = join(temporaryFolder(), "daemon.log");
  const descriptor = openSync(file, "a", 0o600);
  onTestFinished(() => closeSync(descriptor));
  const log = openLogFile({ file, maxBytes: 100, descriptor });
  const lines = Array.from({ length: 200 }, (_, index) => `line ${String(index).padStart(4, "0")}\n`);
  for (const line of lines) log?.write(line);
  const parts = [...Array(LOG_KEPT_FILES).keys()].map((part) => `${file}.${LOG_KEPT_FILES - part}`).concat(file);
  const kept = parts.map((part) => readFileSync(part, "utf8")).join("");
  expect(kept).toBe(lines.slice(-kept.split("\n").length + 1).join(""));
  expect(kept.split("\n").length).toBeGreaterThan(50);
  for (const part of parts) expect([statSync(part).mode & 0o777, statSync(part).size <= 100]).toEqual([0o600, true]);
  expect(existsSync(`${file}.${LOG_KEPT_FILES + 1}`)).toBe(false);
  const other = join(temporaryFolder(), "other");
  writeFileSync(other, "mine");
  expect(openLogFile({ file: other, maxBytes: 1, descriptor })).toBeNull();
});
