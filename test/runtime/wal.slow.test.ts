/** The -wal file of a log that is written to without a pause begins anew before it grows long, and nothing is lost. */
import { statSync } from "node:fs";
import { join } from "node:path";
import { setImmediate as nextTick } from "node:timers/promises";
import { afterEach, expect, test } from "vitest";
import { LOG_FILE, openSqliteLog } from "../../src/runtime/log/sqlite/open.ts";
import { PAGE_BYTES, WAL_KEPT_BYTES } from "../../src/runtime/log/sqlite/schema.ts";
import { a, create, entry, spans } from "../support/log-contract.ts";
import { removeFolder, tempFolder } from "../support/sessions.ts";

/** An append changes at least so many pages: the session, its group, its native lines, and an index of each. */
const PAGES = 4;
const folder = tempFolder();
afterEach(() => removeFolder(folder));

test("commits are held back for a moment, and all are stored in their order", async () => {
  const log = openSqliteLog({ folder, durability: "normal", version: "1" });
  await create(log, a);
  const commits = (12 * WAL_KEPT_BYTES) / (PAGES * PAGE_BYTES);
  const wal = join(folder, `${LOG_FILE}-wal`);
  for (let sequence = 1; sequence <= commits; sequence += 1) {
    await log.append(entry(a, sequence, sequence));
    // The thread's answers are heard between two commits.
    await nextTick();
  }
  expect(statSync(wal).size).toBeLessThan(9 * WAL_KEPT_BYTES);
  const stored = await log.read(a, { after: commits - 3, maxBytes: 1e6 });
  expect(spans(stored)).toEqual([commits - 2, commits - 1, commits].map((sequence) => [sequence, sequence]));
  await log.close();
});
