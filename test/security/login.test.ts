/** How programs and pages of the user get in, and how others do not: token file, proof of the daemon, page logins. */
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { ensureToken, openDataFolder } from "../../src/runtime/data-folder.ts";
import { connect, ImpostorError } from "../../src/sdk/index.ts";
import { openCredentials } from "../../src/server/credentials/store.ts";
import { proofOf } from "../../src/server/http/auth.ts";
import { franca, serve, startDaemon } from "../support/daemon.ts";
import { temporaryFolder } from "../support/folders.ts";

const rights = (path: string): number => statSync(path).mode & 0o777;

test("the token is made once, in a file and a folder that only their user can read", () => {
  const folder = join(temporaryFolder(), "data");
  const token = ensureToken(folder);
  expect(token).toMatch(/^[\w-]{43}$/);
  expect([rights(folder), rights(join(folder, "token"))]).toEqual([0o700, 0o600]);
  expect(ensureToken(folder)).toBe(token);
});

test("a folder with wider rights is tightened, and a token that others could read is replaced", () => {
  const folder = join(temporaryFolder(), "data");
  mkdirSync(folder, { mode: 0o755 });
  const token = ensureToken(folder);
  chmodSync(join(folder, "token"), 0o644);
  chmodSync(folder, 0o777);
  openDataFolder(folder);
  expect(rights(folder)).toBe(0o700);
  expect(ensureToken(folder)).not.toBe(token);
  expect(rights(join(folder, "token"))).toBe(0o600);
});

test("a data folder of another user is refused", () => {
  if (process.getuid?.() !== 0) return;
  const folder = join(temporaryFolder(), "data");
  mkdirSync(folder);
  expect(spawnSync("chown", ["65534", folder]).status).toBe(0);
  expect(() => openDataFolder(folder)).toThrow(/another user/);
});

test("serve makes the token by itself; the CLI finds it, and prints it for others", async () => {
  const home = temporaryFolder();
  const { url, token } = await serve({ home, args: ["--port", "0"] });
  expect((await fetch(`${url}/v1/sessions`)).status).toBe(401);
  expect((await franca(["run", "--", "echo hi"], { home })).stdout).toBe("hi\n");
  const header = await franca(["token", "--header"], { home });
  expect(header.stdout).toBe(`Authorization: Bearer ${token}\n`);
});

test("--token in the arguments is warned about; a token file is not", async () => {
  const home = temporaryFolder();
  writeFileSync(join(home, "mine"), "a-token-of-mine\n", { mode: 0o600 });
  const { url } = await serve({ home, args: ["--port", "0", "--token-file", join(home, "mine")] });
  const quiet = await franca(["sessions", "list", "--attach", url, "--token-file", join(home, "mine")], { home });
  expect([quiet.code, quiet.stderr]).toEqual([0, expect.not.stringContaining("--token")]);
  const loud = await franca(["sessions", "list", "--attach", url, "--token", "a-token-of-mine"], { home });
  expect([loud.code, loud.stderr]).toEqual([0, expect.stringContaining("--token-file")]);
  const missing = await franca(["sessions", "list", "--token-file", join(home, "none")], { home });
  expect([missing.code, missing.stderr]).toEqual([2, expect.stringContaining("does not exist or is empty")]);
});

/** Notes all that it hears, and answers health like a daemon would that does not know the token. */
async function impostor(answer: (nonce: string, port: number) => unknown, { port: wanted = 0 } = {}) {
  const heard: string[] = [];
  const server = createServer((incoming, outgoing) => {
    heard.push(`${incoming.method} ${incoming.url} ${JSON.stringify(incoming.headers)}`);
    const { searchParams } = new URL(incoming.url ?? "/", "http://x");
    outgoing.end(JSON.stringify(answer(searchParams.get("nonce") ?? "", port())));
  });
  const port = (): number => (server.address() as AddressInfo).port;
  await new Promise<void>((resolve) => server.listen(wanted, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return { port: port(), url: `http://127.0.0.1:${port()}`, heard };
}

test.each([
  ["says it is healthy", () => ({ status: "ok", version: "0.1.0" })],
  ["makes a proof up", (_nonce: string, port: number) => ({ status: "ok", port, proof: "00".repeat(32) })],
  ["claims to need no token", () => ({ status: "ok", proof: null })],
])("what listens in the daemon's place and %s gets neither token nor prompt", async (_name, answer) => {
  const data = join(temporaryFolder(), "data");
  const token = ensureToken(data);
  const { url, port, heard } = await impostor(answer);
  writeFileSync(join(data, "daemon.lock"), JSON.stringify({ pid: process.pid, started: "", url, token: true }));
  const failed = await connect({ url, data })
    .create({ agent: "mock" })
    .catch((error: unknown) => error);
  expect(failed).toBeInstanceOf(ImpostorError);
  expect(String(failed)).toContain(`port ${port}`);
  expect(heard).toHaveLength(1);
  expect(heard.join()).not.toContain(token);
});

test("a proof that is passed on from the real daemon's port does not help", async () => {
  const data = join(temporaryFolder(), "data");
  const token = ensureToken(data);
  const elsewhere = await impostor((nonce) => ({ port: 1, proof: proofOf({ token, nonce, port: 1 }) }));
  await expect(connect({ url: elsewhere.url, data }).sessions()).rejects.toBeInstanceOf(ImpostorError);
  expect(elsewhere.heard.join()).not.toContain(token);
});

test("a program that takes the port of a daemon that has died gets nothing of a client that was connected", async () => {
  const home = temporaryFolder();
  const { child, url, token } = await serve({ home, args: ["--port", "0"] });
  const client = connect({ url, data: join(home, "share", "franca") });
  expect(await client.sessions()).toEqual([]);
  const exited = once(child, "exit");
  child.kill("SIGKILL");
  await exited;
  const { heard } = await impostor(() => ({ status: "ok" }), { port: Number(new URL(url).port) });
  await expect(client.sessions()).rejects.toBeInstanceOf(ImpostorError);
  expect(heard.length).toBeGreaterThan(0);
  expect(heard.join()).not.toContain(token);
});

test("the command line names the impostor's port", async () => {
  const home = temporaryFolder();
  const data = join(home, "share", "franca");
  const token = ensureToken(data);
  const { port, heard } = await impostor(() => ({ status: "ok" }));
  const ran = await franca(["run", "--attach", `http://127.0.0.1:${port}`, "--", "secret"], { home });
  expect([ran.code, ran.stderr]).toEqual([1, expect.stringContaining(`port ${port}`)]);
  expect(heard.join()).not.toContain(token);
});

test("inside an agent's session neither CLI nor SDK uses the person's token or folder", async () => {
  const home = temporaryFolder();
  const { token } = await serve({ home, args: ["--port", "0"] });
  const env = { FRANCA_SESSION_ID: "s1" };
  for (const args of [["run", "--", "echo hi"], ["token"], ["token", "revoke"], ["sessions", "list"]]) {
    const ran = await franca(args, { home, env });
    expect([args, ran.code, ran.stderr]).toEqual([args, 1, expect.stringContaining("session s1")]);
    expect(ran.stdout).not.toContain(token);
  }
  const alone = await franca(["run", "--", "echo hi"], { home: temporaryFolder(), env });
  expect([alone.code, alone.stderr]).toEqual([1, expect.stringContaining("session s1")]);
});

test("a page logs in once with a code, gets a credential that is not the token, and can be logged out", async () => {
  const token = "the-token-of-this-daemon";
  const data = join(temporaryFolder(), "data");
  const { url, client } = await startDaemon({ token, data, store: "sqlite" });
  const login = (code: string) => fetch(`${url}/v1/login`, { method: "POST", body: JSON.stringify({ code }) });
  const { code } = await client.makeLoginCode();
  expect(Buffer.from(code, "base64url")).toHaveLength(16);
  const { credential, expiresAt } = (await (await login(code)).json()) as { credential: string; expiresAt: string };
  expect(credential).not.toBe(token);
  expect(Date.parse(expiresAt) - Date.now()).toBeGreaterThan(29 * 86_400_000);
  const asPage = () => fetch(`${url}/v1/sessions`, { headers: { authorization: `Bearer ${credential}` } });
  expect((await asPage()).status).toBe(200);
  expect((await login(code)).status).toBe(401);
  expect((await login("guessed")).status).toBe(401);
  expect(readFileSync(join(data, "credentials.json"), "utf8")).not.toContain(credential);
  expect(rights(join(data, "credentials.json"))).toBe(0o600);
  const unused = await client.makeLoginCode();
  await client.revokeLogins();
  expect((await asPage()).status).toBe(401);
  expect((await login(unused.code)).status).toBe(401);
  expect(existsSync(join(data, "credentials.json"))).toBe(false);
});

test("codes end after ten minutes, credentials after thirty days, and both survive nothing but that and a restart", () => {
  const folder = temporaryFolder();
  let time = 0;
  const over = new AbortController();
  onTestFinished(() => over.abort());
  const open = () => openCredentials({ folder, now: () => time, signal: over.signal });
  const credentials = open();
  const late = credentials.makeCode().code;
  time += 10 * 60_000;
  expect(() => credentials.exchange(late)).toThrow(/franca open/);
  const { secret } = credentials.exchange(credentials.makeCode().code);
  const restarted = open();
  expect(restarted.find(secret)?.credential.kind).toBe("page");
  time += 30 * 86_400_000;
  expect(restarted.find(secret)).toBeNull();
});

test("the link with a code is for terminals only", async () => {
  const home = temporaryFolder();
  const { firstLine } = await serve({ home, args: ["--port", "0"] });
  expect(firstLine).not.toContain("code");
  const piped = await franca(["open"], { home });
  expect([piped.code, piped.stdout, piped.stderr]).toEqual([1, "", expect.stringContaining("terminal")]);
});
