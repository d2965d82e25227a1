/** Sessions of the OpenCode surface after a restart: the same answers, from checkpoints or from the events. */
import { cpSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { defaultOptions, openCodeSessionId } from "../../../src/projections/opencode/index.ts";
import { openBackground } from "../../../src/runtime/background.ts";
import { type Database, openDatabase } from "../../../src/runtime/log/sqlite/database.ts";
import { LOG_FILE } from "../../../src/runtime/log/sqlite/open.ts";
import { silentLogger } from "../../../src/runtime/logger.ts";
import type { Sessions } from "../../../src/runtime/session/contract.ts";
import { openSessionViews } from "../../../src/server/opencode/session-views.ts";
import { startDaemon } from "../../support/daemon.ts";
import { temporaryFolder } from "../../support/folders.ts";
import { type Heard, isIdle, type Listener, listen, openCodeApi } from "../../support/opencode-client.ts";
import { openSurface, text } from "../../support/opencode-surface.ts";
import { open, session, turn } from "../../support/sessions.ts";

const prompts = ["tool", "subagent", "todo", "permission", "error", "flood 40", "echo the end"];

interface Asked {
  readonly api: ReturnType<typeof openCodeApi>;
  readonly id: string;
}

/** All that can be asked about a session. */
async function everything({ api, id }: Asked): Promise<unknown[]> {
  const { body: messages } = await api.get(`/session/${id}/message`);
  const { body: children } = await api.get(`/session/${id}/children`);
  const ids: string[] = messages.map(({ info }: { info: { id: string } }) => info.id);
  const paths = [
    "",
    "/todo",
    "/diff",
    "/message?limit=3",
    "/message?limit=0",
    "/message?limit=nonsense",
    "/message?before=msg_nobody",
    ...ids.flatMap((message) => [
      `/message/${message}`,
      `/diff?messageID=${message}`,
      `/message?before=${message}`,
      `/message?limit=2&before=${message}`,
    ]),
  ];
  const answers = [];
  for (const path of paths) answers.push((await api.get(`/session/${id}${path}`)).body);
  for (const child of children) answers.push((await api.get(`/session/${child.id}/message`)).body);
  return [messages, children, ...answers];
}

async function talk({ api, id, listener }: Asked & { readonly listener: Listener }): Promise<void> {
  for (const prompt of prompts) {
    const answered = api.post(`/session/${id}/message`, text(prompt));
    if (prompt === "permission") await allow({ api, listener, times: 2 });
    expect((await answered).status).toBe(200);
  }
}

async function allow({ api, listener, times }: Pick<Asked, "api"> & { listener: Listener; times: number }) {
  const allowed = new Set<string>();
  while (allowed.size < times) {
    await listener.until((event) => {
      if (event.type !== "permission.asked" || allowed.has(event.properties.id)) return false;
      allowed.add(event.properties.id);
      return true;
    });
    await api.post(`/permission/${[...allowed].at(-1)}/reply`, { reply: "once" });
  }
}

const damage: Readonly<Record<string, string | null>> = {
  "as it was left": null,
  "with a damaged state": "UPDATE projections SET state = x'ff0f6f220362'",
  "with a state of other fields": "UPDATE projections SET state = (SELECT known FROM projections WHERE known NOT NULL)",
  "with a damaged rest": "UPDATE projections SET known = x'00'",
  "after another version": "UPDATE projections SET version = 'older'; UPDATE records SET body = '{}'",
  "when a crash came between the two": "DELETE FROM projections; UPDATE records SET body = '{}'",
};

test("answers as before a restart, whatever has become of the checkpoints", async () => {
  const left = temporaryFolder();
  const { daemon, api, base, directory } = await openSurface({ store: "sqlite", data: left });
  const { body: created } = await api.post("/session", {});
  const id: string = created.id;
  const listener = await listen(base, { directory });
  await talk({ api, id, listener });
  const before = await everything({ api, id });
  const heard = listener.heard.filter((one) => one.id !== null);
  await daemon.close();
  expect(countIn(left, "projections")).toBeGreaterThan(1);
  for (const [name, statement] of Object.entries(damage)) {
    const data = temporaryFolder();
    cpSync(left, data, { recursive: true });
    if (statement !== null) onDatabase(data, (database) => database.exec(statement));
    const second = await startDaemon({ store: "sqlite", data });
    const asked = { api: openCodeApi(`${second.url}/opencode`, { directory }), id };
    expect(await everything(asked), name).toEqual(before);
    await goOn({ ...asked, base: `${second.url}/opencode`, directory, heard });
    expect((await asked.api.call("DELETE", `/session/${id}`)).status).toBe(200);
    await second.close();
    expect([countIn(data, "projections"), countIn(data, "records")]).toEqual([0, 0]);
  }
});

/** A client that reconnects in the middle hears the rest with the same ids, and what comes then. */
async function goOn(given: Asked & { base: string; directory: string; heard: readonly Heard[] }): Promise<void> {
  const { api, id, base, directory, heard } = given;
  const from = Math.floor(heard.length / 2);
  const again = await listen(base, { directory, after: heard[from]?.id ?? "" });
  await api.post(`/session/${id}/prompt_async`, text("echo and on"));
  await again.until((event) => isIdle(id)(event) && again.heard.length > heard.length - from);
  const rest = again.heard.filter((one) => one.id !== null);
  expect(rest.slice(0, heard.length - from - 1)).toEqual(heard.slice(from + 1));
  again.close();
}

function onDatabase<T>(data: string, work: (database: Database) => T): T {
  const database = openDatabase(join(data, LOG_FILE));
  try {
    return work(database);
  } finally {
    database.close();
  }
}

const countIn = (data: string, table: string): number =>
  onDatabase(data, (database) => Number(database.prepare(`SELECT count(*) AS n FROM ${table}`).get()?.n));

/** How many events are read from the log when a session is opened for the first time in a process. */
async function eventsRead(sessions: Sessions, id: ReturnType<typeof session>): Promise<number> {
  let read = 0;
  const counted: Sessions = {
    ...sessions,
    async *follow(...given) {
      for await (const group of sessions.follow(...given)) {
        read += group.last - group.first + 1;
        yield group;
      }
    },
  };
  const stop = new AbortController();
  const background = openBackground({ logger: silentLogger });
  const logger = silentLogger;
  const options = { sessions: counted, options: defaultOptions, stopped: stop.signal, logger, background };
  const view = await openSessionViews(options).find(openCodeSessionId(id));
  stop.abort();
  expect(view?.now.sequence).toBe((await sessions.get(id, { limit: 0 })).lastSequence);
  // Nothing of a long conversation stays in memory but what came last.
  const messages = [...(view?.now.store.sessions.values() ?? [])].flatMap((one) => [...one.messages]);
  expect(messages.length).toBeLessThanOrEqual(2);
  return read;
}

test("a long session is read once; from then on opening it costs the same as a short one", async () => {
  const folder = temporaryFolder();
  const id = session("long");
  const first = await open(folder);
  await first.create(id, { agent: "mock", directory: folder });
  for (let round = 0; round < 3; round += 1) await turn(first, id, "flood 6000");
  expect(await eventsRead(first, id)).toBeGreaterThan(18_000);
  await first.close();
  const second = await open(folder);
  expect(await eventsRead(second, id)).toBeLessThan(2_000);
  await turn(second, id, "flood 6000");
  expect(await eventsRead(second, id)).toBeLessThan(8_000);
  expect(await eventsRead(second, id)).toBeLessThan(2_000);
  await second.close();
});
