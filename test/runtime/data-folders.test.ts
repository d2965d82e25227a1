/**
 * Data folders that earlier versions have written, opened by this one. A change of the schema, or of how events are
 * stored, adds a folder of its own below test/data/data-folders (its README says how) and leaves the others alone.
 */
import { cpSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { openCodeSessionId } from "../../src/projections/opencode/index.ts";
import type { UniversalEvent } from "../../src/protocol/events.ts";
import type { ContentPart, Item } from "../../src/protocol/items.ts";
import { NEWEST_SCHEMA } from "../../src/runtime/log/sqlite/schema.ts";
import type { Sessions } from "../../src/runtime/session/contract.ts";
import { allSessions } from "../../src/runtime/session/every-session.ts";
import { temporaryFolder } from "../support/folders.ts";
import { openSurface } from "../support/opencode-surface.ts";
import { endOf, eventsAfter, open, session, spoken, until, wholeLog } from "../support/sessions.ts";

const root = join(import.meta.dirname, "..", "data", "data-folders");
const folders = readdirSync(root, { withFileTypes: true }).flatMap((entry) =>
  entry.isDirectory() ? [entry.name] : [],
);

/** Killed in the middle of a turn, with a prompt in its queue. */
const CUT = "cut";

const expectedIn = (folder: string): Map<string, string> => {
  const files = readdirSync(join(root, folder, "expected"));
  return new Map(
    files.map((file) => [file.replace(/\.jsonl$/, ""), readFileSync(join(root, folder, "expected", file), "utf8")]),
  );
};

function copyOf(folder: string): string {
  const copy = temporaryFolder();
  cpSync(join(root, folder, "franca.db"), join(copy, "franca.db"));
  return copy;
}

async function openCopy(folder: string): Promise<Sessions> {
  const sessions = await open(copyOf(folder));
  onTestFinished(() => sessions.close());
  return sessions;
}

const asLines = (events: readonly UniversalEvent[]): string =>
  events.map((event) => `${JSON.stringify(event)}\n`).join("");

/** The cut turn has ended, and the one of the queued prompt too. */
async function untilRecovered(sessions: Sessions): Promise<void> {
  let ended = 0;
  for await (const event of eventsAfter(sessions, session(CUT))) {
    if (event.type === "turn.ended") ended += 1;
    if (ended === 2) return;
  }
}

test("there is one of every schema that there was", () => {
  expect(folders).toEqual(Array.from({ length: NEWEST_SCHEMA }, (_, index) => `schema-${index + 1}`));
});

describe.each(folders)("%s", (folder) => {
  const expected = expectedIn(folder);

  test("every session is there, with its events byte for byte, read by pages and followed", async () => {
    const sessions = await openCopy(folder);
    expect((await allSessions(sessions)).map(({ sessionId: id }) => id).sort()).toEqual([...expected.keys()].sort());
    for (const [name, lines] of expected) {
      const stored = lines.trimEnd().split("\n").length;
      const paged = (await wholeLog(sessions, session(name))).slice(0, stored);
      expect(asLines(paged), name).toBe(lines);
      let frames = "";
      const stop = new AbortController();
      for await (const group of sessions.follow(session(name), { after: 0, signal: stop.signal })) {
        frames += group.sse("sequence", { to: stored }).toString();
        if (group.last >= stored) break;
      }
      const framed = paged.map((event) => `id: ${event.sequence}\ndata: ${JSON.stringify(event)}\n\n`);
      expect(frames, name).toBe(framed.join(""));
      if (name !== CUT) expect((await sessions.get(session(name))).lastSequence, name).toBe(stored);
    }
  });

  test("the turn that was cut off ends with evidence restart, and the prompt that waited runs", async () => {
    const sessions = await openCopy(folder);
    await untilRecovered(sessions);
    const events = await wholeLog(sessions, session(CUT));
    const added = events.slice((expected.get(CUT) ?? "").trimEnd().split("\n").length);
    expect(endOf(added)).toEqual({ reason: "interrupted", evidence: "restart" });
    expect(spoken(added)).toContain("queued before the crash");
    expect(events.filter(({ type }) => type === "turn.started")).toHaveLength(2);
    expect(sessions.recovered.has(session(CUT))).toBe(true);
  });

  test("a session goes on where it stood", async () => {
    const sessions = await openCopy(folder);
    const before = (await sessions.get(session("plain"))).lastSequence;
    await sessions.prompt(session("plain"), { text: "echo after the update" });
    await until(sessions, session("plain"), { type: "turn.ended", after: before });
    expect(spoken((await wholeLog(sessions, session("plain"))).slice(before))).toContain("after the update");
  });

  test("the OpenCode surface reads its messages", async () => {
    const { api } = await openSurface({ store: "sqlite", data: copyOf(folder) });
    for (const [name, lines] of expected) {
      if (name === CUT) continue;
      const id = openCodeSessionId(session(name));
      const { body: children } = await api.get(`/session/${id}/children`);
      const shown: string[] = [];
      for (const one of [id, ...children.map((child: { id: string }) => child.id)]) {
        const { status, body } = await api.get(`/session/${one}/message`);
        expect(status, name).toBe(200);
        for (const { parts } of body) for (const part of parts) if (part.type === "text") shown.push(part.text);
      }
      expect(shown.sort(), name).toEqual(messagesIn(lines).sort());
    }
  });
});

/** The texts of the messages, of subagents too; a subagent's begin with its prompt. Empty ones are not shown. */
const messagesIn = (lines: string): string[] =>
  lines
    .trimEnd()
    .split("\n")
    .map((line): UniversalEvent => JSON.parse(line))
    .flatMap((event) => (event.type === "item.completed" ? event.data.item.content.map(textIn(event.data.item)) : []))
    .filter((text) => text !== "");

const textIn =
  ({ kind }: Item) =>
  (part: ContentPart): string => {
    if (part.type === "tool_call" && part.tool_kind === "subagent") return JSON.parse(part.arguments).prompt;
    return kind === "message" && part.type === "text" ? part.text : "";
  };
