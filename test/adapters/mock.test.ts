/** The mock: its scenarios are as recorded, obey the host, and keep their promises about floods and memory. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createMock, scenarios } from "../../src/mock/index.ts";
import { expectGolden, jsonLines, updating } from "../support/golden.ts";
import { openHost } from "../support/mock-host.ts";
import { type MockRecording, mockRecordings, recordMock } from "../support/mock-recordings.ts";
import { transcriptsFolder } from "../support/transcripts.ts";

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

describe("with a host", () => {
  test("a flood is exactly as many deltas as asked for, and waits for a slow reader", async () => {
    const host = openHost({ capacity: 100 });
    host.hear({ type: "prompt", id: "p1", text: "flood 5000" });
    await host.untilEnds(1);
    const deltas = host.said("delta").map(({ text }) => text);
    expect(deltas).toHaveLength(5000);
    expect(deltas.join("")).toBe(Array.from({ length: 5000 }, (_, index) => `#${index + 1} `).join(""));
    expect(host.waits()).toBeGreaterThan(10);
  });

  test.each(["0", "1000001", "many", "1.5", ""])("a flood of %j is refused in words", async (count) => {
    const host = openHost();
    host.hear({ type: "prompt", id: "p1", text: `flood ${count}` });
    await host.untilEnds(1);
    expect(host.said("block.end").map(({ text }) => text)).toEqual(["flood needs a whole number from 1 to 1000000."]);
  });

  test.each(["hang", "permission", "question", "long 3600"])("%s obeys an abort", async (prompt) => {
    const host = openHost({ capacity: 100, patient: true });
    host.hear({ type: "prompt", id: "p1", text: prompt });
    await host.untilSilent();
    host.hear({ type: "abort" });
    await host.untilEnds(1);
    expect(host.said("end").map(({ reason }) => reason)).toEqual(["aborted"]);
  });

  test("a flood obeys an abort", async () => {
    const host = openHost({ capacity: 100 });
    host.hear({ type: "prompt", id: "p1", text: "flood 1000000" });
    await host.untilSaid("delta", 500);
    host.hear({ type: "abort" });
    await host.untilEnds(1);
    expect(host.said("end").map(({ reason }) => reason)).toEqual(["aborted"]);
    expect(host.said("delta").length).toBeLessThan(10_000);
  });

  test("an abort while idle says nothing", async () => {
    const host = openHost();
    host.hear({ type: "abort" });
    await host.untilSilent();
    expect(host.lines.map(({ type }) => type)).toEqual(["ready"]);
  });

  test("always is remembered when the session is resumed, and by no other session", async () => {
    const play = createMock({ delayMs: 0, wait: async () => {} });
    const first = openHost({ play });
    first.hear({ type: "prompt", id: "p1", text: "permission" });
    await first.answer("always");
    await first.answer("always");
    await first.untilEnds(1);

    const resumed = openHost({ play, resume: "mock-demo" });
    resumed.hear({ type: "prompt", id: "p2", text: "permission" });
    await resumed.untilEnds(1);
    expect(resumed.said("ready").map(({ session }) => session)).toEqual(["mock-demo"]);
    expect(resumed.said("answered").map(({ reply }) => reply)).toEqual(["always", "always"]);

    const stranger = openHost({ play, resume: "mock-other" });
    stranger.hear({ type: "prompt", id: "p3", text: "permission" });
    await stranger.untilSilent();
    expect(stranger.said("end")).toEqual([]);
  });

  test.each([
    ["bypass", []],
    ["acceptEdits", ["bash"]],
    ["default", ["bash", "edit"]],
    ["plan", []],
  ] as const)("in mode %s it asks for %j", async (permissionMode, asked) => {
    const host = openHost({ permissionMode });
    host.hear({ type: "prompt", id: "p1", text: "permission" });
    for (const _ of asked) await host.answer("once");
    await host.untilEnds(1);
    expect(host.said("ask").map(({ action }) => action)).toEqual(asked);
    const denied = host.said("result").filter((line) => line.denied === true);
    expect(denied).toHaveLength(permissionMode === "plan" ? 2 : 0);
  });

  test("a prompt after the end comes before the epilogue of the former turn", async () => {
    const host = openHost({ patient: true });
    host.hear({ type: "prompt", id: "p1", text: "background" });
    await host.untilEnds(1);
    host.hear({ type: "prompt", id: "p2", text: "echo second" });
    await host.untilEnds(3);
    expect(host.said("block.end").map(({ text }) => text)).toEqual([
      "I have started an errand and will come back.",
      "second",
      "The errand is done.",
    ]);
  });

  test("what it cannot read is an error that ends nothing", async () => {
    const host = openHost();
    host.hear("gibberish");
    await host.untilSilent();
    expect(host.said("error").map(({ code, fatal }) => [code, fatal])).toEqual([["bad_line", false]]);
  });

  test("help names every scenario", async () => {
    const host = openHost();
    host.hear({ type: "prompt", id: "p1", text: "help" });
    await host.untilEnds(1);
    const [text = ""] = host.said("block.end").map((line) => line.text);
    expect(scenarios.filter(({ name }) => !text.includes(`\`${name}`))).toEqual([]);
  });
});

const aboutText = ({ about }: MockRecording): string =>
  `${JSON.stringify({ agent: "mock", version: "1.0.0", ...about }, null, 2)}\n`;
