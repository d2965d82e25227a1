/** Names with hidden characters are printed as escapes: they cannot move the cursor or reverse the text of a line. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { franca } from "../support/daemon.ts";
import { temporaryFolder } from "../support/folders.ts";

const NAME = "a\u001b[2Jb\u202ec\u200bd";
const SHOWN = "a\\x1b[2Jb\\u202ec\\u200bd";
const HIDDEN = ["\u001b[2J", "\u202e", "\u200b"];

test("folders, titles and ids are shown with escapes", async () => {
  const home = temporaryFolder();
  const folder = join(home, NAME);
  mkdirSync(folder);
  const run = await franca(["run", "--agent", "mock", "--title", NAME, "--dir", folder, "--", "echo hi"], { home });
  expect(run.stderr).toContain(SHOWN);
  const trusted = await franca(["trust", "add", "--force", folder], { home });
  const list = await franca(["sessions", "list"], { home });
  const trust = await franca(["trust", "list"], { home });
  const wrong = await franca(["run", "--dir", join(folder, "missing"), "--agent", "mock", "--", "hi"], { home });
  const unknown = await franca(["sessions", "show", NAME], { home });
  const printed = [run, trusted, list, trust, wrong, unknown].map(({ stdout, stderr }) => stdout + stderr);
  for (const text of printed) {
    expect(text).toContain(SHOWN);
    for (const hidden of HIDDEN) expect(text).not.toContain(hidden);
  }
});
