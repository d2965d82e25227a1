/** Provider keys that a shell gives to its daemon for one session: who gets them, and where they must never appear. */

import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { serveAnthropic } from "../../../src/model-server/anthropic.ts";
import type { ModelServer } from "../../../src/model-server/serve.ts";
import { ownProcess } from "../../../src/runtime/agent/process-table.ts";
import { connect } from "../../../src/sdk/index.ts";
import { franca, serve } from "../../support/daemon.ts";
import { temporaryFolder } from "../../support/folders.ts";

const KEY = "canary-key-4e1d77b0c9";
const shell = { ANTHROPIC_API_KEY: KEY };

/** A model that says the key, as an agent might that prints its environment. */
async function modelThatSaysIt(): Promise<ModelServer> {
  const model = await serveAnthropic({
    turns: [
      { type: "answer", blocks: [{ type: "text", text: `Your key is ${KEY}, isn't it?` }] },
      { type: "answer", blocks: [{ type: "text", text: "Again." }] },
    ],
  });
  onTestFinished(() => model.close());
  return model;
}

const filesIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((name) => join(folder, name))
    .filter((path) => statSync(path).isFile());

const holdingIt = (folder: string): string[] => filesIn(folder).filter((file) => readFileSync(file).includes(KEY));

test("a key of the shell reaches the model of its session, and nothing else; after a restart it is missing", async () => {
  const home = temporaryFolder();
  const model = await modelThatSaysIt();
  const log = ["--port", "0", "--log-level", "debug"];
  // What the daemon writes is among the files that are searched.
  const errorsTo = join(home, "daemon-output.txt");
  const daemon = await serve({ home, args: log, errorsTo });
  const asked = ["run", "-a", "builtin", "-m", "anthropic/claude-test", "--base-url", model.url, "--json", "hello"];
  const ran = await franca(asked, { home, env: shell });
  expect(ran.code, ran.stderr).toBe(0);
  const { session, text } = JSON.parse(ran.stdout);
  expect(text).toBe("Your key is [redacted], isn't it?");
  expect(JSON.stringify(model.requests.map(({ headers }) => headers))).toContain(KEY);

  const client = connect({ url: daemon.url, token: daemon.token ?? "" });
  const mine = client.session(session);
  const answers = [
    await mine.get(),
    await mine.listEvents({ includeRaw: true }),
    await mine.listNative(),
    await client.sessions(),
    await client.agents(),
    await client.metrics(),
    await client.openapi(),
  ];
  expect(JSON.stringify(answers)).not.toContain(KEY);
  expect(holdingIt(home)).toEqual([]);
  // Another session has no part in it.
  const other = await client.create({ agent: "builtin", directory: home });
  const lacks = await fetch(`${daemon.url}/v1/sessions/${other.id}/keys`, bearer(daemon.token));
  expect(await lacks.json()).toMatchObject({ credentialsAvailable: false });

  daemon.child.kill("SIGKILL");
  await new Promise((resolve) => daemon.child.once("close", resolve));
  const next = await serve({ home, args: log, errorsTo });
  const again = connect({ url: next.url, token: next.token ?? "" }).session(session);
  await expect(again.prompt("more")).rejects.toMatchObject({
    code: "key_missing",
    message: expect.stringMatching(/^the daemon was started without ANTHROPIC_API_KEY: restart it, or /),
  });
  const resumed = await franca(["run", "-r", session.slice(0, 8), "-q", "more"], { home, env: shell });
  expect([resumed.code, resumed.stdout], resumed.stderr).toEqual([0, "Again.\n"]);
  expect(readFileSync(errorsTo, "utf8")).toContain(session);
  expect(holdingIt(home)).toEqual([]);
});

const bearer = (token: string | null): RequestInit => ({ headers: { authorization: `Bearer ${token}` } });

test("a daemon that cannot prove itself gets no key: the command says what to do", async () => {
  const home = temporaryFolder();
  await serve({ home, args: ["--port", "0", "--no-token"] });
  const ran = await franca(["run", "-a", "builtin", "hello"], { home, env: shell });
  expect(ran.code).toBe(1);
  expect(ran.stderr).toMatch(/^franca: the daemon was started without ANTHROPIC_API_KEY: restart it, or .*$/m);
  expect(holdingIt(home)).toEqual([]);
});

test("a program that pretends to be the daemon is sent nothing", async () => {
  const home = temporaryFolder();
  const heard: string[] = [];
  const pretender = createServer((request, response) => {
    heard.push(`${request.url} ${JSON.stringify(request.headers)}`);
    request.on("data", (chunk: Buffer) => heard.push(chunk.toString()));
    response.end(JSON.stringify({ status: "ok", proof: "00", port: 1, missing: ["ANTHROPIC_API_KEY"] }));
  });
  await new Promise<void>((resolve) => pretender.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void pretender.close());
  const { port } = pretender.address() as AddressInfo;
  const data = join(home, "share", "franca");
  mkdirSync(data, { recursive: true, mode: 0o700 });
  writeFileSync(join(data, "token"), "the-token-of-this-folder\n", { mode: 0o600 });
  const lock = { ...ownProcess(), url: `http://127.0.0.1:${port}`, token: true };
  writeFileSync(join(data, "daemon.lock"), JSON.stringify(lock), { mode: 0o600 });
  const ran = await franca(["run", "-a", "builtin", "hello"], { home, env: shell });
  expect(ran.code).toBe(1);
  expect(heard.join("\n")).not.toContain(KEY);
  expect(heard.join("\n")).not.toContain("the-token-of-this-folder");
});
