/** What is kept: by age and by size, never a session that works, waits for a person or has been given a prompt. */
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { hasCode } from "../../src/protocol/errors.ts";
import { openDatabase } from "../../src/runtime/log/sqlite/database.ts";
import { LOG_FILE } from "../../src/runtime/log/sqlite/open.ts";
import { allSessions } from "../../src/runtime/session/every-session.ts";
import { startDaemon, type TestDaemon } from "../support/daemon.ts";
import { temporaryFolder } from "../support/folders.ts";
import { open, session, until } from "../support/sessions.ts";

const ids = async (daemon: TestDaemon): Promise<string[]> =>
  (await daemon.client.sessions()).map(({ sessionId }) => sessionId).sort();

test("only idle sessions are pruned, the oldest first", async () => {
  const sessions = await open(null);
  for (const id of ["first", "second", "third", "busy", "asks", "queued"]) {
    await sessions.create(session(id), { agent: "mock", directory: temporaryFolder() });
  }
  await sessions.prompt(session("busy"), { text: "hang" });
  await sessions.prompt(session("queued"), { text: "hang" });
  await sessions.prompt(session("queued"), { text: "echo later" });
  await sessions.prompt(session("asks"), { text: "permission" });
  await until(sessions, session("asks"), { type: "permission.requested" });
  expect(await sessions.prune({ olderThanMs: -1, limit: 2 })).toEqual(["first", "second"]);
  expect(await sessions.prune({ olderThanMs: -1 })).toEqual(["third"]);
  expect((await allSessions(sessions)).map(({ sessionId }) => sessionId).sort()).toEqual(["asks", "busy", "queued"]);
  await sessions.close();
});

test("a prompt that races with pruning runs, or is refused: never acknowledged and lost", async () => {
  const sessions = await open(null);
  for (let round = 0; round < 40; round += 1) {
    const id = session(`race-${round}`);
    await sessions.create(id, { agent: "mock", directory: temporaryFolder() });
    const late = async (): Promise<boolean> => {
      for (let turns = round % 8; turns > 0; turns -= 1) await Promise.resolve();
      return sessions.prompt(id, { text: "echo hi" }).then(
        () => true,
        (error: unknown) => {
          if (!hasCode(error, "session_ended", "session_not_found")) throw error;
          return false;
        },
      );
    };
    const [accepted, pruned] = await Promise.all([late(), sessions.prune({ olderThanMs: -1 })]);
    expect([accepted, pruned.includes(id)]).toEqual([accepted, !accepted]);
    if (accepted) await until(sessions, id, { type: "turn.ended" });
  }
  await sessions.close();
});

test("a daemon keeps sessions for so many days, and no more than so many bytes, of those not in use", async () => {
  const data = join(temporaryFolder(), "data");
  const first = await startDaemon({ store: "sqlite", data });
  for (const id of ["ancient", "old", "new"]) {
    const made = await first.client.create({ id, agent: "mock", directory: first.directory });
    for await (const event of made.ask("echo")) if (event.type === "turn.ended") break;
  }
  await first.close();
  const age = (id: string, days: number): void => {
    const database = openDatabase(join(data, LOG_FILE));
    const at = new Date(Date.now() - days * 86_400_000).toISOString();
    database.exec(`UPDATE sessions SET summary = json_set(summary, '$.updatedAt', '${at}') WHERE id = '${id}'`);
    database.close();
  };
  age("ancient", 60);
  age("old", 10);
  const second = await startDaemon({ store: "sqlite", data, keepDays: 30 });
  await vi.waitUntil(async () => !(await ids(second)).includes("ancient"), { timeout: 20_000, interval: 20 });
  expect(await ids(second)).toEqual(["new", "old"]);
  await second.close();
  const third = await startDaemon({ store: "sqlite", data, maxDisk: 1 });
  await vi.waitUntil(async () => !(await ids(third)).includes("old"), { timeout: 20_000, interval: 20 });
  // It is beyond the bound still, but somebody may be reading what was used just now.
  expect(await ids(third)).toEqual(["new"]);
});
