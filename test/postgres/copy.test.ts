/** `franca store copy`: everything goes over and comes back, byte by byte, and a copy that was cut off is continued. */
import { join } from "node:path";
import { expect, test } from "vitest";
import { sessionId } from "../../src/protocol/ids.ts";
import { openSqliteLog } from "../../src/runtime/log/sqlite/open.ts";
import { franca } from "../support/daemon.ts";
import { temporaryFolder } from "../support/folders.ts";
import { create, entry } from "../support/log-contract.ts";
import { administer, databaseOf, password } from "../support/postgres.ts";
import { databaseUrl, homeOf, startHost } from "../support/postgres-hosts.ts";
import { open, turn, wholeLog } from "../support/sessions.ts";

const TIMEOUT_MS = 120_000;

async function filled(folder: string): Promise<void> {
  const sessions = await open(folder);
  for (const name of ["one", "two", "three's"]) {
    const id = sessionId(name);
    await sessions.create(id, { agent: "mock", directory: folder, title: "zero \0 and half \ud800" });
    await turn(sessions, id, "tool");
    await sessions.prompt(id, { text: "echo again", idempotencyKey: `key of ${name}` });
    await turn(sessions, id, "flood 300");
  }
  await sessions.close();
}

async function contents(folder: string): Promise<unknown[]> {
  const sessions = await open(folder);
  const all: unknown[] = [];
  for (const name of ["one", "two", "three's"]) {
    const id = sessionId(name);
    const again = await sessions.prompt(id, { text: "echo again", idempotencyKey: `key of ${name}` });
    const native = await sessions.native(id, { offset: 0, limit: 10_000 });
    all.push(await wholeLog(sessions, id), native, again.fresh, again.promptId);
  }
  await sessions.close();
  return all;
}

test("to Postgres and back: events, native lines and prompts are the same", { timeout: TIMEOUT_MS }, async () => {
  const home = temporaryFolder();
  const folder = join(home, "data");
  await filled(folder);
  const before = await contents(folder);
  const env = { FRANCA_DATABASE_URL: await databaseUrl(home) };
  const database = await databaseOf(home);
  const copy = (from: string, to: string) =>
    franca(["store", "copy", "--from", from, "--to", to, "--json"], { home, env });

  const over = await copy(`sqlite:${folder}`, "postgres:");
  expect([over.stderr, JSON.parse(over.stdout)]).toMatchObject(["", { copied: 3, present: 0, damaged: 0 }]);
  // A copy that was cut off leaves whole sessions only: those that are missing are copied.
  await administer(database, "DELETE FROM franca.sessions WHERE id = 'two'");
  expect(JSON.parse((await copy(`sqlite:${folder}`, "postgres:")).stdout)).toMatchObject({ copied: 1, present: 2 });

  const back = join(home, "back");
  expect(JSON.parse((await copy("postgres:", `sqlite:${back}`)).stdout)).toMatchObject({ copied: 3, damaged: 0 });
  expect(await contents(back)).toEqual(before);

  // One byte that is wrong is found.
  await administer(
    database,
    "UPDATE franca.native SET body = set_byte(body, 3, 64) WHERE key = (SELECT max(key) FROM franca.native)",
  );
  const wrong = await copy(`sqlite:${folder}`, "postgres:");
  expect(wrong.code).not.toBe(0);
  expect(wrong.stderr).toMatch(/another content: (one|two|three's)\./);
});

test("what was copied runs on the host of its folder", { timeout: TIMEOUT_MS }, async () => {
  const home = homeOf("one");
  const data = join(home, "share", "franca");
  const log = openSqliteLog({ folder: data, durability: "normal", version: "1" });
  await create(log, sessionId("empty"));
  await log.close();
  await filled(data);
  const env = { FRANCA_DATABASE_URL: await databaseUrl(temporaryFolder()) };
  const copied = await franca(["store", "copy", "--from", "sqlite:", "--to", "postgres:"], { home, env });
  expect(copied).toMatchObject({ code: 0, stdout: expect.stringMatching(/^4 copied/) });
  const host = await startHost(env.FRANCA_DATABASE_URL, { home });
  expect((await host.client.session("two").run("echo here")).text).toContain("here");
  const busy = await franca(["store", "copy", "--from", "postgres:", "--to", "sqlite:./export"], { home, env });
  expect(busy.code).not.toBe(0);
  expect(busy.stderr).toMatch(/stop all hosts/);
});

test("a password in the command line, and two stores of one kind, are refused", { timeout: TIMEOUT_MS }, async () => {
  const home = temporaryFolder();
  const url = await databaseUrl(home);
  for (const [from, to, reason] of [
    ["sqlite:", url, /password in the command line/],
    [url, "sqlite:./there", /password in the command line/],
    ["sqlite:", "postgres:", /needs FRANCA_DATABASE_URL/],
    ["sqlite:", "sqlite:./there", /one is sqlite:, the other postgres:/],
    ["sqlite:", `${url.replace("postgres:", "mysql:")}`, /password in the command line/],
    ["sqlite:", "somewhere", /A store is written/],
  ] as const) {
    const { code, stdout, stderr } = await franca(["store", "copy", "--from", from, "--to", to], { home });
    expect(code).not.toBe(0);
    expect(stderr).toMatch(reason);
    expect(stdout + stderr).not.toContain(password());
  }
});

test("which event completed an item is copied too", async () => {
  const folder = temporaryFolder();
  const log = openSqliteLog({ folder, durability: "normal", version: "1" });
  const id = sessionId("a");
  await create(log, id);
  await log.append(entry(id, 1, 3, { items: [{ number: 1, sequence: 2 }] }));
  await log.close();
  const home = temporaryFolder();
  const env = { FRANCA_DATABASE_URL: await databaseUrl(home) };
  await franca(["store", "copy", "--from", `sqlite:${folder}`, "--to", "postgres:"], { home, env });
  const rows = await administer(await databaseOf(home), "SELECT number, sequence FROM franca.items");
  expect(rows).toEqual([{ number: "1", sequence: "2" }]);
});
