/** The daemon killed with SIGKILL, its receiver gone and back: every event arrives, in order, under one id. */
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { connect } from "../../src/sdk/index.ts";
import { franca, type ServedDaemon, serve } from "../support/daemon.ts";
import { temporaryFolder } from "../support/folders.ts";
import { openReceiver } from "../support/webhook-receiver.ts";

const TURNS = 4;

test("a killed daemon and a killed receiver: nothing is missed, and what comes twice has the same id", {
  timeout: 120_000,
}, async () => {
  const home = temporaryFolder();
  let slow: Promise<void> | null = null;
  const receiver = await openReceiver(async () => {
    await slow;
    return 204;
  });
  const folder = join(home, "config", "franca");
  mkdirSync(folder, { recursive: true });
  const hook = { url: receiver.url, events: ["turn.started", "turn.ended"] };
  writeFileSync(join(folder, "franca.config.json"), JSON.stringify({ webhooks: { test: hook } }));
  // What lies in the folder it is started in is not read.
  writeFileSync(join(home, "franca.config.json"), JSON.stringify({ webhooks: { foreign: hook } }));
  const start = (): Promise<ServedDaemon> => serve({ home, args: ["--port", "0", "--webhook-allow", "127.0.0.1"] });
  const kill = async ({ child }: ServedDaemon): Promise<void> => {
    const gone = once(child, "exit");
    child.kill("SIGKILL");
    await gone;
  };
  const turns = async (daemon: ServedDaemon, ids: readonly string[]): Promise<void> => {
    const client = connect({ url: daemon.url, token: daemon.token ?? "" });
    for (const id of ids) {
      const session = await client.create({ id, agent: "mock", directory: home });
      for (let turn = 0; turn < TURNS; turn += 1) await session.run("echo hello");
    }
  };

  // Killed while a delivery is under way: the receiver has it, the daemon does not know.
  let release = (): void => {};
  slow = new Promise((resolve) => {
    release = resolve;
  });
  let daemon = await start();
  await turns(daemon, ["one", "two"]);
  await receiver.until(() => receiver.ids().length === 2);
  await kill(daemon);
  release();
  slow = null;
  await receiver.close();

  // Nobody receives; killed again.
  daemon = await start();
  await turns(daemon, ["three"]);
  const listed = async () => JSON.parse((await franca(["webhooks", "list", "--json"], { home })).stdout).webhooks;
  await vi.waitUntil(async () => (await listed())[0].lastError !== null, { timeout: 30_000 });
  expect((await listed()).map(({ name }: { name: string }) => name)).toEqual(["test"]);
  await kill(daemon);

  await receiver.open();
  daemon = await start();
  await receiver.until(() => receiver.ids().length === 3 * 2 * TURNS);
  for (const session of ["one", "two", "three"]) {
    const own = receiver.ids().filter((id) => id.startsWith(`${session}:`));
    const sequences = own.map((id) => Number(id.split(":")[1]));
    expect(sequences).toHaveLength(2 * TURNS);
    expect(sequences).toEqual([...sequences].sort((a, b) => a - b));
  }
  const twice = receiver.received.filter(({ body }) => body.session_id === "one");
  expect(twice.length).toBeGreaterThan(2 * TURNS);
  for (const { body, headers } of twice) expect(headers["webhook-id"]).toBe(body.id);

  // Inside an agent's session the command is refused.
  const inside = await franca(["webhooks", "add", "mine", "https://x.example/"], {
    home,
    env: { FRANCA_SESSION_ID: "one" },
  });
  expect(inside).toMatchObject({ code: 1, stderr: expect.stringContaining("inside the agent session") });
  await kill(daemon);
});
