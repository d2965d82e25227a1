/** Attacks on the log through Postgres: secrets in errors, statements in ids, foreign and newer schemas. */
import { inspect } from "node:util";
import { afterEach, beforeEach, expect, test } from "vitest";
import { ApiError } from "../../src/protocol/errors.ts";
import { sessionId } from "../../src/protocol/ids.ts";
import { openPostgresLog } from "../../src/runtime/log/postgres/open.ts";
import { silentLogger } from "../../src/runtime/logger.ts";
import { create, entry, spans } from "../support/log-contract.ts";
import { administer, databaseOf, openLog, password, serverPort, urlOf } from "../support/postgres.ts";
import { removeFolder, tempFolder } from "../support/sessions.ts";

let folder: string;
beforeEach(() => {
  folder = tempFolder();
});
afterEach(() => removeFolder(folder));

const everything = { after: 0, maxBytes: 1e6 };
const options = { version: "1", host: "one", token: "of all hosts", logger: silentLogger };

async function refusal(url: string): Promise<ApiError> {
  const error: unknown = await openPostgresLog({ ...options, url }).then(
    () => null,
    (reason: unknown) => reason,
  );
  if (error instanceof ApiError) return error;
  throw new Error(`Expected a refusal, not ${inspect(error)}.`);
}

/** All that a logger or a person could see of it. */
const shown = (error: unknown): string => inspect(error, { depth: 9, showHidden: true, compact: true });

test("no error shows the password or the address with it", async () => {
  const secret = "pa55-word%2Fof+mine";
  const at = `127.0.0.1:${serverPort()}/postgres`;
  const urls = [
    `postgres://franca:${secret}@${at}`,
    `postgres://franca:${secret}@127.0.0.1:1/postgres`,
    `postgres://franca:${secret}@${at}?target_session_attrs=nonsense`,
    `postgres://franca:${secret}@[bad/postgres`,
    urlOf("no_such_database"),
  ];
  for (const url of urls) {
    const error = await refusal(url);
    expect(error.code).toBe("storage_error");
    for (const hidden of [secret, decodeURIComponent(secret), password()]) expect(shown(error)).not.toContain(hidden);
  }
  expect((await refusal(urls[0] ?? "")).message).toMatch(/refuses the user or the password/);
  expect((await refusal(urls[4] ?? "")).message).toMatch(/does not exist/);
});

test("an error of a statement does not carry what was to be stored", async () => {
  const log = await openLog(folder);
  const id = sessionId("a");
  await create(log, id);
  await administer(await databaseOf(folder), "ALTER TABLE franca.groups ADD CHECK (first <> 1)");
  const secret = "what the person said";
  const given = entry(id, 1, 1);
  const error: unknown = await log
    .append({ ...given, summary: { ...given.summary, title: secret } })
    .catch((reason: unknown) => reason);
  expect(error).toMatchObject({ code: "storage_error" });
  expect(shown(error)).not.toContain(secret);
  await log.close();
});

test("an id, a key or a search that looks like SQL is only a text", async () => {
  const log = await openLog(folder);
  const ids = ["'; DROP TABLE franca.sessions; --", '"; $1 $2 ? ?', "$$ \\ %_", "\ud800 half", "emoji 🙂"].map(
    sessionId,
  );
  for (const id of ids) {
    await create(log, id);
    await log.append(entry(id, 1, 2));
    expect(spans(await log.read(id, everything))).toEqual([[1, 2]]);
    expect((await log.list({ before: null, limit: 10, q: id })).records).toHaveLength(1);
    for (const filter of [{ agent: id }, { directory: id }, { q: `${id}?` }]) {
      expect((await log.list({ before: null, limit: 10, ...filter })).records).toEqual([]);
    }
  }
  expect((await log.list({ before: null, limit: 10 })).records).toHaveLength(ids.length);
  for (const read of [log.find(sessionId("\0")), log.list({ before: null, limit: 1, q: "\0" })]) {
    await expect(read).rejects.toMatchObject({ code: "invalid_request" });
  }
  const [first] = ids;
  if (first === undefined) throw new Error("There is an id.");
  const given = entry(first, 3, 3);
  await log.append({ ...given, summary: { ...given.summary, title: "zero \0 byte \ud800" } });
  expect((await log.find(first))?.summary.title).toBe("zero \0 byte \ud800");
  expect((await log.list({ before: null, limit: 10, q: "zero " })).records).toHaveLength(1);
  await log.close();
});

test("a schema of another program, and one of a newer Franca, are left alone", async () => {
  const database = await databaseOf(folder);
  await administer(database, "CREATE SCHEMA franca", "CREATE TABLE franca.notes (text text)");
  expect((await refusal(urlOf(database))).message).toMatch(/schema franca of another program/);
  await administer(database, "DROP TABLE franca.notes");
  await (await openLog(folder)).close();
  await administer(database, "UPDATE franca.version SET version = 999");
  expect((await refusal(urlOf(database))).message).toMatch(/newer Franca/);
});

test("a role that owns nothing but the schema is enough", async () => {
  const database = await databaseOf(folder);
  const role = `least_${database}`;
  await administer(
    database,
    `CREATE ROLE ${role} LOGIN PASSWORD 'least-privilege'`,
    `CREATE SCHEMA franca AUTHORIZATION ${role}`,
  );
  const url = `postgres://${role}:least-privilege@127.0.0.1:${serverPort()}/${database}`;
  const log = await openPostgresLog({ ...options, url });
  const id = sessionId("a");
  await create(log, id);
  await log.append(entry(id, 1, 1));
  expect(spans(await log.read(id, everything))).toEqual([[1, 1]]);
  await log.close();
});

test("damage is reported and shown as such, and the rest can be read", async () => {
  const log = await openLog(folder);
  const id = sessionId("a");
  await create(log, id);
  for (const first of [1, 3, 5]) await log.append(entry(id, first, first + 1));
  await administer(await databaseOf(folder), "UPDATE franca.groups SET body = 'x' WHERE first = 3");
  const found = [];
  for await (const damage of log.verify()) found.push(damage);
  expect(found).toEqual([{ session: id, kind: "events", first: 3, last: 4 }]);
  const events = (await log.read(id, everything)).flatMap((group) => group.events());
  expect(events.map(({ sequence }) => sequence)).toEqual([1, 2, 4, 5, 6]);
  await log.close();
});
