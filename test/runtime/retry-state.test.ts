/** A session that waits to try again: its summary has the attempt, the reason and the time, and only then. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { emptySnapshot, snapshotFold } from "../../src/core/snapshot.ts";
import { UniversalEvent } from "../../src/protocol/events.ts";
import { summarise } from "../../src/runtime/session/summary.ts";
import { session } from "../support/sessions.ts";
import { transcriptsFolder } from "../support/transcripts.ts";

test("the summary of a session has `retry` exactly while its status is `retrying`", () => {
  const lines = readFileSync(join(transcriptsFolder, "mock", "retry", "events.jsonl"), "utf8")
    .trim()
    .split("\n");
  const snapshot = emptySnapshot();
  const settings = { create: { agent: "mock" }, forkOf: null };
  const attempts: (number | undefined)[] = [];
  for (const line of lines) {
    const event = UniversalEvent.parse(JSON.parse(line));
    snapshotFold.step(snapshot, event);
    const { status, retry } = summarise({ id: session("mock-demo"), settings, snapshot });
    expect(retry !== undefined).toBe(status === "retrying");
    if (event.type !== "turn.state" || event.data.state !== "retrying") continue;
    const { attempt, message, next } = event.data;
    expect(retry).toEqual({ attempt, message, next });
    attempts.push(retry?.attempt);
  }
  expect(attempts).toEqual([1, 2]);
});
