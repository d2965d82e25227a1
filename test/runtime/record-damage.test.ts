/** Stored settings, summaries, prompts and checkpoints change behind our back: nothing runs because of it. */
import { copyFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { UniversalEvent } from "../../src/protocol/events.ts";
import { text } from "../../src/runtime/log/rows.ts";
import { openDatabase, type Value } from "../../src/runtime/log/sqlite/database.ts";
import { LOG_FILE } from "../../src/runtime/log/sqlite/open.ts";
import type { Sessions } from "../../src/runtime/session/contract.ts";
import { franca } from "../support/daemon.ts";
import { temporaryFolder } from "../support/folders.ts";
import { open, removeFolder, session, spoken, tempFolder, turn, until, wholeLog } from "../support/sessions.ts";

const id = session("s");
let folder: string;
let sessions: Sessions | null = null;
beforeEach(() => {
  folder = tempFolder();
});
afterEach(async () => {
  await sessions?.close();
  sessions = null;
  removeFolder(folder);
});

function sql(statement: string, ...values: Value[]): string[] {
  const database = openDatabase(join(folder, LOG_FILE));
  try {
    return database
      .prepare(statement)
      .all(...values)
      .map((row) => text(row, "value"));
  } finally {
    database.close();
  }
}

async function start(): Promise<Sessions> {
  sessions = await open(folder);
  return sessions;
}

async function stop(): Promise<void> {
  await sessions?.close();
  sessions = null;
}

/** One turn, then a stop. */
async function oneTurn(): Promise<void> {
  const opened = await start();
  await opened.create(id, { agent: "fake", directory: folder, permissionMode: "default", env: { SECRET: "a" } });
  await turn(opened, id, "echo apple");
  await stop();
}

/** A prompt is acknowledged while a turn runs, and a copy of the files is what `kill -9` leaves. */
async function oneWaiting(): Promise<void> {
  const opened = await start();
  await opened.create(id, { agent: "fake", directory: tmpdir() });
  await opened.prompt(id, { text: "hang" });
  await until(opened, id, { type: "turn.started" });
  await opened.prompt(id, { text: "echo dangerous", idempotencyKey: "k" });
  const killed = tempFolder();
  for (const suffix of ["", "-wal", "-shm"]) {
    copyFileSync(join(folder, LOG_FILE + suffix), join(killed, LOG_FILE + suffix));
  }
  await stop();
  removeFolder(folder);
  folder = killed;
  // Its owner is dead.
  sql("UPDATE sessions SET owner_pid = 2147483647, owner_started = '' RETURNING id AS value");
}

const doctor = async (): Promise<string> =>
  (await franca(["doctor", "mock", "--data", folder], { home: temporaryFolder() })).stdout;

describe("settings", () => {
  test("a changed permission mode is reported, and nothing runs with it", async () => {
    await oneTurn();
    sql(`UPDATE sessions SET settings = replace(settings, '"default"', '"bypass"') RETURNING id AS value`);
    expect(await doctor()).toContain(`The stored settings of session ${id} are damaged`);
    const opened = await start();
    const detail = await opened.get(id);
    expect(detail.damaged).toMatch(/can be read and deleted/);
    expect(detail.permissionMode).toBe("default");
    expect((await opened.list()).sessions).toMatchObject([{ sessionId: id, damaged: detail.damaged }]);
    for (const refused of [
      opened.prompt(id, { text: "echo banana" }),
      opened.update(id, { permissionMode: "bypass" }),
      opened.fork(id, session("fork")),
      opened.compact(id),
    ]) {
      await expect(refused).rejects.toMatchObject({ code: "session_damaged" });
    }
    expect(spoken(await wholeLog(opened, id))).toBe("apple");
    await opened.delete(id);
    await expect(opened.get(id)).rejects.toMatchObject({ code: "session_not_found" });
  });

  test("settings that are no JSON any more leave the session readable", async () => {
    await oneTurn();
    sql("UPDATE sessions SET settings = '{' || settings RETURNING id AS value");
    const opened = await start();
    expect((await opened.get(id)).damaged).toBeDefined();
    expect(spoken(await wholeLog(opened, id))).toBe("apple");
    await expect(opened.prompt(id, { text: "echo banana" })).rejects.toMatchObject({ code: "session_damaged" });
  });

  test("an open turn ends, and prompts that wait do not run", async () => {
    await oneWaiting();
    sql(`UPDATE sessions SET settings = replace(settings, '"forkOf"', '"forkof"') RETURNING id AS value`);
    const opened = await start();
    const events = await wholeLog(opened, id);
    expect(events.at(-1)).toMatchObject({ type: "turn.ended", data: { reason: "interrupted", evidence: "restart" } });
    expect(events.filter(({ type }) => type === "turn.started")).toHaveLength(1);
  });

  test("settings that were stored before there were checksums are accepted", async () => {
    await oneTurn();
    sql("UPDATE sessions SET checksum = NULL, summary_checksum = NULL RETURNING id AS value");
    const opened = await start();
    expect(spoken(await turn(opened, id, "echo banana"))).toBe("banana");
    expect((await opened.get(id)).damaged).toBeUndefined();
  });
});

test.each(["replace(summary, 'idle', 'retrying')", "'{}'"])("a summary changed to %s is not served", async (change) => {
  await oneTurn();
  sql(`UPDATE sessions SET summary = ${change} RETURNING id AS value`);
  expect(await doctor()).toContain(`The summary of session ${id} is damaged`);
  const opened = await start();
  expect((await opened.list()).sessions).toMatchObject([{ sessionId: id, status: "idle", agent: "fake" }]);
  expect(spoken(await turn(opened, id, "echo banana"))).toBe("banana");
});

const errorsIn = (events: readonly UniversalEvent[]) =>
  events.flatMap(({ type, data }) => (type === "error" ? [data] : []));

describe("prompts", () => {
  test("a changed prompt is reported and does not run", async () => {
    await oneWaiting();
    sql(
      "UPDATE prompts SET body = replace(body, 'dangerous', 'DANGEROUS') WHERE status = 'queued' RETURNING id AS value",
    );
    expect(await doctor()).toMatch(/The stored prompt \S+ of session s is damaged/);
    const opened = await start();
    const error = await until(opened, id, { type: "error" });
    expect(error.data).toMatchObject({ code: "prompt_damaged", fatal: false });
    expect((await opened.get(id)).queue).toEqual([]);
    // Sent again with the same key it is still the prompt that did not run.
    await opened.prompt(id, { text: "echo dangerous", idempotencyKey: "k" });
    await turn(opened, id, "echo next");
    const events = await wholeLog(opened, id);
    expect(spoken(events)).toBe("next");
    expect(errorsIn(events)).toHaveLength(1);
    expect(sql("SELECT status AS value FROM prompts ORDER BY ordinal")).toEqual(["done", "dropped", "done"]);
  });

  test("a prompt that is no JSON any more does not run either", async () => {
    await oneWaiting();
    sql("UPDATE prompts SET body = '{' || body WHERE status = 'queued' RETURNING id AS value");
    const opened = await start();
    expect((await until(opened, id, { type: "error" })).data.code).toBe("prompt_damaged");
    expect(spoken(await turn(opened, id, "echo next"))).toBe("next");
  });
});

test("a changed checkpoint is rebuilt from the events", async () => {
  await oneTurn();
  const changed = sql(
    `UPDATE checkpoints SET state = replace(state, '"ended":false', '"ended":true') RETURNING state AS value`,
  );
  expect(changed.join("")).toContain('"ended":true');
  const opened = await start();
  expect((await opened.get(id)).ended).toBe(false);
  expect(spoken(await turn(opened, id, "echo banana"))).toBe("banana");
});

test("the settings and prompts of an untouched log are whole", async () => {
  await oneWaiting();
  expect(await doctor()).not.toContain("damaged");
});
