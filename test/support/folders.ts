/** Folders of a test's own, gone when it is over. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as after } from "node:timers/promises";
import { onTestFinished } from "vitest";

const REMOVE_MS = 20_000;

export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "franca-test-"));
  onTestFinished(() => remove(folder), REMOVE_MS * 2);
  return folder;
}

/** A program that was ended may have left one that still installs packages: then new files come while old ones go. */
async function remove(folder: string): Promise<void> {
  const until = Date.now() + REMOVE_MS;
  for (;;) {
    try {
      rmSync(folder, { recursive: true, force: true, maxRetries: 3, retryDelay: 50 });
      return;
    } catch (error) {
      if (Date.now() > until) throw error;
      await after(100);
    }
  }
}
