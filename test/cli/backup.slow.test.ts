/** Backup while agents work, restore, and the check of what is stored: what is refused, found and repaired. */
import { mkdirSync, readFileSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { sessionId } from "../../src/protocol/ids.ts";
import { openDatabase } from "../../src/runtime/log/sqlite/database.ts";
import { LOG_FILE } from "../../src/runtime/log/sqlite/open.ts";
import { franca, type Ran, startDaemon, type TestDaemon } from "../support/daemon.ts";
import { temporaryFolder } from "../support/folders.ts";
import { open, wholeLog } from "../support/sessions.ts";

const data = (): string => join(temporaryFolder(), "data");
const command = (...args: string[]): Promise<Ran> => franca(args, { home: temporaryFolder() });

async function filled(folder: string): Promise<TestDaemon> {
  const daemon = await startDaemon({ store: "sqlite", data: folder });
  const session = await daemon.client.create({ id: "plain", agent: "mock", directory: daemon.directory });
  for (const prompt of ["tool", "echo banana"]) {
    for await (const event of session.ask(prompt)) if (event.type === "turn.ended") break;
  }
  await session.prompt("echo", { attachments: [{ data: "aGVsbG8=", mime: "text/plain", filename: "a.txt" }] });
  await expect.poll(session.status).toBe("idle");
  return daemon;
}

/** A backup of a folder whose daemon has ended, and the events that were in it. */
async function made(): Promise<{ file: string; folder: string; lines: string }> {
  const folder = data();
  const daemon = await filled(folder);
  await daemon.close();
  const file = join(temporaryFolder(), "backup");
  expect(await command("backup", file, "--data", folder)).toMatchObject({ code: 0, stderr: "" });
  return { file, folder, lines: await linesIn(folder) };
}

async function linesIn(folder: string): Promise<string> {
  const sessions = await open(folder);
  try {
    return JSON.stringify(await wholeLog(sessions, sessionId("plain")));
  } finally {
    await sessions.close();
  }
}

function change(folder: string, sql: string): void {
  const database = openDatabase(join(folder, LOG_FILE));
  database.exec(sql);
  database.close();
}

test("a backup is taken while agents work, restored elsewhere, and the sessions go on", async () => {
  const folder = data();
  const daemon = await filled(folder);
  const busy = await daemon.client.create({ id: "busy", agent: "mock", directory: daemon.directory });
  await busy.prompt("hang");
  const flooded = await daemon.client.create({ id: "flooded", agent: "mock", directory: daemon.directory });
  await flooded.prompt("flood 100000");
  const file = join(temporaryFolder(), "franca.backup");
  const taken = await command("backup", file, "--data", folder, "--json");
  expect([taken.code, taken.stderr]).toEqual([0, ""]);
  expect(JSON.parse(taken.stdout)).toMatchObject({ file, sessions: 3, files: 1 });
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const again = await command("backup", file, "--data", folder);
  expect([again.code, again.stderr]).toEqual([1, expect.stringContaining("exists already")]);

  const elsewhere = data();
  const restored = await command("restore", file, "--data", elsewhere);
  expect([restored.code, restored.stderr]).toEqual([0, ""]);
  expect(statSync(join(elsewhere, LOG_FILE)).mode & 0o777).toBe(0o600);
  expect((await command("doctor", "--storage", "--data", elsewhere)).stdout).toBe("storage: all is well\n");
  const second = await startDaemon({ store: "sqlite", data: elsewhere });
  const { events } = await second.client.session("plain").listEvents({ limit: 10_000 });
  expect(events).toEqual((await daemon.client.session("plain").listEvents({ limit: 10_000 })).events);
  const cut = (await second.client.session("busy").listEvents({ limit: 10_000 })).events.at(0);
  expect(cut?.type).toBe("session.started");
  // The turn that was cut ended at the restart, although its first owner lives on.
  for await (const event of second.client.session("busy").events()) {
    if (event.type === "turn.ended") {
      expect([event.data.reason, event.data.evidence]).toEqual(["interrupted", "restart"]);
      break;
    }
  }
  const { text } = await second.client.session("plain").run("echo it goes on");
  expect(text).toContain("it goes on");
}, 120_000);

test("restore refuses an existing log, a running daemon, and what is no backup; --force keeps the former log", async () => {
  const { file, folder, lines } = await made();
  const inPlace = await command("restore", file, "--data", folder);
  expect([inPlace.code, inPlace.stderr]).toEqual([1, expect.stringContaining("--force")]);
  const forced = await command("restore", file, "--data", folder, "--force", "--json");
  expect(forced.code).toBe(0);
  const { kept } = JSON.parse(forced.stdout);
  expect(statSync(kept).size).toBeGreaterThan(0);
  expect(await linesIn(folder)).toBe(lines);

  const running = await startDaemon({ store: "sqlite", data: folder });
  const held = await command("restore", file, "--data", folder, "--force");
  expect([held.code, held.stderr]).toEqual([1, expect.stringContaining("daemon runs on")]);
  await running.close();

  const bare = await command("restore", join(folder, LOG_FILE), "--data", data());
  expect([bare.code, bare.stderr]).toEqual([1, expect.stringContaining("no backup")]);
  const words = join(temporaryFolder(), "words");
  writeFileSync(words, "not a database at all, but long enough to be looked at".repeat(100));
  const foreign = await command("restore", words, "--data", data());
  expect([foreign.code, foreign.stderr]).toEqual([1, expect.stringMatching(/damaged or is no Franca log/)]);
  const missing = await command("restore", join(folder, "none"), "--data", data());
  expect([missing.code, missing.stderr]).toEqual([2, expect.stringContaining("does not exist")]);
}, 120_000);

test("a damaged, shortened, newer or hostile backup is refused, and nothing is restored", async () => {
  const { file } = await made();
  const bytes = readFileSync(file);
  const folder = data();
  const refusal = async (what: string): Promise<string> => {
    const { code, stderr } = await command("restore", join(folder, "..", "bad"), "--data", folder);
    expect([what, code]).toEqual([what, 1]);
    expect(() => statSync(join(folder, LOG_FILE))).toThrow();
    return stderr;
  };
  const bad = join(folder, "..", "bad");
  // Everywhere: SQLite leaves copies in parts of pages that it does not use.
  const flipped = bytes.toString("latin1").replaceAll("banana", "canana");
  expect(flipped).toContain("canana");
  writeFileSync(bad, flipped, "latin1");
  expect(await refusal("flipped")).toContain("Nothing was restored");
  writeFileSync(bad, bytes);
  truncateSync(bad, bytes.length / 2);
  expect(await refusal("shortened")).toMatch(/damaged|malformed/);
  const altered = (sql: string): void => {
    writeFileSync(bad, bytes);
    const database = openDatabase(bad);
    database.exec(sql);
    database.close();
  };
  altered("PRAGMA user_version = 99");
  expect(await refusal("newer")).toContain("newer Franca (schema 99)");
  altered("DELETE FROM prompts");
  expect(await refusal("a table emptied")).toContain("prompts");
  // A path that leads out of the folder, with a digest that fits it.
  altered("UPDATE backup_files SET path = '../../evil'");
  expect(await refusal("hostile")).toMatch(/path|not as it was written/);
}, 120_000);

test("doctor finds gaps, orphans and checkpoints ahead, and repairs what can be repaired", async () => {
  const { folder, lines } = await made();
  change(
    folder,
    `INSERT INTO items VALUES (4242, 1, 1);
     INSERT INTO prompts (session, id, body, delivery, status, sequence) VALUES (4242, 'p', '{}', 'queue', 'queued', 0);
     UPDATE checkpoints SET sequence = 99999;`,
  );
  mkdirSync(join(folder, "attachments", "gone-0123"), { recursive: true });
  const seen = await command("doctor", "--storage", "--data", folder, "--json");
  expect(seen.code).toBe(1);
  const kinds = JSON.parse(seen.stdout).storage.map(({ kind }: { kind: string }) => kind);
  expect(kinds.sort()).toEqual(["attachments", "checkpoint", "orphans"]);

  const running = await startDaemon({ store: "sqlite", data: folder });
  const held = await command("doctor", "--storage", "--data", folder, "--yes");
  expect([held.code, held.stderr]).toEqual([1, expect.stringContaining("daemon runs on")]);
  await running.close();

  const repaired = await command("doctor", "--storage", "--data", folder, "--yes");
  expect([repaired.code, repaired.stdout]).toEqual([0, "storage: all is well\n"]);
  expect(repaired.stderr).toContain("repaired");
  expect(await linesIn(folder)).toBe(lines);

  // A gap cannot be filled: it is named, and stays an error.
  change(folder, "DELETE FROM groups WHERE position = (SELECT min(position) + 1 FROM groups)");
  const gap = await command("doctor", "--storage", "--data", folder, "--yes");
  expect([gap.code, gap.stdout]).toEqual([
    1,
    expect.stringMatching(/Session plain: its events \d+ to \d+ are missing/),
  ]);
  const both = await command("doctor", "mock", "--storage");
  expect([both.code, both.stderr]).toEqual([2, expect.stringContaining("Agents are not tried")]);
}, 120_000);

test("a log that somebody works on is not replaced", async () => {
  const { file, folder } = await made();
  const sessions = await open(folder);
  onTestFinished(() => sessions.close());
  await sessions.prompt(sessionId("plain"), { text: "hang" });
  const refused = await command("restore", file, "--data", folder, "--force");
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("Franca works on")]);
});
