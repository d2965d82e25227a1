/** The mock: its scenarios are as recorded, obey the host, and keep their promises about floods and memory. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { scenarios } from "../src/mock/index.ts";
import { expectGolden, jsonLines, updating } from "./support/golden.ts";
import { type MockRecording, mockRecordings, recordMock } from "./support/mock-recordings.ts";
import { transcriptsFolder } from "./support/transcripts.ts";

test.each(mockRecordings)("the transcript of $name is what the mock plays", async (recording) => {
  const folder = join(transcriptsFolder, "mock", recording.name);
  if (updating) {
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "about.json"), aboutText(recording));
  }
  expectGolden(join(folder, "native.jsonl"), jsonLines(await recordMock(recording)));
});

test("every scenario has a transcript", () => {
  const played = new Set(
    mockRecordings.flatMap(({ steps }) => steps.map((step) => ("prompt" in step ? step.prompt.split(/\s/)[0] : ""))),
  );
  expect(scenarios.map(({ name }) => name).filter((name) => !played.has(name))).toEqual([]);
});

test("the same scenario played twice gives the same lines", async () => {
  for (const recording of mockRecordings) expect(await recordMock(recording)).toEqual(await recordMock(recording));
});

const aboutText = ({ about }: MockRecording): string =>
  `${JSON.stringify({ agent: "mock", version: "1.0.0", ...about }, null, 2)}\n`;
