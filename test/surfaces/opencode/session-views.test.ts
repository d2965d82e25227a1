/** The views behind the OpenCode surface keep working, whatever happens to sessions and clients around them. */
import { createServer } from "node:http";
import { expect, onTestFinished, test } from "vitest";
import type { OpenCodeEvent } from "../../../src/dialects/opencode.ts";
import { defaultOptions, openCodeSessionId } from "../../../src/projections/opencode/index.ts";
import { ApiError } from "../../../src/protocol/errors.ts";
import type { SessionId } from "../../../src/protocol/ids.ts";
import { openBackground } from "../../../src/runtime/background.ts";
import type { Projections } from "../../../src/runtime/log/contract.ts";
import { silentLogger } from "../../../src/runtime/logger.ts";
import type { Sessions } from "../../../src/runtime/session/contract.ts";
import { allSessions } from "../../../src/runtime/session/every-session.ts";
import { OWNER } from "../../../src/server/credentials/access.ts";
import { alone, openEventStreams } from "../../../src/server/opencode/events.ts";
import { openFrameWriter } from "../../../src/server/opencode/frames.ts";
import type { SessionView } from "../../../src/server/opencode/session-view.ts";
import { openSessionViews, type SessionViews } from "../../../src/server/opencode/session-views.ts";
import { openTurns } from "../../../src/server/opencode/turns.ts";
import { quickTranscripts } from "../../support/contract.ts";
import { sessionsOf, toOpenCode } from "../../support/dialects.ts";
import { isIdle, listen } from "../../support/opencode-client.ts";
import { open, session, turn } from "../../support/sessions.ts";

async function openSessionsHere(): Promise<Sessions> {
  const sessions = await open(null);
  onTestFinished(() => sessions.close());
  return sessions;
}

interface More {
  readonly ringBytes?: number;
  readonly heartbeatMs?: number;
}

function openViews(sessions: Sessions, more: More = {}) {
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  const background = openBackground({ logger: silentLogger });
  const given = { sessions, options: defaultOptions, stopped: stop.signal, logger: silentLogger, background };
  return { views: openSessionViews({ ...given, ...more }), stopped: stop.signal };
}

/** A daemon with nothing but the stream of events. */
async function serveStream(sessions: Sessions, more: More): Promise<string> {
  const { views, stopped } = openViews(sessions, more);
  const streams = openEventStreams({ views, ...more });
  const server = createServer((incoming, outgoing) => {
    void streams.serve(
      { sessions, views, caller: OWNER, incoming, outgoing, stopped },
      { form: alone, directory: null },
    );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("The server has no port.");
  return `http://127.0.0.1:${address.port}`;
}

test("a client that the ring leaves behind again and again hears everything once", async () => {
  const sessions = await openSessionsHere();
  const id = session("behind");
  await sessions.create(id, { agent: "mock", directory: "/" });
  await turn(sessions, id, "echo before");
  // So small that the ring never holds more than the latest batch.
  const base = await serveStream(sessions, { ringBytes: 1 });
  const client = await listen(base);
  await Promise.all(
    ["one", "two", "three"].map(async (name) => {
      const other = session(name);
      await sessions.create(other, { agent: "mock", directory: "/" });
      for (let round = 0; round < 5; round += 1) await turn(sessions, other, "flood 50");
    }),
  );
  await turn(sessions, id, "echo after");
  await client.until(isIdle(openCodeSessionId(id)));
  const ids = client.heard.flatMap((one) => (one.id === null ? [] : [one.id]));
  expect(ids.length).toBeGreaterThan(300);
  expect(new Set(ids).size).toBe(ids.length);
  const whole = await listen(base, { after: ids[0] ?? "" });
  await whole.until(isIdle(openCodeSessionId(id)));
  expect(whole.heard.flatMap((one) => (one.id === null ? [] : [one.id]))).toEqual(ids.slice(1));
  const prompts = client.heard.filter(({ event }) => JSON.stringify(event).includes("echo before"));
  expect(prompts).toEqual([]);
});

/** Resolves when the views has told everything that is in the session's log. */
async function renderedAll({ sessions, views, id }: Rendered): Promise<SessionView> {
  const { lastSequence } = await sessions.get(id, { limit: 0 });
  const view = await views.find(openCodeSessionId(id));
  if (view === null) throw new Error(`There is no session ${id}.`);
  const { stopped } = openViews(sessions);
  const turns = openTurns({ views });
  expect(await turns.rendered(view, { after: lastSequence, signal: stopped })).toBe(true);
  return view;
}

interface Rendered {
  readonly sessions: Sessions;
  readonly views: SessionViews;
  readonly id: SessionId;
}

async function say(sessions: Sessions, id: SessionId): Promise<void> {
  await sessions.create(id, { agent: "mock", directory: "/" });
  await turn(sessions, id, "echo hello");
}

const storageError = (): ApiError => new ApiError("storage_error", "The disk has gone to sleep.");

test("continues after the log could not be read for a while", async () => {
  const sessions = await openSessionsHere();
  let failures = 3;
  const flaky: Sessions = {
    ...sessions,
    async *followAll(follow) {
      for await (const group of sessions.followAll(follow)) {
        failures -= 1;
        if (failures >= 0) throw storageError();
        yield group;
      }
    },
  };
  const { views } = openViews(flaky);
  await views.ready();
  const told: number[] = [];
  views.onEvent((_, { sequence }) => told.push(sequence));
  const id = session("patient");
  await say(sessions, id);
  const { now } = await renderedAll({ sessions, views, id });
  expect(failures).toBeLessThan(0);
  expect(told).toEqual(Array.from({ length: now.sequence }, (_, index) => index + 1));
});

test("is asked again when its start has failed", async () => {
  const sessions = await openSessionsHere();
  const id = session("late");
  await say(sessions, id);
  let fails = true;
  const list: Sessions["list"] = () => (fails ? Promise.reject(storageError()) : sessions.list());
  const { views } = openViews({ ...sessions, list });
  await expect(views.ready()).rejects.toThrow(/gone to sleep/);
  fails = false;
  expect((await renderedAll({ sessions, views, id })).now.sequence).toBeGreaterThan(0);
});

test("a session deleted during its checkpoint, or one that cannot be rendered, does not affect others", async () => {
  const sessions = await openSessionsHere();
  const doomed = session("doomed");
  const { projections } = sessions;
  const keep: Projections["keep"] = async (id, name, change) => {
    if (id !== doomed) return projections.keep(id, name, change);
    await sessions.delete(id);
    return false;
  };
  const { views } = openViews({ ...sessions, projections: { ...projections, keep } });
  await views.ready();
  const poisoned = session("poisoned");
  views.onEvent((view) => {
    if (view.id === poisoned) throw new Error("a bug of ours");
  });
  await say(sessions, doomed);
  await say(sessions, poisoned);
  const well = session("well");
  await say(sessions, well);
  expect(await renderedAll({ sessions, views, id: well })).toMatchObject({ id: well });
  expect((await allSessions(sessions)).map((one) => one.sessionId)).toEqual([well, poisoned]);
});

test("however many sessions come and go, few stay in memory, and a request that holds one sees it change", async () => {
  const sessions = await openSessionsHere();
  const { views } = openViews(sessions);
  const id = session("held");
  await say(sessions, id);
  const held = await renderedAll({ sessions, views, id });
  for (let count = 0; count < 150; count += 1) await say(sessions, session(`other-${count}`));
  await renderedAll({ sessions, views, id: session("other-149") });
  expect(views.open().length).toBeLessThanOrEqual(101);
  expect(views.open()).not.toContain(held);
  const before = held.now.sequence;
  await turn(sessions, id, "echo again");
  expect(await renderedAll({ sessions, views, id })).toBe(held);
  expect(held.now.sequence).toBeGreaterThan(before);
});

test("a session recreated with the same id is not removed with the one before", async () => {
  const sessions = await openSessionsHere();
  const { views } = openViews(sessions);
  const id = session("twice");
  await say(sessions, id);
  const first = await renderedAll({ sessions, views, id });
  await sessions.delete(id);
  const told = new Promise<SessionView>((resolve) => {
    views.onEvent((view, { type }) => {
      if (view !== first && type === "turn.ended") resolve(view);
    });
  });
  await say(sessions, id);
  const second = await told;
  views.remove(first);
  expect(await views.find(openCodeSessionId(id))).toBe(second);
  views.remove(second);
  expect(views.open()).toEqual([]);
});

/** All events that went into the ring, with their places. */
function framesIn({ ring }: SessionViews): string[] {
  const length = ring.next() - ring.first();
  return Array.from({ length }, (_, index) => ring.get(ring.first() + index)?.sse.first?.toString() ?? "")
    .join("")
    .split("\n\n");
}

test.each([
  { when: "before the first event", early: true },
  { when: "when it has rendered some itself", early: false },
])("two surfaces on one log send everything: one meets the other's checkpoint $when", async ({ early }) => {
  const sessions = await openSessionsHere();
  const first = openViews(sessions).views;
  let release = (): void => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const slow: Sessions = {
    ...sessions,
    async *followAll(follow) {
      for await (const group of sessions.followAll(follow)) {
        await released;
        yield group;
      }
    },
  };
  const { views: second, stopped } = openViews(slow);
  await Promise.all([first.ready(), second.ready()]);
  const id = session("shared");
  await say(sessions, id);
  for (const prompt of ["tool", "subagent", "flood 200"]) await turn(sessions, id, prompt);
  await renderedAll({ sessions, views: first, id });
  const found = early ? await second.find(openCodeSessionId(id)) : null;
  release();
  await turn(sessions, id, "echo the end");
  await renderedAll({ sessions, views: first, id });
  await renderedAll({ sessions, views: second, id });
  await second.ring.arrival(first.ring.next() - 1, stopped);
  expect(framesIn(second)).toEqual(framesIn(first));
  const [one, other] = await Promise.all([first, second].map((views) => views.find(openCodeSessionId(id))));
  expect(other?.now.state).toEqual(one?.now.state);
  if (early) expect(other).toBe(found);
});

test("a silent stream sends OpenCode's heartbeat, and no other", async () => {
  const base = await serveStream(await openSessionsHere(), { heartbeatMs: 5 });
  const response = await fetch(base);
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk, { stream: true });
    if (text.split("server.heartbeat").length > 4) break;
  }
  expect(text.split("\n\n").filter((frame) => frame !== "" && !frame.startsWith("data: {"))).toEqual([]);
});

test("a prompt is answered when the bytes of its turn have left for every client", async () => {
  const sessions = await openSessionsHere();
  const { views, stopped } = openViews(sessions);
  const streams = openEventStreams({ views });
  const left: (() => void)[] = [];
  const server = createServer((incoming, outgoing) => {
    const { socket } = outgoing;
    const write = socket?.write.bind(socket);
    if (socket === null || write === undefined) throw new Error("There is no socket.");
    // A connection on which nothing leaves until the test says so.
    Object.defineProperty(socket, "writableLength", { get: () => 1 });
    socket.write = (chunk: string | Uint8Array, ...more: unknown[]): boolean => {
      const callback = more.find((one) => typeof one === "function");
      if (typeof callback === "function") left.push(() => callback());
      return write(chunk);
    };
    void streams.serve(
      { sessions, views, caller: OWNER, incoming, outgoing, stopped },
      { form: alone, directory: null },
    );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("The server has no port.");
  const client = await listen(`http://127.0.0.1:${address.port}`);
  const id = session("flushed");
  await say(sessions, id);
  await client.until(isIdle(openCodeSessionId(id)));
  left.splice(0);
  let done = false;
  const flushed = streams.flushed().then(() => {
    done = true;
  });
  await new Promise((resolve) => setImmediate(resolve));
  expect([done, left.length]).toEqual([false, 1]);
  for (const leave of left.splice(0)) leave();
  await flushed;
});

const RECORDINGS = 40;

test("events are written as JSON.stringify writes them, in any order", () => {
  const properties = { sessionID: "ses_1", messageID: "msg_1", partID: "prt_1", field: "text", delta: "a" };
  const delta = (id: string, more: Partial<typeof properties>): OpenCodeEvent => ({
    id,
    type: "message.part.delta",
    properties: { ...properties, ...more },
  });
  const odd = 'é "\\\u2028\ud800\n';
  const made = [
    delta("evt_1", {}),
    delta("evt_2", { delta: odd }),
    delta("evt_3", { partID: odd }),
    delta(odd, { partID: odd, field: "reasoning" }),
    delta("evt_5", { messageID: "msg_2", partID: odd, field: "reasoning" }),
    delta("evt_6", { sessionID: "ses_2", messageID: "msg_2", partID: odd, field: "reasoning" }),
  ];
  const recorded = quickTranscripts
    .slice(0, RECORDINGS)
    .flatMap((transcript) => sessionsOf(transcript).flatMap((one) => toOpenCode(one)));
  const all = [...made, ...recorded, ...made];
  const frames = openFrameWriter();
  frames.begin(7);
  for (const [index, event] of all.entries()) frames.add({ index, events: [event, event], next: [] });
  const frame = frames.finish({ directory: "/here" });
  const written = (event: OpenCodeEvent, index: number): string[] =>
    [0, 1].map((count) => `id: 7.${index}.${count}\ndata: ${JSON.stringify(event)}\n\n`);
  expect(frame?.sse.first?.toString()).toBe(all.flatMap(written).join(""));
  expect(frame?.last).toEqual({ first: `7.${all.length - 1}.1`, next: `7.${all.length - 1}.-1` });
});
