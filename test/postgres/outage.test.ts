/** A database that is away for longer than every timeout, or has no free connection: hosts live and continue. */
import { expect, onTestFinished, test } from "vitest";
import { openClient } from "../../src/runtime/log/postgres/client.ts";
import { temporaryFolder } from "../support/folders.ts";
import { administer, databaseOf, password, serverPort, startServer, stopServer, urlOf } from "../support/postgres.ts";
import { type Host, homeOf, startHost } from "../support/postgres-hosts.ts";

const OUTAGE_MS = 20_000;
const TIMEOUT_MS = 180_000;
const wait = { timeout: 60_000, interval: 100 };
const args = ["--lease-ms", "3000"];

/** A database with a role that is not an administrator's, so that its limit of connections holds. */
async function limitedDatabase(): Promise<{ readonly name: string; readonly role: string; readonly url: string }> {
  const name = await databaseOf(temporaryFolder());
  const role = `limited_${name}`;
  await administer(
    name,
    `CREATE ROLE ${role} LOGIN PASSWORD '${password()}'`,
    `CREATE SCHEMA franca AUTHORIZATION ${role}`,
  );
  return { name, role, url: `postgres://${role}:${password()}@127.0.0.1:${serverPort()}/${name}` };
}

interface Outage {
  readonly begin: () => Promise<void>;
  readonly end: () => Promise<void>;
}

async function outliveOutage(host: Host, { begin, end }: Outage): Promise<void> {
  const ended = new Promise<string>((resolve) => host.child.once("exit", (code) => resolve(`exit ${code}`)));
  const session = await host.client.create({ id: "s", agent: "mock", directory: temporaryFolder() });
  await session.run("echo before");
  await session.prompt("flood 2000000");
  await begin();
  const away = new Promise<string>((resolve) => setTimeout(() => resolve("alive"), OUTAGE_MS));
  const outcome = await Promise.race([away, ended]);
  await end();
  expect(`${outcome} ${outcome === "alive" ? "" : host.output().slice(-3_000)}`).toBe("alive ");
  const abort = (): Promise<boolean> =>
    session.abort().then(
      () => true,
      () => false,
    );
  await expect.poll(abort, wait).toBe(true);
  const run = (): Promise<string> => session.run("echo after").then(({ text }) => text, String);
  await expect.poll(run, wait).toBe("after");
}

test("a host outlives a database that is away for 20 s under load", { timeout: TIMEOUT_MS }, async () => {
  const url = urlOf(await databaseOf(temporaryFolder()));
  const host = await startHost(url, { home: homeOf("a"), args });
  await outliveOutage(host, { begin: async () => stopServer(), end: async () => startServer() });
});

test("a host outlives a database without a free connection", { timeout: TIMEOUT_MS }, async () => {
  const { name, role, url } = await limitedDatabase();
  const host = await startHost(url, { home: homeOf("a"), args });
  onTestFinished(async () => void (await administer(name, `ALTER ROLE ${role} CONNECTION LIMIT -1`)));
  await outliveOutage(host, {
    begin: async () => {
      await administer(
        name,
        `ALTER ROLE ${role} CONNECTION LIMIT 0`,
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '${role}'`,
      );
    },
    end: async () => void (await administer(name, `ALTER ROLE ${role} CONNECTION LIMIT -1`)),
  });
});

test("a transaction whose connection the server has ended is refused soon", async () => {
  const name = await databaseOf(temporaryFolder());
  const client = await openClient({ url: urlOf(name), host: "a" });
  onTestFinished(client.close);
  const cut = client.transaction(async ({ query }) => {
    const [{ pid } = {}] = await query("SELECT pg_backend_pid() AS pid");
    const alive = async (): Promise<number> =>
      (await administer(name, `SELECT 1 FROM pg_stat_activity WHERE pid = ${pid}`)).length;
    await administer(name, `SELECT pg_terminate_backend(${pid})`);
    await expect.poll(alive, wait).toBe(0);
    await query("SELECT 1");
  });
  // Not after the 40 s that a silent connection is waited for.
  await expect(cut).rejects.toThrow(/cannot be reached.*\((?!no answer in time)/);
  expect(await client.query("SELECT 1 AS one")).toEqual([{ one: 1 }]);
});
