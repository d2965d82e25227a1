/** Streams: everyone who reads gets every event once and in order; who does not read costs nothing. */
import { once } from "node:events";
import { get } from "node:http";
import { expect, onTestFinished, test } from "vitest";
import type { UniversalEvent } from "../../../src/protocol/events.ts";
import { openParser } from "../../../src/sdk/sse.ts";
import { startDaemon, type TestDaemon } from "../../support/daemon.ts";
import { temporaryFolder } from "../../support/folders.ts";
import { isGapless, listen } from "../../support/streams.ts";

const FLOOD = 20_000;

test("twenty clients during a flood, one that stops reading and one that keeps reconnecting", async () => {
  const { url, client, directory } = await startDaemon({ store: "sqlite", data: temporaryFolder() });
  const session = await client.create({ id: "flood", agent: "mock", directory });
  const stalled = get(`${url}/v1/sessions/flood/events/sse`);
  const [silent] = (await once(stalled, "response")) as [import("node:http").IncomingMessage];
  silent.pause();
  onTestFinished(() => void silent.destroy());
  const listener = { url, session: "flood", until: "turn.ended" };
  const readers = [...Array.from({ length: 18 }, () => listen(listener)), listen({ ...listener, reconnectEvery: 100 })];
  const before = process.memoryUsage().rss;
  await session.prompt(`flood ${FLOOD}`);
  await Promise.all(readers.map(({ done }) => done));
  const { lastSequence } = await session.get({ limit: 0 });
  expect(lastSequence).toBeGreaterThan(FLOOD);
  for (const { seen } of readers) {
    expect(seen).toHaveLength(lastSequence);
    expect(isGapless(seen)).toBe(true);
  }
  // Far below what buffering the flood for one reader who does not read, let alone for twenty, would take.
  expect((process.memoryUsage().rss - before) / 2 ** 20).toBeLessThan(300);

  // The one who did not read goes on where it stood.
  const seen: number[] = [];
  const parse = openParser();
  silent.setEncoding("utf8");
  for await (const text of silent) {
    for (const { id } of parse(String(text))) if (id !== null) seen.push(Number(id));
    if (seen.at(-1) === lastSequence) break;
  }
  expect(seen).toHaveLength(lastSequence);
  expect(isGapless(seen)).toBe(true);
});

async function readSome(daemon: TestDaemon, path: string, headers: Record<string, string> = {}, until = "turn.ended") {
  const controller = new AbortController();
  const response = await fetch(daemon.url + path, { headers, signal: controller.signal });
  expect(response.headers.get("content-type")).toContain("text/event-stream");
  const frames: { id: string | null; event: UniversalEvent | null }[] = [];
  const parse = openParser();
  const decoder = new TextDecoder();
  let text = "";
  try {
    for await (const chunk of response.body ?? []) {
      const piece = decoder.decode(chunk, { stream: true });
      text += piece;
      for (const { id, data } of parse(piece)) frames.push({ id, event: data === null ? null : JSON.parse(data) });
      if (frames.some(({ event }) => event?.type === until) || text.includes(until)) break;
    }
  } finally {
    controller.abort();
  }
  return { frames, text };
}

test("Last-Event-ID wins over the offset; ids are sequences; there is no event line", async () => {
  const daemon = await startDaemon();
  const session = await daemon.client.create({ id: "a", agent: "mock", directory: daemon.directory });
  for await (const _ of session.ask("echo hello"));
  const path = "/v1/sessions/a/events/sse";
  const all = await readSome(daemon, path);
  expect(all.text).not.toMatch(/^event:/m);
  expect(all.frames.map(({ id }) => id)).toEqual(all.frames.map((_, index) => String(index + 1)));
  expect((await readSome(daemon, `${path}?offset=3`)).frames).toEqual(all.frames.slice(3));
  expect((await readSome(daemon, `${path}?offset=0`, { "last-event-id": "5" })).frames).toEqual(all.frames.slice(5));
  const bad = await fetch(daemon.url + path, { headers: { "last-event-id": "banana" } });
  expect(bad.status).toBe(400);
  expect(await bad.json()).toMatchObject({ code: "invalid_request" });
});

test("pages of events, with and without raw", async () => {
  const daemon = await startDaemon();
  const session = await daemon.client.create({ id: "a", agent: "mock", directory: daemon.directory });
  for await (const _ of session.ask("tool"));
  const { events } = await session.listEvents();
  expect(events.every((event) => event.raw === null)).toBe(true);
  const pages: UniversalEvent[] = [];
  for (let more = true; more; ) {
    const page = await session.listEvents({ offset: pages.length, limit: 7 });
    expect(page.events.length).toBeLessThanOrEqual(7);
    pages.push(...page.events);
    more = page.hasMore;
  }
  expect(pages).toEqual(events);

  const { lines } = await session.listNative();
  const raw = await session.listEvents({ includeRaw: true });
  const caused = raw.events.filter((event) => event.raw !== null);
  expect(caused.length).toBeGreaterThan(5);
  for (const { raw: line, cause } of caused) {
    if (cause.line !== null) expect(line).toEqual(lines.find(({ line: number }) => number === cause.line)?.native);
  }
  const streamed = await readSome(daemon, "/v1/sessions/a/events/sse?include_raw=true");
  expect(streamed.frames.map(({ event }) => event)).toEqual(raw.events);
});

test("raw lines on the stream across sessions and on the stream of a turn; dialects have none", async () => {
  const daemon = await startDaemon();
  const session = await daemon.client.create({ id: "a", agent: "mock", directory: daemon.directory });
  const path = "/v1/sessions/a/messages/stream?include_raw=true";
  const body = JSON.stringify({ message: "tool" });
  const headers = { "content-type": "application/json" };
  const turn = await (await fetch(daemon.url + path, { method: "POST", headers, body })).text();
  const { events } = await session.listEvents({ includeRaw: true });
  const ofTurn = events.filter(({ turn_id }) => turn_id !== null);
  expect(openParser()(turn).flatMap(({ data }) => (data === null ? [] : [JSON.parse(data)]))).toEqual(ofTurn);
  expect(ofTurn.some(({ raw }) => raw !== null)).toBe(true);

  const { frames } = await readSome(daemon, "/v1/events/sse?offset=0&include_raw=true");
  expect(frames.flatMap(({ event }) => event ?? [])).toEqual(events);
  const plain = await readSome(daemon, "/v1/events/sse?offset=0");
  expect(frames.map(({ id }) => id)).toEqual(plain.frames.map(({ id }) => id));

  for (const format of ["opencode", "takopi"]) {
    const answer = await fetch(`${daemon.url}/v1/sessions/a/events/sse?format=${format}&include_raw=true`);
    expect({ format, status: answer.status }).toEqual({ format, status: 400 });
    await answer.text();
  }
});

test("the stream across sessions resumes by a cursor of its own", async () => {
  const daemon = await startDaemon({ store: "sqlite", data: temporaryFolder() });
  const [one, two] = await Promise.all(
    ["one", "two"].map((id) => daemon.client.create({ id, agent: "mock", directory: daemon.directory })),
  );
  await Promise.all(
    [one, two].map(async (session) => {
      for await (const _ of session?.ask("tool") ?? []);
    }),
  );
  const counts = (await daemon.client.sessions()).reduce((sum, { eventCount }) => sum + eventCount, 0);
  const all: { cursor: string; event: UniversalEvent }[] = [];
  for await (const placed of daemon.client.events({ after: "0" })) {
    all.push(placed);
    if (all.length === counts) break;
  }
  for (const id of ["one", "two"]) {
    const own = all.filter(({ event }) => event.session_id === id).map(({ event }) => event.sequence);
    expect(isGapless(own)).toBe(true);
  }
  for (const cut of [1, Math.floor(counts / 2), counts - 1]) {
    const rest: string[] = [];
    for await (const { event } of daemon.client.events({ after: all[cut - 1]?.cursor ?? "" })) {
      rest.push(event.event_id);
      if (rest.length === counts - cut) break;
    }
    expect(rest).toEqual(all.slice(cut).map(({ event }) => event.event_id));
  }
});

test("without a cursor the stream across sessions begins now, and says where that is", async () => {
  const daemon = await startDaemon();
  const session = await daemon.client.create({ id: "a", agent: "mock", directory: daemon.directory });
  for await (const _ of session.ask("echo before"));
  const { frames } = await readSome(daemon, "/v1/events/sse", {}, "id: ");
  expect(frames[0]).toMatchObject({ event: null, id: expect.stringMatching(/^\d+$/) });

  const changes = daemon.client.statusChanges()[Symbol.asyncIterator]();
  let heard: string[] | null = null;
  const listening = Promise.all([changes.next(), changes.next()]).then((both) => {
    heard = both.map(({ value }) => value?.status);
  });
  // Nobody says when a stream of what comes has begun, so something is made to come until it is heard.
  while (heard === null) for await (const _ of session.ask("echo after"));
  await listening;
  expect(new Set(heard)).toEqual(new Set(["running", "idle"]));
  await changes.return?.(undefined);
  expect([...(await daemon.client.statuses())]).toEqual([["a", "idle"]]);
});

test("a silent stream beats", async () => {
  const daemon = await startDaemon({ heartbeatMs: 10 });
  await daemon.client.create({ id: "a", agent: "mock", directory: daemon.directory });
  const { text } = await readSome(daemon, "/v1/sessions/a/events/sse", {}, ": heartbeat");
  expect(text).toContain(": heartbeat\n\n");
});

test("a daemon that stops lets its readers hear how the turn ended", async () => {
  const daemon = await startDaemon();
  const session = await daemon.client.create({ id: "a", agent: "mock", directory: daemon.directory });
  const listener = listen({ url: daemon.url, session: "a", until: "turn.ended" });
  await session.prompt("hang");
  for await (const event of session.events()) if (event.type === "turn.started") break;
  await daemon.close();
  await listener.done;
});

test("a client that has seen more events than there are is told so, and continues behind the last one", async () => {
  const daemon = await startDaemon();
  const session = await daemon.client.create({ id: "short", agent: "mock", directory: daemon.directory });
  await session.run("echo apple");
  const { lastSequence: last } = await session.get({ limit: 0 });
  const path = "/v1/sessions/short/events/sse";
  for (const format of ["", "?format=opencode"]) {
    const { text } = await readSome(daemon, path + format, { "last-event-id": "5000" }, "You have seen event 5000");
    expect(text).toContain(`its last event is ${last}`);
  }
  const { frames } = await readSome(daemon, path, { "last-event-id": "5000" }, "error");
  expect(frames.at(-1)).toMatchObject({
    id: String(last),
    event: {
      type: "error",
      sequence: last,
      data: { code: "events_lost", details: { seen: 5000, last }, fatal: false },
    },
  });

  const types: string[] = [];
  const following = (async () => {
    for await (const event of session.events({ after: 5000 })) {
      types.push(event.type);
      if (event.type === "turn.ended") return;
    }
  })();
  await session.run("echo banana");
  await following;
  expect(types[0]).toBe("error");
  expect(types).toContain("turn.started");

  const all = await fetch(`${daemon.url}/v1/events/sse`, { headers: { "last-event-id": "5000000.1" } });
  expect(all.status).toBe(410);
  expect(await all.json()).toMatchObject({ code: "events_lost" });
  const openCode = await readSome(daemon, "/opencode/event", { "last-event-id": "5000000.1.1" }, "session.error");
  expect(openCode.text).toContain("You have seen events that are not in the log");
});
