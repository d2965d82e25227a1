/** docs/conversion.md says what the code does. */
import { join } from "node:path";
import { test } from "vitest";
import { conversionPage } from "../../support/conversion.ts";
import { expectGolden } from "../../support/golden.ts";
import { root } from "../../support/transcripts.ts";

test("docs/conversion.md is up to date (npm run docs)", () => {
  expectGolden(join(root, "docs", "conversion.md"), conversionPage());
});
