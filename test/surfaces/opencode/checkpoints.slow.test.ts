/** Checkpoints of the OpenCode surface: a session restored from one continues as if it had never stopped. */
import { describe, expect, test } from "vitest";
import type { OpenCodeEvent } from "../../../src/dialects/opencode.ts";
import {
  applyOpenCode,
  defaultOptions,
  emptyStore,
  type OpenCodeOptions,
  type OpenCodeStore,
} from "../../../src/projections/opencode/index.ts";
import type { UniversalEvent } from "../../../src/protocol/events.ts";
import { sessionId } from "../../../src/protocol/ids.ts";
import type { Projections } from "../../../src/runtime/log/contract.ts";
import { memoryProjections } from "../../../src/runtime/log/memory/projections.ts";
import { openFromCheckpoint, saveCheckpoint } from "../../../src/server/opencode/checkpoints.ts";
import { messagesJson } from "../../../src/server/opencode/messages.ts";
import {
  openView,
  type RenderedSession,
  renderGroup,
  startSession,
} from "../../../src/server/opencode/session-view.ts";
import { stateUpTo } from "../../../src/server/rendering/checkpoints.ts";
import { checkpointedOpenCode } from "../../../src/server/rendering/dialects.ts";
import { quickTranscripts } from "../../support/contract.ts";
import { sessionsOf, toOpenCode } from "../../support/dialects.ts";

const id = sessionId("s");
const openBook = (): Projections => {
  const shelf = { last: Number.MAX_SAFE_INTEGER, projections: new Map() };
  return memoryProjections(() => shelf);
};

function renderAll(live: RenderedSession, events: readonly UniversalEvent[]): (readonly OpenCodeEvent[])[] {
  const group = renderGroup(live);
  const out = events.map((event) => group.render(event));
  group.settle();
  return out;
}

/** One by one: a group may have any length. */
const render = (live: RenderedSession, event: UniversalEvent): readonly OpenCodeEvent[] =>
  renderAll(live, [event])[0] ?? [];

const rendered = (live: RenderedSession, events: readonly UniversalEvent[]): string =>
  JSON.stringify(renderAll(live, events));

async function messagesIn(projections: Projections, live: RenderedSession): Promise<string[]> {
  const all: string[] = [];
  for (const session of live.store.sessions.keys()) {
    let text = "";
    const range = { limit: null, before: null };
    for await (const piece of messagesJson({ projections, view: openView(id, live), session }, range)) text += piece;
    all.push(text);
  }
  return all;
}

/** What a client knows that has heard everything and forgotten nothing. */
const messagesKnown = ({ sessions }: OpenCodeStore): string[] =>
  [...sessions.values()].map(({ messages }) =>
    JSON.stringify(
      [...messages.values()].flatMap(({ info, parts }) =>
        info === null ? [] : [{ info, parts: [...parts.values()] }],
      ),
    ),
  );

/** As text: that is much quicker to compare. */
const plain = (value: unknown): string =>
  JSON.stringify(value, (_, one) => {
    if (one instanceof Map || one instanceof Set) return [one.constructor.name, ...one];
    return one === undefined ? "undefined" : one;
  });

const around = ({ store, requests, running, ended, queue, left, sequence, state }: RenderedSession): string =>
  plain({
    sessions: [...store.sessions].map(([own, { info, status, todos }]) => ({ own, info, status, todos })),
    permissions: store.permissions,
    questions: store.questions,
    requests,
    running,
    ended,
    queue,
    left,
    sequence,
    state,
  });

const ways: readonly OpenCodeOptions[] = [
  defaultOptions,
  { messages: "step", deltas: "today" },
  { messages: "turn", deltas: "legacy" },
];

/** Every place, and of long sessions so many, the last among them. */
const MOST_CUTS = 40;

function cutsOf({ length }: readonly UniversalEvent[]): number[] {
  const count = Math.min(length, MOST_CUTS);
  return Array.from({ length: count }, (_, index) => Math.round(((index + 1) * length) / count));
}

describe.each(quickTranscripts)("$name", (transcript) => {
  test("cut anywhere, the checkpoint and the rest are the whole", async () => {
    for (const events of sessionsOf(transcript)) {
      const whole = startSession(defaultOptions);
      const all = events.map((event) => JSON.stringify(render(whole, event)));
      const end = around(whole);
      const client = emptyStore();
      for (const event of toOpenCode(events)) applyOpenCode(client, event);
      const messages = messagesKnown(client);
      for (const cut of cutsOf(events)) {
        const book = openBook();
        const first = startSession(defaultOptions);
        for (const event of events.slice(0, cut)) render(first, event);
        expect(await saveCheckpoint(book, id, first)).toBe(true);
        const second = await openFromCheckpoint(book, id, defaultOptions);
        expect(second.sequence).toBe(events[cut - 1]?.sequence);
        expect(rendered(second, events.slice(cut))).toBe(`[${all.slice(cut).join(",")}]`);
        expect(around(second)).toBe(end);
        expect(await messagesIn(book, second)).toEqual(messages);
      }
    }
  });

  test.each(ways)("saved and restored after every event, $messages $deltas", async (options) => {
    for (const events of sessionsOf(transcript)) {
      const whole = startSession(options);
      const client = emptyStore();
      const book = openBook();
      let live = startSession(options);
      for (const [index, event] of events.entries()) {
        // Some stay in memory, so that what is saved and what is not are read together.
        if (index % 3 !== 0) expect(await saveCheckpoint(book, id, live)).toBe(true);
        if (index % 3 === 2) live = await openFromCheckpoint(book, id, options);
        const heard = render(whole, event);
        expect(rendered(live, [event])).toBe(JSON.stringify([heard]));
        for (const one of heard) applyOpenCode(client, one);
        // What is being said, too.
        if (index % 2 === 0) expect(await messagesIn(book, live)).toEqual(messagesKnown(client));
      }
      expect(around(live)).toBe(around(whole));
      expect(await messagesIn(book, live)).toEqual(messagesKnown(client));
    }
  });

  test("every checkpoint stays a place to continue from", async () => {
    for (const events of sessionsOf(transcript)) {
      const book = openBook();
      const live = startSession(defaultOptions);
      const after = startSession(defaultOptions);
      for (const [index, event] of events.entries()) {
        render(live, event);
        if (index % 3 === 0) expect(await saveCheckpoint(book, id, live)).toBe(true);
      }
      for (const event of events) {
        render(after, event);
        const from = await stateUpTo(book, checkpointedOpenCode(defaultOptions), {
          session: id,
          sequence: event.sequence,
        });
        expect(event.sequence - from.sequence).toBeLessThan(3);
        const rest = { ...startSession(defaultOptions), ...from };
        rendered(rest, events.slice(from.sequence, event.sequence));
        expect(plain(rest.state)).toBe(plain(after.state));
      }
    }
  });
});
