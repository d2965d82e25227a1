/** The examples of docs/task-completion.md, run as they are printed; and the builtin agent through the command line. */
import { execFile } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { serveOpenAi } from "../../src/model-server/openai.ts";
import type { ScriptTurn } from "../../src/model-server/script.ts";
import { connect } from "../../src/sdk/index.ts";
import { franca, serve, testEnvironment } from "../support/daemon.ts";
import { temporaryFolder } from "../support/folders.ts";

const root = join(import.meta.dirname, "..", "..");
const hello: ScriptTurn = { type: "answer", blocks: [{ type: "text", text: "Hello." }] };

async function model(...turns: ScriptTurn[]) {
  const server = await serveOpenAi({ turns });
  onTestFinished(() => server.close());
  return server;
}

/** A folder in which `franca` is installed. */
function installed(): string {
  const home = temporaryFolder();
  mkdirSync(join(home, "node_modules"));
  symlinkSync(root, join(home, "node_modules", "franca"));
  return home;
}

function example(index: number): string {
  const text = readFileSync(join(root, "docs", "task-completion.md"), "utf8");
  const block = [...text.matchAll(/^```js\n([\s\S]*?)^```$/gm)][index]?.[1];
  if (block === undefined) throw new Error(`docs/task-completion.md has no example ${index}.`);
  return block;
}

async function run(home: string, source: string, env: Record<string, string> = {}): Promise<string[]> {
  writeFileSync(join(home, "example.mjs"), source);
  const options = { cwd: home, env: testEnvironment(home, env) };
  const { stdout } = await promisify(execFile)(process.execPath, ["example.mjs"], options);
  return stdout
    .trim()
    .split("\n")
    .map((line) => line.trim());
}

test("status with the client library", async () => {
  const home = installed();
  const { url } = await model(hello);
  const config = join(home, "franca.config.json");
  const provider = { test: { kind: "openai-compatible", baseURL: url } };
  writeFileSync(config, JSON.stringify({ builtin: { model: "test/any", provider } }));
  const daemon = await serve({ home, args: ["--port", "0", "--config", config] });
  const output = await run(home, example(0).replace("http://127.0.0.1:7717", daemon.url));
  expect(output).toEqual(["true running", "idle", "true idle"]);
});

test("status embedded, with a retry", async () => {
  const { url } = await model({ type: "status", status: 503, message: "Busy today" }, hello);
  const output = await run(installed(), example(1), { OPENAI_COMPATIBLE_BASE_URL: url });
  expect(output).toEqual(["busy", expect.stringMatching(/^retrying 1 Busy today/), "running", "idle", "s1 idle"]);
});

test("franca run with --base-url and --model", async () => {
  const home = temporaryFolder();
  const server = await model(
    { type: "answer", blocks: [{ type: "tool_call", name: "write", input: { filePath: "a.txt", content: "a" } }] },
    { type: "answer", blocks: [{ type: "text", text: "Written." }] },
  );
  const args = ["--agent", "builtin", "--model", "openai-compatible/any", "--base-url", server.url, "--auto-approve"];
  const { code, stdout } = await franca(["run", ...args, "--", "write it"], { home });
  expect(stdout).toContain("Written.");
  expect(code).toBe(0);
  expect(readFileSync(join(home, "a.txt"), "utf8")).toBe("a");
  expect(server.requests).toHaveLength(2);
});

test("an output too long for the model is kept as long as its session", async () => {
  const home = temporaryFolder();
  const server = await model(
    { type: "answer", blocks: [{ type: "tool_call", name: "bash", input: { command: "seq 1 20000" } }] },
    { type: "answer", blocks: [{ type: "text", text: "Counted." }] },
  );
  const data = join(home, "data");
  const args = ["--agent", "builtin", "--model", "openai-compatible/any", "--base-url", server.url, "--auto-approve"];
  expect((await franca(["run", ...args, "--data", data, "--", "count"], { home })).code).toBe(0);
  const kept = readdirSync(join(data, "outputs"));
  expect(kept).toHaveLength(1);
  const { stdout } = await franca(["sessions", "list", "--data", data, "--json"], { home });
  const [session] = JSON.parse(stdout).sessions;
  expect((await franca(["sessions", "delete", session.sessionId, "--data", data], { home })).code).toBe(0);
  expect(readdirSync(join(data, "outputs"))).toEqual([]);
});

test("a wrong configuration names the key", async () => {
  const home = temporaryFolder();
  const config = join(home, "franca.config.json");
  writeFileSync(config, JSON.stringify({ builtin: { maxSteps: "many" } }));
  const { code, stderr } = await franca(["run", "--config", config, "--agent", "builtin", "--", "hi"], { home });
  expect(code).not.toBe(0);
  expect(stderr).toContain("builtin.maxSteps");
});

test("the list of agents says whether the builtin agent has what it needs", async () => {
  const home = temporaryFolder();
  const found = async (env: Record<string, string>) => {
    const { url, token } = await serve({ home: temporaryFolder(), args: ["--port", "0"], env });
    return (await connect({ url, token: token ?? false }).agents()).find(({ id }) => id === "builtin");
  };
  expect(await found({ ANTHROPIC_API_KEY: "key" })).toMatchObject({ installed: true, credentialsAvailable: true });
  expect(await found({ HOME: home })).toMatchObject({ installed: true, credentialsAvailable: false });
});
