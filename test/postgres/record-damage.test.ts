/** Stored settings, prompts and checkpoints change in the database: they are marked as damaged. */
import { expect, onTestFinished, test } from "vitest";
import { promptId } from "../../src/protocol/ids.ts";
import { openSessions } from "../../src/runtime/session/sessions.ts";
import { a, create, entry, me, settings } from "../support/log-contract.ts";
import { administer, databaseOf, openLog, urlOf } from "../support/postgres.ts";
import { removeFolder, runtimeOptions, session, tempFolder, turn } from "../support/sessions.ts";

async function opened() {
  const folder = tempFolder();
  const log = await openLog(folder);
  onTestFinished(async () => {
    await log.close();
    removeFolder(folder);
  });
  const change = async (statement: string) => administer(await databaseOf(folder), statement);
  return { folder, log, change };
}

const prompt = { prompt_id: promptId("p1"), text: "echo apple", attachments: [] };

test("settings, prompts and checkpoints that were changed are damaged", async () => {
  const { log, change } = await opened();
  await create(log, a);
  await log.append(entry(a, 1, 2, { checkpoint: { sequence: 2, state: '{"sequence":2}' } }));
  await log.addPrompt(a, { prompt, delivery: "queue", idempotencyKey: "k", sequence: 2 });
  expect((await log.find(a))?.settings).toEqual(settings);
  expect((await log.list({ before: null, limit: 1 })).records[0]?.summaryDamaged).toBeUndefined();
  expect((await log.queuedPrompts(a))[0]?.refusal).toBeUndefined();
  expect(await log.checkpoint(a)).not.toBeNull();
  await change("UPDATE franca.sessions SET settings = replace(settings, '\"/\"', '\"/x\"'), summary = '{}'");
  await change("UPDATE franca.prompts SET body = replace(body, 'apple', 'Apple')");
  await change("UPDATE franca.checkpoints SET state = replace(state, '2', '3')");
  expect(await log.find(a)).toMatchObject({ settings: { ...settings, damaged: true }, summaryDamaged: true });
  expect((await log.queuedPrompts(a))[0]?.refusal).toBe("damaged");
  expect(await log.checkpoint(a)).toBeNull();
  // A host that takes the session leaves the damage as it is.
  await log.claim(a, me, () => true);
  expect((await log.find(a))?.settings.damaged).toBe(true);
});

test("rows that were stored before there were checksums are accepted", async () => {
  const { log, change } = await opened();
  await create(log, a);
  await log.addPrompt(a, { prompt, delivery: "queue", idempotencyKey: "k", sequence: 0 });
  await change("UPDATE franca.sessions SET checksum = NULL, summary_checksum = NULL");
  await change("UPDATE franca.prompts SET checksum = NULL");
  expect((await log.find(a))?.settings).toEqual(settings);
  expect(await log.queuedPrompts(a)).toMatchObject([{ prompt, status: "queued" }]);
  expect((await log.queuedPrompts(a))[0]?.refusal).toBeUndefined();
});

test("nothing runs in a session with damaged settings", async () => {
  const folder = tempFolder();
  const url = urlOf(await databaseOf(folder));
  const id = session("s");
  const start = () =>
    openSessions(runtimeOptions(null, { store: { kind: "postgres", folder, url, token: "t", address: () => "" } }));
  const before = await start();
  await before.create(id, { agent: "fake", directory: folder });
  await turn(before, id, "echo apple");
  await before.close();
  await administer(await databaseOf(folder), "UPDATE franca.sessions SET settings = replace(settings, 'fake', 'Fake')");
  const after = await start();
  onTestFinished(async () => {
    await after.close();
    removeFolder(folder);
  });
  await expect(after.prompt(id, { text: "echo banana" })).rejects.toMatchObject({ code: "session_damaged" });
  expect((await after.get(id)).damaged).toBeDefined();
  await after.delete(id);
});
