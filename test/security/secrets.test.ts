/** Canaries: secrets that a session is given are searched in command lines, in the daemon's output and in its files. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { describe, expect, onTestFinished, test } from "vitest";
import { adapters } from "../../src/adapters/index.ts";
import { hideInUrls } from "../../src/runtime/url-secrets.ts";
import { connect } from "../../src/sdk/index.ts";
import { program, testEnvironment } from "../support/daemon.ts";
import { temporaryFolder } from "../support/folders.ts";
import { plainOptions } from "../support/launch-options.ts";

const canary = (name: string): string => `canary-${name}-7f3a91c2`;
const CANARY = /canary-\w+-7f3a91c2/;

const secrets = {
  env: { ACME_SETTING: canary("env"), DATABASE_URL: `postgres://me:${canary("database")}@db.invalid/main` },
  systemPrompt: `The password is ${canary("system")}.`,
  mcp: {
    far: {
      url: `https://mcp.invalid/x?api_key=${canary("query")}`,
      headers: { authorization: `Bearer ${canary("header")}` },
    },
    near: { command: "serve", args: [], env: { NEAR_SETTING: canary("mcp") } },
  },
};

describe("command lines", () => {
  test.each(adapters.filter(({ offline }) => !offline))("$agent: a launch shows nothing secret", ({ launch }) => {
    const { env, mcp, systemPrompt: system_prompt } = secrets;
    for (const asked of [
      { env, mcp, system_prompt },
      { env, mcp },
      { env, system_prompt },
    ]) {
      const launched = launch({ ...plainOptions, ...asked });
      const shown = "args" in launched ? launched.args.filter((argument) => typeof argument === "string") : [];
      expect(shown.join(" ")).not.toMatch(CANARY);
    }
  });
});

/** Writes down what it was given, and prints secrets where an agent might: in its answer and on stderr. */
const CLAUDE = `#!${process.execPath}
if (process.argv.includes("--version")) { console.log("2.1.197 (Claude Code)"); process.exit(0); }
const { writeFileSync } = require("node:fs");
const option = (name) => process.argv[process.argv.indexOf(name) + 1];
let said = 0;
const say = (line) => process.stdout.write(JSON.stringify({ session_id: "S-1", uuid: "u" + said++, ...line }) + "\\n");
const usage = { input_tokens: 1, output_tokens: 1, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 };
const files = [option("--mcp-config"), option("--append-system-prompt-file")];
writeFileSync("given.json", JSON.stringify(files));
require("node:readline").createInterface({ input: process.stdin }).on("line", (text) => {
  const line = JSON.parse(text);
  if (line.type !== "user") return;
  const spoken = process.env.ACME_SETTING + " and https://mcp.invalid/x?api_key=${canary("query")}";
  process.stderr.write(process.env.DATABASE_URL + "\\n");
  say({ type: "system", subtype: "init", cwd: process.cwd(), tools: [], mcp_servers: [], model: "m",
    permissionMode: "default", slash_commands: [], apiKeySource: "none", claude_code_version: "2.1.197" });
  say({ type: "assistant", parent_tool_use_id: null, message: { id: "m1", type: "message", role: "assistant",
    model: "m", content: [{ type: "text", text: spoken }], stop_reason: "end_turn", usage } });
  say({ type: "result", subtype: "success", is_error: false, duration_ms: 1, duration_api_ms: 1, num_turns: 1,
    result: spoken, total_cost_usd: 0, usage });
});
`;

async function startDaemon(home: string) {
  const bin = join(home, "bin");
  mkdirSync(bin);
  writeFileSync(join(bin, "claude"), CLAUDE);
  chmodSync(join(bin, "claude"), 0o755);
  const env = testEnvironment(home, {
    PATH: `${bin}:${process.env.PATH}`,
    HTTPS_PROXY: `http://me:${canary("proxy")}@proxy.invalid:3128`,
    TMPDIR: home,
  });
  const child = spawn(process.execPath, [program, "serve", "--port", "0", "--log-level", "debug"], {
    env,
    cwd: home,
    stdio: ["ignore", "pipe", "pipe"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const output: string[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => output.push(text));
  }
  const [line]: unknown[] = await once(createInterface({ input: child.stdout }), "line");
  const url = /http:\/\/\S+/.exec(String(line))?.[0] ?? "";
  const token = readFileSync(join(home, "share", "franca", "token"), "utf8").trim();
  return { child, output, client: connect({ url, token }) };
}

/** Command lines of all processes, as every user of the machine sees them. */
const commandLines = (): string =>
  readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => join("/proc", pid, "cmdline"))
    .map((file) => (existsSync(file) ? readQuietly(file) : ""))
    .join("\n");

function readQuietly(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) =>
    entry.isDirectory() ? filesBelow(join(folder, entry.name)) : [join(folder, entry.name)],
  );
}

/** Names of files below a folder whose bytes hold a canary. */
const leaks = (folder: string): string[] =>
  filesBelow(folder).filter((file) => CANARY.test(readFileSync(file, "latin1")));

test.runIf(process.platform === "linux")("a session's secrets reach its agent, and nothing else", async () => {
  const home = temporaryFolder();
  const work = join(home, "work");
  mkdirSync(work);
  const data = join(home, "share", "franca");
  const { child, output, client } = await startDaemon(home);
  const session = await client.create({ agent: "claude", directory: work, ...secrets });
  const events = [];
  for await (const event of session.ask("go")) events.push(event);
  expect(events.at(-1)).toMatchObject({ type: "turn.ended", data: { reason: "completed" } });
  expect(JSON.stringify(events)).toContain("[redacted]");
  expect(JSON.stringify(events)).not.toMatch(CANARY);

  expect(commandLines()).toContain("--append-system-prompt-file");
  expect(commandLines()).not.toMatch(CANARY);
  const given: string[] = JSON.parse(readFileSync(join(work, "given.json"), "utf8"));
  expect(given.map((file) => readFileSync(file, "utf8")).join()).toMatch(/canary-header.*canary-mcp.*canary-system/s);
  expect(given.map((file) => statSync(file).mode & 0o777)).toEqual([0o600, 0o600]);
  expect(given.map((file) => statSync(dirname(file)).mode & 0o777)).toEqual([0o700, 0o700]);

  // The session's settings are stored until it is deleted: the search finds them there.
  expect(leaks(data).length).toBeGreaterThan(0);
  await session.delete();
  expect(leaks(data)).toEqual([]);
  expect(given.filter((file) => existsSync(dirname(file)))).toEqual([]);
  child.kill("SIGTERM");
  await once(child, "close");
  expect(output.join("")).toContain("process.started");
  expect(output.join("")).not.toMatch(CANARY);
  expect(leaks(data)).toEqual([]);
});

describe("credentials in addresses", () => {
  test.each([
    ["https://me:secret@host/path", "https://me:*@host/path"],
    ["see https://me:se%40cret@host, please", "see https://me:*@host, please"],
    ["https://ghp_0123456789abcdefghij@host/x.git", "https://*@host/x.git"],
    ["ssh://git@host/x.git", "ssh://git@host/x.git"],
    ["https://host/a?q=1&api_key=abc&x=2#top", "https://host/a?q=1&api_key=*&x=2#top"],
    ["wss://host?access_token=abc#f", "wss://host?access_token=*#f"],
    ['{"url":"http://host/?X-Amz-Signature=abc"}', '{"url":"http://host/?X-Amz-Signature=*"}'],
    ["https://host/a@b:c?page=2", "https://host/a@b:c?page=2"],
    ["no address: user:secret@host", "no address: user:secret@host"],
  ])("%s", (text, hidden) => {
    expect(hideInUrls(text, "*")).toBe(hidden);
  });
});
