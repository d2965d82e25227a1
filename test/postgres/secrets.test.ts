/** Secrets of sessions are in no table: they are planted, and looked for in everything that the database holds. */
import { createHash } from "node:crypto";
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { sessionId } from "../../src/protocol/ids.ts";
import { ownProcess } from "../../src/runtime/agent/process-table.ts";
import { openSqliteLog } from "../../src/runtime/log/sqlite/open.ts";
import { franca, startDaemon, type TestDaemon } from "../support/daemon.ts";
import { temporaryFolder } from "../support/folders.ts";
import { summaryAt } from "../support/log-contract.ts";
import { administer, databaseOf, openLog, urlOf } from "../support/postgres.ts";
import { databaseUrl, homeOf, killHost, startHost, TOKEN } from "../support/postgres-hosts.ts";

const TIMEOUT_MS = 120_000;
const wait = { timeout: TIMEOUT_MS, interval: 50 };

const SECRETS = {
  env: "planted-in-env-1",
  short: "pin-77",
  serverEnv: "planted-in-server-env-2",
  header: "planted-in-header-3",
  address: "planted-in-address-4",
  argument: "planted-in-argument-5",
} as const;

const mcp = {
  local: {
    command: "server",
    args: ["--upstream", `https://user:${SECRETS.argument}@example.org/`],
    env: { SERVER_TOKEN: SECRETS.serverEnv, VERBOSE: "1" },
  },
  remote: {
    url: `https://example.org/mcp?api_key=${SECRETS.address}`,
    headers: { Authorization: `Bearer ${SECRETS.header}` },
  },
};

/** Every row of every table as text; binary columns as they are and as hexadecimal digits. */
async function dump(database: string): Promise<string> {
  const tables = await administer(database, "SELECT tablename FROM pg_tables WHERE schemaname = 'franca'");
  const rows: string[] = [];
  for (const table of tables) {
    const name = "tablename" in table ? String(table.tablename) : "";
    for (const row of await administer(database, `SELECT one.*, one::text AS whole FROM franca.${name} AS one`)) {
      rows.push(...Object.values(row).map((value) => (Buffer.isBuffer(value) ? value.toString("latin1") : `${value}`)));
    }
  }
  return rows.join("\n");
}

function found(text: string): string[] {
  const forms = (secret: string): string[] => [secret, Buffer.from(secret).toString("hex")];
  return Object.values(SECRETS).filter((secret) => forms(secret).some((form) => text.includes(form)));
}

/** Commands pass the database and leave it again: what they carried is kept for the search. */
const keepCommands = (database: string) =>
  administer(
    database,
    "CREATE TABLE public.kept (body text)",
    `CREATE FUNCTION public.keep() RETURNS trigger LANGUAGE plpgsql AS
     $$ BEGIN INSERT INTO public.kept VALUES (NEW::text); RETURN NEW; END $$`,
    `CREATE TRIGGER keep AFTER INSERT OR UPDATE ON franca.commands FOR EACH ROW EXECUTE FUNCTION public.keep()`,
    `CREATE TRIGGER keep AFTER INSERT OR UPDATE ON franca.sessions FOR EACH ROW EXECUTE FUNCTION public.keep()`,
  );

async function openPair(): Promise<{ database: string; one: TestDaemon; two: TestDaemon; hostTwo: string }> {
  const database = await databaseOf(temporaryFolder());
  const start = () =>
    startDaemon({
      store: "postgres",
      databaseUrl: urlOf(database),
      token: TOKEN,
      data: join(temporaryFolder(), "data"),
      leaseMs: 3_000,
      label: ["gpu"],
    });
  const [one, two] = [await start(), await start()];
  const headers = { authorization: `Bearer ${TOKEN}` };
  const { hosts } = JSON.parse(await (await fetch(`${two.url}/v1/hosts`, { headers })).text());
  const hostTwo = hosts.find(({ self }: { self: boolean }) => self).id;
  await keepCommands(database);
  return { database, one, two, hostTwo };
}

test("what sessions are created with is in no table, and still there for their agents", {
  timeout: TIMEOUT_MS,
}, async () => {
  const { database, one, two, hostTwo } = await openPair();
  const { directory } = one;
  const env = { API_TOKEN: SECRETS.env, PIN: SECRETS.short, CI: "true" };
  const session = await one.client.create({ id: "s", agent: "mock", directory, env });
  await session.run("echo hello");
  await session.update({ title: "another" });
  await session.fork();
  await two.client.session("s").update({ title: "from elsewhere" });
  await one.client.create({ id: "servers", agent: "builtin", directory, mcp });
  await one.client.session("servers").update({ title: "another" });
  // Placed: on the host that was asked where it fits, else refused, with the host that it must be created on.
  await one.client.create({ id: "placed", agent: "mock", directory, env, placement: "any" });
  const there = one.client.create({ id: "there", agent: "mock", directory, env, placement: `host:${hostTwo}` });
  await expect(there).rejects.toMatchObject({ code: "host_unavailable", message: expect.stringContaining(two.url) });
  const nobody = one.client.create({ id: "nobody", agent: "mock", directory, env, placement: "label:none" });
  await expect(nobody).rejects.toMatchObject({ code: "host_unavailable" });
  // Moved: only to a host that has the variables.
  const headers = { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" };
  const move = { method: "POST", headers, body: JSON.stringify({ host: hostTwo }) };
  const moved = await fetch(`${one.url}/v1/sessions/s/move`, move);
  expect([moved.status, await moved.text()]).toEqual([409, expect.stringContaining("API_TOKEN, PIN")]);

  const kept = JSON.stringify(await administer(database, "SELECT body FROM public.kept"));
  expect(kept).toContain("from elsewhere");
  expect(found(kept + (await dump(database)))).toEqual([]);
  // Switches are no secrets.
  const [stored] = await administer(database, "SELECT settings FROM franca.sessions WHERE id = 's'");
  expect(stored).toMatchObject({ settings: expect.stringContaining('"CI":"true"') });
});

/** In the place of Amp: it says the digest of a variable, and ends unless it shall wait. */
const AGENT = `#!${process.execPath}
if (process.argv.includes("--version")) { console.log("0.0.1"); process.exit(0); }
const line = (value) => process.stdout.write(JSON.stringify(value) + "\\n");
const digest = require("node:crypto").createHash("sha256").update(process.env.API_TOKEN ?? "").digest("hex");
line({ type: "system", subtype: "init", cwd: process.cwd(), session_id: "T-1", tools: [], mcp_servers: [] });
const message = { type: "message", role: "assistant", content: [{ type: "text", text: digest }], stop_reason: "end_turn" };
line({ type: "assistant", message, parent_tool_use_id: null, session_id: "T-1" });
if (require("node:fs").existsSync("wait")) setInterval(() => {}, 1000);
else line({ type: "result", subtype: "success", is_error: false, result: digest, session_id: "T-1", num_turns: 1, duration_ms: 1 });
`;

function installAgent(home: string): Record<string, string> {
  mkdirSync(join(home, "bin"));
  writeFileSync(join(home, "bin", "amp"), AGENT);
  chmodSync(join(home, "bin", "amp"), 0o755);
  mkdirSync(join(home, "config", "franca"), { recursive: true });
  writeFileSync(join(home, "config", "franca", "franca.config.json"), JSON.stringify({ trustedFolders: ["/"] }));
  return { PATH: `${join(home, "bin")}:${process.env.PATH}`, AMP_API_KEY: "none" };
}

const digestOf = (value: string): string => createHash("sha256").update(value).digest("hex");

test("after a restart the host has the values; one that takes over uses its own, or names what is missing", {
  timeout: TIMEOUT_MS,
}, async () => {
  const url = await databaseUrl(temporaryFolder());
  const [homeOne, homeTwo] = [homeOf("one"), homeOf("two")];
  // So long that a busy machine does not lose it.
  const args = ["--lease-ms", "10000", "--take-over"];
  const env = { one: installAgent(homeOne), two: installAgent(homeTwo) };
  let one = await startHost(url, { home: homeOne, args, env: env.one });
  const directory = temporaryFolder();
  const secret = { API_TOKEN: SECRETS.env };
  const session = await one.client.create({ id: "s", agent: "amp", directory, env: secret });
  expect((await session.run("go")).text).toContain(digestOf(SECRETS.env));
  await killHost(one);
  one = await startHost(url, { home: homeOne, args, env: env.one });
  expect((await one.client.session("s").run("again")).text).toContain(digestOf(SECRETS.env));
  const folder = join(homeOne, "share", "franca", "secrets");
  const files = readdirSync(folder).map((name) => join(folder, name));
  expect(files.map((file) => statSync(file).mode & 0o777)).toEqual([0o600]);
  expect(readFileSync(files[0] ?? "", "utf8")).toContain(SECRETS.env);

  // A turn runs and a prompt waits behind it when the host dies.
  writeFileSync(join(directory, "wait"), "");
  await one.client.session("s").prompt("wait");
  await expect.poll(async () => (await one.client.session("s").get()).status, wait).toBe("running");
  await one.client.session("s").prompt("behind it");
  let two = await startHost(url, { home: homeTwo, args, env: env.two });
  await killHost(one);
  const there = () => two.client.session("s");
  const says = expect.stringContaining("API_TOKEN");
  await expect
    .poll(async () => (await there().get()).placement, wait)
    .toMatchObject({ host: "two", missing: ["API_TOKEN"] });
  await expect(there().prompt("next")).rejects.toMatchObject({ code: "key_missing", message: says });
  await expect.poll(async () => (await there().get()).lastEnd, wait).toMatchObject({ reason: "error", message: says });
  const { events } = await there().listEvents({ limit: 1_000 });
  const placements = events.flatMap((event) => (event.type === "session.updated" ? [event.data.placement] : []));
  expect(placements).toContainEqual({ wanted: null, host: "two", waiting: says, missing: ["API_TOKEN"] });
  await killHost(two);
  const other = "the value of the other host";
  two = await startHost(url, { home: homeTwo, args, env: { ...env.two, API_TOKEN: other } });
  await expect
    .poll(async () => (await there().get()).placement, wait)
    .toEqual({ wanted: null, host: "two", waiting: null });
  writeFileSync(join(directory, "wait"), "");
  await there().prompt("still there");
  await expect.poll(async () => JSON.stringify((await there().get()).items), wait).toContain(digestOf(other));
  await there().abort();
  await there().delete();
  // The first host forgets what it has stored for a session that another one has deleted.
  one = await startHost(url, { home: homeOne, args, env: env.one });
  expect(existsSync(files[0] ?? "")).toBe(false);
});

test("`franca store copy` puts secrets into no table, and the host of the folder has them", {
  timeout: TIMEOUT_MS,
}, async () => {
  const home = homeOf("one");
  const data = join(home, "share", "franca");
  const log = openSqliteLog({ folder: data, durability: "normal", version: "1" });
  const id = sessionId("s");
  const settings = { create: { agent: "amp", directory: home, env: { API_TOKEN: SECRETS.env }, mcp }, forkOf: null };
  await log.create({ id, settings, summary: summaryAt(id, 0) }, ownProcess());
  await log.close();
  const folder = temporaryFolder();
  const env = { FRANCA_DATABASE_URL: await databaseUrl(folder) };
  const copy = (from: string, to: string) => franca(["store", "copy", "--from", from, "--to", to], { home, env });
  expect(await copy("sqlite:", "postgres:")).toMatchObject({ code: 0, stdout: expect.stringContaining("1 copied") });
  expect(await copy("sqlite:", "postgres:")).toMatchObject({ stdout: expect.stringContaining("1 there already") });
  const dumped = await dump(await databaseOf(folder));
  expect(dumped).toContain("FRANCA_MCP_REMOTE_AUTHORIZATION");
  expect(found(dumped)).toEqual([]);
  const back = join(home, "back");
  expect(await copy("postgres:", `sqlite:${back}`)).toMatchObject({ code: 0 });
  const copied = openSqliteLog({ folder: back, durability: "normal", version: "1" });
  expect((await copied.find(id))?.settings.missing).toContain("API_TOKEN");
  await copied.close();
  const shared = await openLog(folder, { host: "one", folder: data });
  expect((await shared.find(id))?.settings.create).toMatchObject({ env: { API_TOKEN: SECRETS.env }, mcp });
  await shared.close();
});
