/** The generated pages are up to date, and the published JSON Schema takes every event that a recording gives. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { Ajv2020 } from "ajv/dist/2020.js";
import { expect, test } from "vitest";
import { convertLines } from "../src/core/convert.ts";
import { UniversalEvent } from "../src/protocol/events.ts";
import { expectGolden } from "./support/golden.ts";
import { eventSchema, generatedFiles } from "./support/reference.ts";
import { examples } from "./support/reference-texts.ts";
import { root, transcripts } from "./support/transcripts.ts";

test.each(generatedFiles())("$path is up to date (npm run docs)", ({ path, text }) => {
  expectGolden(join(root, path), text);
});

test("NOTICE holds the licences of exactly what dist bundles (npm run notice)", async () => {
  const { stderr } = await promisify(execFile)(process.execPath, ["scripts/notice.js", "--check"], { cwd: root });
  expect(stderr).toBe("");
});

test("the JSON Schema takes what we say, and refuses what we do not", () => {
  const validate = new Ajv2020({ strict: false, validateFormats: false }).compile(eventSchema());
  for (const { name, adapter, recording } of transcripts) {
    for (const event of convertLines(adapter, recording)) {
      expect({ name, event, valid: validate(JSON.parse(JSON.stringify(event))) }).toMatchObject({ valid: true });
    }
  }
  expect(validate({ type: "turn.ended" })).toBe(false);
  expect(validate({ ...examples["session.ended"], sequence: 0 })).toBe(false);
});

test.each(Object.values(examples))("the made example of $type fits the schema", (event) => {
  expect(UniversalEvent.safeParse(event).error).toBeUndefined();
});
