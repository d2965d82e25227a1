/** docs/event-mapping.md says what the code does. */
import { join } from "node:path";
import { test } from "vitest";
import { eventMappingPage } from "../../support/event-mapping.ts";
import { expectGolden } from "../../support/golden.ts";
import { root } from "../../support/transcripts.ts";

test("docs/event-mapping.md is up to date (npm run docs)", () => {
  expectGolden(join(root, "docs", "event-mapping.md"), eventMappingPage());
});
