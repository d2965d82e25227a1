/** What the search has found stays fixed: the inputs as it printed them, run by their targets. */
import { expect, test } from "vitest";
import { adapterFor } from "../../../src/adapters/index.ts";
import { filesOf } from "../../../src/adapters/session-files.ts";
import { adapterTarget, filesTarget } from "./agent-targets.ts";
import type { Target } from "./attempt.ts";

function files(agent: string): Target {
  const known = filesOf(agent);
  if (known === null) throw new Error(`There are no files of ${agent}.`);
  return filesTarget(known);
}

function adapter(agent: string): Target {
  const known = adapterFor(agent);
  if (known === null) throw new Error(`There is no adapter of ${agent}.`);
  return adapterTarget(known);
}

const found: readonly (readonly [what: string, target: Target, input: string])[] = [
  [
    "a session of Qwen Code without an id",
    files("qwen"),
    '=== projects//chats/d1eef865-798a-4cc3-8d27-19e49db132ce.jsonl\n{"uuid":"","sessionId":"","type":"user"}',
  ],
  [
    "a thread of Amp without an id",
    files("amp"),
    '=== threads/T-01a1e331-4104-774a-9356-5dd2f08d3fc5.json\n{"id":"","messages":[{"role":"user","content":[0]}]}',
  ],
  [
    "a session of Gemini CLI without an id",
    files("gemini"),
    '=== tmp//chats/session-a.jsonl\n{"sessionId":""}\n{"$set":{"messages":[{"id":"","type":"user"}]}}',
  ],
  ["a recorded time that no date has", adapter("claude"), '{"t":8640000000000001,"from":"agent","line":0}'],
  ["a recorded time after the year 9999", adapter("amp"), '{"t":1794776002632000,"from":"agent","line":0}'],
];

test.each(found)("%s", async (_what, { run }, input) => {
  await expect((async () => run.once(Buffer.from(input)))()).resolves.toBeUndefined();
});
