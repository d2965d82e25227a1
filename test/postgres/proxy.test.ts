/** The hosts of deploy/compose.yaml behind its proxy: the same variables and the same configuration, no containers. */
import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { keys, variableOf } from "../../src/cli/config.ts";
import { connect } from "../../src/sdk/index.ts";
import { temporaryFolder } from "../support/folders.ts";
import { freePort } from "../support/free-port.ts";
import { databaseUrl, type Host, homeOf, killHost, startHost, TOKEN } from "../support/postgres-hosts.ts";
import { describeNeeding } from "../support/requires.ts";
import { root } from "../support/transcripts.ts";

const TIMEOUT_MS = 120_000;
const wait = { timeout: TIMEOUT_MS, interval: 50 };
const composed = readFileSync(join(root, "deploy", "compose.yaml"), "utf8");
const configured = readFileSync(join(root, "deploy", "nginx.conf"), "utf8");
const NAMES = ["one", "two", "three"];
const hasNginx = spawnSync("nginx", ["-v"], { stdio: "ignore" }).status === 0;

test("the compose file names settings that exist, and its proxy the hosts that it starts", () => {
  const known = keys.map(variableOf);
  const used = [...new Set(composed.match(/\bFRANCA_[A-Z_]+/g))];
  expect(used).toContain("FRANCA_DATABASE_URL_FILE");
  expect(used.filter((name) => !known.includes(name))).toEqual([]);
  expect([...configured.matchAll(/server (\w+):7717/g)].map(([, name]) => name)).toEqual(NAMES);
  for (const name of NAMES) expect(composed).toContain(`FRANCA_HOST_URL: "http://${name}:7717"`);
});

/** As the container's nginx includes it, with the addresses of these hosts. */
async function startProxy(hosts: readonly Host[]): Promise<string> {
  const folder = temporaryFolder();
  const port = await freePort();
  const server = hosts.reduce(
    (text, { url }, at) => text.replace(`server ${NAMES[at]}:7717`, `server ${new URL(url).host}`),
    configured.replace("listen 7717", `listen 127.0.0.1:${port}`),
  );
  mkdirSync(join(folder, "logs"));
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map((name) => `${name}_temp_path ${folder};`);
  const http = `http { access_log off; ${temporary.join(" ")} ${server} }`;
  const file = join(folder, "nginx.conf");
  writeFileSync(file, `daemon off; pid ${folder}/pid; error_log stderr; events {} ${http}`);
  const child = spawn("nginx", ["-p", folder, "-c", file], { stdio: "ignore" });
  onTestFinished(() => void child.kill("SIGTERM"));
  const url = `http://127.0.0.1:${port}`;
  const answers = (): Promise<boolean> =>
    fetch(`${url}/v1/health`).then(
      ({ ok }) => ok,
      () => false,
    );
  await expect.poll(answers, wait).toBe(true);
  return url;
}

describeNeeding("three hosts behind nginx", { missing: hasNginx ? null : "nginx was not found" }, () => {
  test("streams pass as they come, and a host that dies is not missed", { timeout: TIMEOUT_MS }, async () => {
    const database = await databaseUrl(temporaryFolder());
    const env = { FRANCA_TAKE_OVER: "true", FRANCA_LEASE_MS: "10000" };
    const hosts = await Promise.all(NAMES.map((name) => startHost(database, { home: homeOf(name), env })));
    const client = connect({ url: await startProxy(hosts), token: TOKEN });
    const directory = temporaryFolder();
    const session = await client.create({ id: "s", agent: "mock", directory, placement: "any" });
    // The turn waits for an answer: a proxy that gathers bytes would pass nothing on.
    for await (const event of session.ask("permission")) {
      if (event.type === "permission.requested") await session.replyPermission(event.data.permission_id, "once");
    }
    const owner = (await session.get()).placement?.host;
    const gone = hosts.find(({ home }) => home.endsWith(`/${owner}`));
    if (gone === undefined) throw new Error("One of the three has the session.");
    await killHost(gone);
    const run = async (): Promise<string> => session.run("echo still there").then(({ text }) => text, String);
    await expect.poll(run, wait).toBe("still there");
    expect((await session.get()).placement?.host).not.toBe(owner);
  });
});
