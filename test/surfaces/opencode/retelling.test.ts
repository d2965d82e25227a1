/** The retelling behind the OpenCode surface: whatever happens to sessions and readers around it, it goes on. */
import { createServer } from "node:http";
import { expect, onTestFinished, test } from "vitest";
import { defaultOptions, openCodeSessionId } from "../../../src/projections/opencode/index.ts";
import { ApiError } from "../../../src/protocol/errors.ts";
import type { SessionId } from "../../../src/protocol/ids.ts";
import type { Projections } from "../../../src/runtime/log/contract.ts";
import { silentLogger } from "../../../src/runtime/logger.ts";
import type { Sessions } from "../../../src/runtime/session/contract.ts";
import type { Live } from "../../../src/server/opencode/live.ts";
import { openRetelling, type Retelling } from "../../../src/server/opencode/retelling.ts";
import { alone, openStreams } from "../../../src/server/opencode/stream.ts";
import { openTurns } from "../../../src/server/opencode/turns.ts";
import { isIdle, listen } from "../../support/opencode-client.ts";
import { open, session, turn } from "../../support/sessions.ts";

async function openSessionsHere(): Promise<Sessions> {
  const sessions = await open(null);
  onTestFinished(() => sessions.close());
  return sessions;
}

function retell(sessions: Sessions, more: { readonly ringBytes?: number } = {}) {
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  const given = { sessions, options: defaultOptions, stopped: stop.signal, logger: silentLogger };
  return { retelling: openRetelling({ ...given, ...more }), stopped: stop.signal };
}

/** A daemon with nothing but the stream of events. */
async function serveStream(sessions: Sessions, more: { readonly ringBytes?: number }): Promise<string> {
  const { retelling, stopped } = retell(sessions, more);
  const streams = openStreams({ retelling, options: defaultOptions });
  const server = createServer((incoming, outgoing) => {
    void streams.serve({ sessions, incoming, outgoing, stopped }, { form: alone, directory: null });
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

/** Resolves when the retelling has told everything that is in the session's log. */
async function toldAll({ sessions, retelling, id }: Told): Promise<Live> {
  const { lastSequence } = await sessions.get(id, { limit: 0 });
  const live = await retelling.find(openCodeSessionId(id));
  if (live === null) throw new Error(`There is no session ${id}.`);
  const { stopped } = retell(sessions);
  const turns = openTurns({ retelling, sessions, logger: silentLogger });
  expect(await turns.told(live, { after: lastSequence, signal: stopped })).toBe(true);
  return live;
}

interface Told {
  readonly sessions: Sessions;
  readonly retelling: Retelling;
  readonly id: SessionId;
}

async function say(sessions: Sessions, id: SessionId): Promise<void> {
  await sessions.create(id, { agent: "mock", directory: "/" });
  await turn(sessions, id, "echo hello");
}

const storageError = (): ApiError => new ApiError("storage_error", "The disk has gone to sleep.");

test("goes on after the log could not be read for a while", async () => {
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
  const { retelling } = retell(flaky);
  await retelling.ready();
  const told: number[] = [];
  retelling.onEvent((_, { sequence }) => told.push(sequence));
  const id = session("patient");
  await say(sessions, id);
  const { sequence } = await toldAll({ sessions, retelling, id });
  expect(failures).toBeLessThan(0);
  expect(told).toEqual(Array.from({ length: sequence }, (_, index) => index + 1));
});

test("is asked again when its start has failed", async () => {
  const sessions = await openSessionsHere();
  const id = session("late");
  await say(sessions, id);
  let fails = true;
  const list: Sessions["list"] = () => (fails ? Promise.reject(storageError()) : sessions.list());
  const { retelling } = retell({ ...sessions, list });
  await expect(retelling.ready()).rejects.toThrow(/gone to sleep/);
  fails = false;
  expect((await toldAll({ sessions, retelling, id })).sequence).toBeGreaterThan(0);
});

test("a session that goes while it is put by, or that cannot be told, takes no other with it", async () => {
  const sessions = await openSessionsHere();
  const doomed = session("doomed");
  const { projections } = sessions;
  const keep: Projections["keep"] = async (id, name, change) => {
    if (id !== doomed) return projections.keep(id, name, change);
    await sessions.delete(id);
    return false;
  };
  const { retelling } = retell({ ...sessions, projections: { ...projections, keep } });
  await retelling.ready();
  const poisoned = session("poisoned");
  retelling.onEvent((live) => {
    if (live.id === poisoned) throw new Error("a bug of ours");
  });
  await say(sessions, doomed);
  await say(sessions, poisoned);
  const well = session("well");
  await say(sessions, well);
  expect(await toldAll({ sessions, retelling, id: well })).toMatchObject({ id: well });
  expect((await sessions.list()).map((one) => one.sessionId)).toEqual([poisoned, well]);
});

test("however many sessions come and go, few stay in memory, and whoever holds one sees it go on", async () => {
  const sessions = await openSessionsHere();
  const { retelling } = retell(sessions);
  const id = session("held");
  await say(sessions, id);
  const held = await toldAll({ sessions, retelling, id });
  for (let count = 0; count < 150; count += 1) await say(sessions, session(`other-${count}`));
  await toldAll({ sessions, retelling, id: session("other-149") });
  expect(retelling.lives().length).toBeLessThanOrEqual(101);
  expect(retelling.lives()).not.toContain(held);
  const before = held.sequence;
  await turn(sessions, id, "echo again");
  expect(await toldAll({ sessions, retelling, id })).toBe(held);
  expect(held.sequence).toBeGreaterThan(before);
});

test("a session that was made again under its name is not forgotten with the one before", async () => {
  const sessions = await openSessionsHere();
  const { retelling } = retell(sessions);
  const id = session("twice");
  await say(sessions, id);
  const first = await toldAll({ sessions, retelling, id });
  await sessions.delete(id);
  const told = new Promise<Live>((resolve) => {
    retelling.onEvent((live, { type }) => {
      if (live !== first && type === "turn.ended") resolve(live);
    });
  });
  await say(sessions, id);
  const second = await told;
  retelling.forget(first);
  expect(await retelling.find(openCodeSessionId(id))).toBe(second);
  retelling.forget(second);
  expect(retelling.lives()).toEqual([]);
});
