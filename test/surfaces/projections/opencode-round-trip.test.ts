/**
 * OpenCode → universal → OpenCode: what a client knows at the end is what it would know from OpenCode itself.
 * The differences that are allowed are listed in docs/opencode.md; each is named here.
 */
import { describe, expect, test } from "vitest";
import type { OpenCodePart } from "../../../src/dialects/opencode.ts";
import { isOpenCodeEvent } from "../../../src/dialects/opencode-stream.ts";
import { applyOpenCode, emptyStore, type OpenCodeStore } from "../../../src/projections/opencode/index.ts";
import { sessionsOf, toOpenCode } from "../../support/dialects.ts";
import { transcripts } from "../../support/transcripts.ts";

/**
 * Their event streams do not hold the whole conversation: a past that was copied, a stream that was cut and mended,
 * lines of a document with the fewest fields.
 */
const incomplete = new Set([
  "opencode/fork",
  "opencode/stream-cut-at-end",
  "opencode/stream-cut",
  "opencode/document-part-first",
]);

const recordings = transcripts.filter(({ adapter, name }) => adapter.agent === "opencode" && !incomplete.has(name));

/** Calls of tools that OpenCode does not know: it renames them in the middle. */
const renamed = new Set<string>();

/** Fields in which the two may differ, by the rows of the table in docs/opencode.md. */
const allowed: readonly RegExp[] = [
  // times
  /\.time(\.|$)/,
  // ids, slug and project
  /^session\.(slug|projectID)$/,
  /^assistant\.parentID$/,
  // model, and what OpenCode does not tell before the first prompt
  /\.(modelID|providerID)$/,
  /^session\.(model|agent)(\.|$)/,
  // late updates
  /^(session|user)\.summary$/,
  /^session\.permission$/,
  // tools: titles and metadata that nobody draws
  /^tool\.\w+\.state\.(title|metadata)(\.|$)/,
  // failed tools
  /^tool\.(bash|invalid)\.state\.(status|error|output)$/,
  /^tool\.invalid\.(tool|metadata|state\.input)/,
  // a compaction's note to the model
  /^text\.metadata$/,
  // a process that was killed
  /^assistant\.error$/,
  // the sum of tokens is told where OpenCode tells only its addends; the project's root is the directory
  /^assistant\.tokens\.total$/,
  /^assistant\.path\.root$/,
  // a subagent's tokens and cost count in its parent's session
  /^session\.(tokens|cost)(\.|$)/,
  // what else a prompt carried, and who works on a subtask
  /^user\.format$/,
  /^assistant\.(mode|agent)$/,
  // a message that ended well says so, also the one of a shell command
  /^assistant\.finish$/,
];

describe.each(recordings)("$name", (transcript) => {
  const native = emptyStore();
  for (const recorded of transcript.recording) {
    if (recorded.type !== "line" || recorded.from !== "agent") continue;
    const { line } = recorded;
    const event = typeof line === "object" && line !== null && "payload" in line ? line.payload : line;
    if (!isOpenCodeEvent(event)) continue;
    applyOpenCode(native, event);
    if (event.type !== "message.part.updated" || event.properties.part.type !== "tool") continue;
    if (event.properties.part.tool === "invalid") renamed.add(event.properties.part.callID);
  }
  const ours = emptyStore();
  for (const events of sessionsOf(transcript)) for (const event of toOpenCode(events)) applyOpenCode(ours, event);

  test("every message, part, tool state and text", () => {
    expect(conversation(ours, native)).toEqual(conversation(native, native));
  });

  test("field by field, nothing differs but what is documented", () => {
    const found = new Set<string>();
    for (const [id, session] of native.sessions) {
      const told = ours.sessions.get(id);
      if (told === undefined) continue;
      differences(told.info, session.info, { path: "session", found });
      for (const [messageId, { info, parts }] of session.messages) {
        const message = told.messages.get(messageId);
        if (message === undefined) continue;
        differences(message.info, info, { path: info?.role ?? "nobody", found });
        for (const [partId, part] of parts) {
          const name = part.type === "tool" ? `tool.${part.tool}` : part.type;
          if (message.parts.has(partId)) differences(message.parts.get(partId), part, { path: name, found });
        }
      }
    }
    expect([...found].filter((path) => !allowed.some((pattern) => pattern.test(path)))).toEqual([]);
  });

  test("every session, its title and its todos", () => {
    const sessions = (store: OpenCodeStore) =>
      [...store.sessions]
        .filter(([id]) => native.sessions.has(id))
        .map(([id, { info, todos }]) => ({ id, title: info?.title, parentID: info?.parentID, todos }));
    expect(sessions(ours).sort(byId)).toEqual(sessions(native).sort(byId));
  });
});

const byId = (one: { readonly id: string }, other: { readonly id: string }): number => one.id.localeCompare(other.id);

/** A message that says and does nothing may have another id, or none; a deleted session is not deleted in a log. */
function conversation(store: OpenCodeStore, native: OpenCodeStore): unknown[] {
  return [...store.sessions.entries()]
    .filter(([id]) => native.sessions.has(id))
    .sort(([one], [other]) => one.localeCompare(other))
    .flatMap(([session, { messages }]) =>
      [...messages.values()]
        .map(({ info, parts }) => ({
          session,
          id: info?.id,
          role: info?.role,
          parts: [...parts.values()].flatMap(essence),
        }))
        .filter(({ parts }) => parts.length > 0),
    );
}

/** Step and patch parts carry git snapshots of OpenCode's own, times are the log's: both are on the list. */
function essence(part: OpenCodePart): unknown[] {
  switch (part.type) {
    case "text":
    case "reasoning":
      return [{ id: part.id, type: part.type, text: part.text }];
    case "tool": {
      const { state, callID } = part;
      // A tool that failed is an error to us, also where OpenCode calls an aborted command or an unknown tool
      // completed; and an unknown tool keeps the name the model gave it.
      const told = state.status === "completed" ? state.output : state.status === "error" ? state.error : state.status;
      const tool = renamed.has(callID) ? "invalid" : part.tool;
      return [{ id: part.id, tool, callID, input: tool === "invalid" ? {} : state.input, told }];
    }
    default:
      return [];
  }
}

/** The paths at which two values differ. */
function differences(one: unknown, other: unknown, { path, found }: { path: string; found: Set<string> }): void {
  if (JSON.stringify(one) === JSON.stringify(other)) return;
  if (!isFields(one) || !isFields(other)) return void found.add(path);
  for (const key of new Set([...Object.keys(one), ...Object.keys(other)])) {
    differences(one[key], other[key], { path: `${path}.${key}`, found });
  }
}

const isFields = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
