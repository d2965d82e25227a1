/** `franca opencode`: what the program that it starts is given, and for how long. That program is a script here. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { franca, program, serve, testEnvironment } from "../support/daemon.ts";
import { temporaryFolder } from "../support/folders.ts";

interface Started {
  readonly env: Readonly<Record<string, string>>;
  readonly args: readonly string[];
  readonly answers: Readonly<Record<string, number>>;
}

/** Tries what a plugin would try with the password that it finds, writes down what it got, and ends. */
const PROGRAM = `#!${process.execPath}
import { writeFileSync } from "node:fs";
const [, , command, api, , directory] = process.argv;
if (command === "--version") { console.log("1.18.33"); process.exit(0); }
const { origin } = new URL(api);
const headers = { authorization: "Bearer " + process.env.OPENCODE_SERVER_PASSWORD };
const answers = {};
const send = async (operation, body) => {
  const [method, path] = operation.split(" ");
  const options = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
  answers[operation] = (await fetch(path.startsWith("/v1") ? origin + path : api + path, options)).status;
};
await send("GET /session");
await send("POST /session", {});
await send("GET /file?path=.");
await send("GET /file?path=.&directory=/");
await send("PATCH /config", {});
await send("GET /v1/sessions");
await send("POST /v1/trust", { directory });
await send("POST /v1/tokens", { surface: "v1", folders: ["/"], actions: ["read"], ttlMs: 1000 });
writeFileSync(process.env.HOME + "/started.json", JSON.stringify({ env: process.env, args: process.argv.slice(2), answers }));
if (process.env.STAY) setInterval(() => {}, 1000);
`;

function makeHome(): {
  readonly home: string;
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
} {
  const home = temporaryFolder();
  const [bin, folder] = [join(home, "bin"), join(home, "project")];
  for (const one of [bin, folder]) mkdirSync(one);
  writeFileSync(join(bin, "opencode"), PROGRAM);
  writeFileSync(join(bin, "package.json"), '{"type":"module"}');
  chmodSync(join(bin, "opencode"), 0o755);
  return { home, folder, env: { PATH: `${bin}:${process.env.PATH}` } };
}

const startedIn = (home: string): Started => JSON.parse(readFileSync(join(home, "started.json"), "utf8"));

test("the TUI is given a credential for its folder, which ends with it, and never the owner's token", async () => {
  const { home, folder, env } = makeHome();
  const { token } = await serve({ home, env, args: ["--port", "0"] });
  const given = { ...env, FRANCA_TOKEN: token ?? "" };
  const ran = await franca(["opencode", "--agent", "mock", "--dir", folder], { home, env: given });
  expect([ran.code, ran.stderr]).toEqual([0, ""]);
  const started = startedIn(home);
  expect(Object.values(started.env).filter((value) => value === token)).toEqual([]);
  expect(Object.keys(started.env).filter((name) => name.startsWith("FRANCA_"))).toEqual([]);
  expect(started.env.OPENCODE_DISABLE_PROJECT_CONFIG).toBe("1");
  expect(started.answers).toEqual({
    "GET /session": 200,
    "POST /session": 200,
    "GET /file?path=.": 200,
    "GET /file?path=.&directory=/": 403,
    "PATCH /config": 403,
    "GET /v1/sessions": 403,
    "POST /v1/trust": 403,
    "POST /v1/tokens": 403,
  });
  const listed = await franca(["token", "list"], { home, env });
  expect(listed.stdout).toBe("No credentials.\n");
});

test("in a trusted folder the TUI uses the folder's configuration", async () => {
  const { home, folder, env } = makeHome();
  await serve({ home, env, args: ["--port", "0"] });
  expect((await franca(["trust", "add", "--force", folder], { home, env })).code).toBe(0);
  expect((await franca(["opencode", "--dir", folder], { home, env })).code).toBe(0);
  expect(startedIn(home).env.OPENCODE_DISABLE_PROJECT_CONFIG).toBeUndefined();
});

test("the credential ends also when franca is killed before the TUI has ended", async () => {
  const { home, folder, env } = makeHome();
  const { url } = await serve({ home, env, args: ["--port", "0"] });
  const child = spawn(process.execPath, [program, "opencode", "--dir", folder], {
    env: testEnvironment(home, { ...env, STAY: "1" }),
    stdio: ["ignore", "inherit", "inherit"],
    detached: true,
  });
  // The script that it starts is in the same group.
  onTestFinished(() => void process.kill(-(child.pid ?? 0), "SIGKILL"));
  await expect.poll(() => startedIn(home).answers, { timeout: 20_000 }).toBeDefined();
  const { env: inside } = startedIn(home);
  const headers = { authorization: `Bearer ${inside.OPENCODE_SERVER_PASSWORD}` };
  const statusNow = async () => (await fetch(`${url}/opencode/session`, { headers })).status;
  expect(await statusNow()).toBe(200);
  const exited = once(child, "exit");
  child.kill("SIGKILL");
  await exited;
  expect(await statusNow()).toBe(401);
}, 60_000);
