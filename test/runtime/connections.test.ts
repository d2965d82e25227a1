/** Connections that several sessions share, and the stream of a server that breaks. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { isAlive } from "../../src/runtime/agent/process-table.ts";
import { openSqliteLog } from "../../src/runtime/log/sqlite/open.ts";
import type { Sessions } from "../../src/runtime/session/contract.ts";
import { served } from "../support/server-adapter.ts";
import { endOf, open, removeFolder, session, spoken, tempFolder, turn, until } from "../support/sessions.ts";

const a = session("a");
const b = session("b");

let folder: string;
let sessions: Sessions;
beforeEach(async () => {
  folder = tempFolder();
  sessions = await open(folder, { adapters: [served] });
  await sessions.create(a, { agent: "served", directory: folder });
  await sessions.create(b, { agent: "served", directory: folder });
});
afterEach(async () => {
  await sessions.close();
  removeFolder(folder);
});

/** The process trees that are noted as running. */
async function runs() {
  const log = openSqliteLog({ folder, durability: "normal", version: "test" });
  try {
    return (await log.runs()).flatMap(({ leader }) => (leader === null ? [] : [leader]));
  } finally {
    await log.close();
  }
}

test("one server for all sessions, each hears only its own lines, and the server goes with the last", async () => {
  const [first, second] = await Promise.all([turn(sessions, a, "I am a"), turn(sessions, b, "I am b")]);
  expect(spoken(first)).toBe("I am a");
  expect(spoken(second)).toBe("I am b");
  const servers = await runs();
  expect(servers).toHaveLength(1);
  await sessions.terminate(a);
  expect(spoken(await turn(sessions, b, "still here"))).toBe("still here");
  expect(await runs()).toEqual(servers);
  await sessions.terminate(b);
  expect(await runs()).toEqual([]);
  expect(servers.filter((one) => isAlive(one))).toEqual([]);
});

test("a session with an environment of its own has a server of its own, which asks for its login", async () => {
  const [locked, other] = [session("locked"), session("other")];
  await sessions.create(locked, { agent: "served", directory: folder, env: { FAKE_PASSWORD: "pä:ss" } });
  await sessions.create(other, { agent: "served", directory: folder, env: { FAKE_PASSWORD: "pä:ss" } });
  expect(spoken(await turn(sessions, a, "open"))).toBe("open");
  expect(spoken(await turn(sessions, locked, "closed"))).toBe("closed");
  expect(spoken(await turn(sessions, other, "with it"))).toBe("with it");
  expect(await runs()).toHaveLength(2);
});

test("a stream that breaks is opened again", async () => {
  await turn(sessions, a, "hello");
  expect(spoken(await turn(sessions, a, "drop"))).toBe("drop");
  expect(spoken(await turn(sessions, a, "after"))).toBe("after");
});

test("an abort of one leaves the other alone", async () => {
  await sessions.prompt(a, { text: "hang" });
  await turn(sessions, b, "hello");
  await sessions.abort(a, { clearQueue: false });
  expect((await until(sessions, a, { type: "turn.ended" })).data.reason).toBe("aborted");
  expect(spoken(await turn(sessions, b, "still here"))).toBe("still here");
});

test("a server that dies ends the turns of all, and the next prompt starts another with the same sessions", async () => {
  await turn(sessions, b, "hello");
  const native = (await sessions.get(b)).nativeSessionId;
  await sessions.prompt(b, { text: "hang" });
  const events = await turn(sessions, a, "exit");
  expect(endOf(events)).toEqual({ reason: "error", evidence: "exit" });
  const log = await sessions.events(b, { offset: 0, limit: 1000, includeRaw: false });
  const started = log.events.filter(({ type }) => type === "turn.started").at(-1);
  const ended = await until(sessions, b, { type: "turn.ended", after: started?.sequence ?? 0 });
  expect(ended.data).toMatchObject({ reason: "error", error: { code: "agent_exited" } });
  expect(spoken(await turn(sessions, b, "again"))).toBe("again");
  expect((await sessions.get(b)).nativeSessionId).toBe(native);
});

test("a session that the server refuses is told so, and the others go on", async () => {
  await turn(sessions, a, "hello");
  const refused = session("refused");
  await sessions.create(refused, { agent: "served", directory: folder, model: "refuse" });
  const events = await turn(sessions, refused, "hello");
  expect(events.at(-1)).toMatchObject({
    data: { reason: "error", error: { code: "stream_error", message: expect.stringMatching(/503.*no room/) } },
  });
  expect(spoken(await turn(sessions, a, "fine"))).toBe("fine");
});
