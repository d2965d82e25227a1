/** docs/limits.md says what the constants say. */
import { join } from "node:path";
import { test } from "vitest";
import { expectGolden } from "./support/golden.ts";
import { limitsPage } from "./support/limits.ts";
import { root } from "./support/transcripts.ts";

test("docs/limits.md is up to date (npm run docs)", () => {
  expectGolden(join(root, "docs", "limits.md"), limitsPage());
});
