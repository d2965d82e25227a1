/** Owners are killed, agents are stubborn: nobody is left behind, and who lives is not disturbed. */
import { rmSync } from "node:fs";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { processTable } from "../../src/runtime/agent/process-table.ts";
import type { Sessions } from "../../src/runtime/session/contract.ts";
import { guardsOf } from "../support/processes.ts";
import { bundleOwner, type OwnerProcess, startOwner } from "../support/run-owner.ts";
import { endOf, open, removeFolder, session, spoken, tempFolder, turn, until, wholeLog } from "../support/sessions.ts";

let bundle: string;
beforeAll(async () => {
  bundle = await bundleOwner();
});
afterAll(() => rmSync(bundle, { force: true }));

let folder: string;
let owner: OwnerProcess | null = null;
let sessions: Sessions | null = null;
beforeEach(() => {
  folder = tempFolder();
});
afterEach(async () => {
  await owner?.kill();
  await sessions?.close();
  owner = null;
  sessions = null;
  removeFolder(folder);
});

const id = session("victim");

async function start(): Promise<OwnerProcess> {
  const started = startOwner(bundle, folder);
  owner = started;
  await started.until(({ type }) => type === "ready");
  started.order({ type: "create", session: id, agent: "fake", directory: folder });
  await started.until(({ type }) => type === "created");
  return started;
}

const published = ({ reports }: OwnerProcess): number =>
  Math.max(0, ...reports.map((report) => (report.type === "published" && report.session === id ? report.last : 0)));

/** One that is dead but not yet collected by its new parent is dead. */
const isAlive = (pid: number): boolean => processTable.startOf(pid) !== null;

test("an open request is rejected, and an answer to it comes too late", async () => {
  const victim = await start();
  victim.order({ type: "prompt", session: id, text: "ask" });
  await victim.until((report) => report.type === "published" && report.last >= 7);
  await victim.kill();
  sessions = await open(folder);
  const log = await wholeLog(sessions, id);
  const asked = log.find(({ type }) => type === "permission.requested");
  expect(asked).toBeDefined();
  const resolved = log.find(({ type }) => type === "permission.resolved");
  expect(resolved).toMatchObject({ source: "daemon", data: { status: "reject" } });
  expect(endOf(log)).toEqual({ reason: "interrupted", evidence: "restart" });
  expect(await sessions.get(id)).toMatchObject({ status: "idle", pendingPermissions: [] });
  const late = sessions.replyPermission(id, `${id}:p1`, { reply: "once" });
  await expect(late).rejects.toMatchObject({ code: "already_answered" });
});

/** The fake agent tells the pids of its family as a warning. */
async function familyOf(reader: Sessions, text: string): Promise<number[]> {
  const { sequence } = await reader.prompt(id, { text });
  const told = await until(reader, id, { type: "error", after: sequence });
  const pids = told.data.message.split(" ").map(Number);
  expect(pids.every(isAlive)).toBe(true);
  return pids;
}

describe("a stubborn agent with a grandchild, and one that left the group", () => {
  test("are gone after an abort", async () => {
    sessions = await open(folder, { policy: { abortMs: 50 } });
    await sessions.create(id, { agent: "fake", directory: folder });
    const pids = await familyOf(sessions, "family");
    await sessions.abort(id, { clearQueue: false });
    const ended = await until(sessions, id, { type: "turn.ended" });
    expect(ended.data.reason).toBe("aborted");
    expect(pids.filter(isAlive)).toEqual([]);
    expect(spoken(await turn(sessions, id, "echo next"))).toBe("next");
  });

  test("are gone after terminate", async () => {
    sessions = await open(folder);
    await sessions.create(id, { agent: "fake", directory: folder });
    const pids = await familyOf(sessions, "family");
    await sessions.terminate(id);
    expect(pids.filter(isAlive)).toEqual([]);
  });

  test("are gone when Franca closes", async () => {
    sessions = await open(folder);
    await sessions.create(id, { agent: "fake", directory: folder });
    const pids = await familyOf(sessions, "family");
    await sessions.close();
    expect(pids.filter(isAlive)).toEqual([]);
  });

  test("are gone after their owner was killed without its guard's help and another one started", async () => {
    const victim = await start();
    victim.order({ type: "prompt", session: id, text: "family" });
    const reader = await open(folder, { role: "embedded" });
    const told = await until(reader, id, { type: "error" });
    const pids = told.data.message.split(" ").map(Number);
    await reader.close();
    const [guard] = guardsOf(victim.child.pid);
    if (guard === undefined) throw new Error("There is no guard.");
    process.kill(guard, "SIGSTOP");
    onTestFinished(() => void process.kill(guard, "SIGKILL"));
    await victim.kill();
    expect(pids.filter(isAlive)).toEqual(pids);
    sessions = await open(folder);
    expect(pids.filter(isAlive)).toEqual([]);
    expect(endOf(await wholeLog(sessions, id))).toEqual({ reason: "interrupted", evidence: "restart" });
  });

  test("what an agent leaves behind when it exits by itself goes with it", async () => {
    sessions = await open(folder);
    await sessions.create(id, { agent: "fake", directory: folder });
    const pids = await familyOf(sessions, "leave");
    const ended = await until(sessions, id, { type: "turn.ended" });
    expect(ended.data).toMatchObject({ evidence: "exit" });
    expect(pids.filter(isAlive)).toEqual([]);
  });
});

describe("two owners on one data folder", () => {
  test("each drives its own sessions; when one is killed the other is undisturbed and takes up what it left", async () => {
    const victim = await start();
    sessions = await open(folder, { role: "embedded" });
    const mine = session("mine");
    await sessions.create(mine, { agent: "fake", directory: folder });
    const refused = sessions.prompt(id, { text: "echo not mine" });
    await expect(refused).rejects.toMatchObject({ code: "session_owned" });
    victim.order({ type: "prompt", session: id, text: "flood 1000000" });
    const running = turn(sessions, mine, "flood 20000");
    const theirs = await until(sessions, id, { type: "item.delta" });
    expect(theirs.session_id).toBe(id);
    await victim.kill();
    const events = await running;
    expect(endOf(events)).toEqual({ reason: "completed", evidence: "signal" });
    expect(events.filter(({ type }) => type === "item.delta")).toHaveLength(20_000);
    expect(spoken(await turn(sessions, id, "echo mine now"))).toBe("mine now");
    const log = await wholeLog(sessions, id);
    expect(log.filter(({ type }) => type === "turn.ended")).toMatchObject([
      { data: { evidence: "restart" } },
      { data: { evidence: "signal" } },
    ]);
    expect(log.length).toBeGreaterThanOrEqual(published(victim));
  });
});
