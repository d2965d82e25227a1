/** Names that agents give are looked up in our tables, and every object has a `constructor`: it is in none of them. */
import { expect, test } from "vitest";
import { adapters } from "../../src/adapters/index.ts";
import { defaultPolicy } from "../../src/core/input.ts";
import { openSession } from "../../src/core/session.ts";
import { projections } from "../../src/projections/index.ts";
import { sessionId } from "../../src/protocol/ids.ts";
import { lint, universal } from "../../src/server/rules.ts";
import { transcripts } from "../support/transcripts.ts";

const LINES = 15;
const named = new Set(["name", "method", "tool", "toolName", "subtype", "kind", "status", "title"]);

/** The value with every name in it replaced. */
function renamed(value: unknown, name: string): unknown {
  if (Array.isArray(value)) return value.map((one) => renamed(one, name));
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([key, inner]) => [
    key,
    named.has(key) && typeof inner === "string" ? name : renamed(inner, name),
  ]);
  return Object.fromEntries(entries);
}

test.each(adapters)("$agent: tools and methods named like what every object has", (adapter) => {
  const lines = transcripts
    .filter((transcript) => transcript.adapter === adapter)
    .flatMap(({ recording }) => recording.flatMap((entry) => (entry.type === "line" ? [entry.line] : [])))
    .slice(0, LINES);
  for (const name of ["constructor", "__proto__"]) {
    const session = openSession({ sessionId: sessionId("s"), adapter, policy: defaultPolicy });
    const unnamed = { jsonrpc: "2.0", method: name, params: {} };
    const events = [...lines, unnamed].flatMap((line) => [
      ...session.step({ type: "line", from: "agent", line, at: 1_000 }).events,
      ...session.step({ type: "line", from: "agent", line: renamed(line, name), at: 1_000 }).events,
    ]);
    const shapes = lint(universal, events).filter(({ rule }) => rule === "universal.shape");
    expect(shapes).toEqual([]);
    for (const { open } of projections) {
      const running = open();
      for (const event of events) running.step(event);
    }
  }
});
