/** Franca as an ACP agent, driven by the official client and by acpx. */
import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { setup } from "../../src/adapters/claude/trial.ts";
import { prepare } from "../../src/cli/doctor-trial.ts";
import { serveAnthropic } from "../../src/model-server/anthropic.ts";
import { serveOpenAi } from "../../src/model-server/openai.ts";
import { says } from "../support/acp-real.ts";
import { serve } from "../support/daemon.ts";
import { temporaryFolder } from "../support/folders.ts";
import { describeNeeding } from "../support/requires.ts";
import { root } from "../support/transcripts.ts";

const run = promisify(execFile);
const {
  FRANCA_TEST_ACP_SDK: sdk,
  FRANCA_TEST_ACPX: acpx,
  FRANCA_TEST_NODE: node,
  FRANCA_TEST_CLAUDE: claude,
} = process.env;
const absent = [sdk, acpx, node, claude].includes(undefined) ? "the clients are not installed" : null;

interface Seen {
  readonly updates: readonly { readonly sessionUpdate: string; readonly content?: { readonly text?: string } }[];
  readonly permissions: number;
  readonly ends: readonly string[];
  readonly can: { readonly sessionCapabilities?: Readonly<Record<string, unknown>> };
  readonly session: string;
}

interface Driving {
  readonly folder: string;
  /** Where `franca acp` finds the daemon; one of its own in the folder otherwise. */
  readonly data?: string;
  readonly fork?: true;
  readonly kill?: number;
  readonly agent: string;
  readonly prompts: readonly string[];
  readonly load?: string;
  readonly env?: Readonly<Record<string, string>>;
}

const franca = (folder: string, agent: string, data = join(folder, "data")): string[] => [
  process.execPath,
  join(root, "bin/franca.js"),
  "acp",
  "--agent",
  agent,
  "--data",
  data,
];

async function drive({ folder, agent, data, env = {}, ...more }: Driving): Promise<Seen> {
  const given = { cwd: folder, command: franca(folder, agent, data), ...more };
  const script = join(root, "test/support/acp-client.js");
  const { stdout } = await run(node ?? "", [script, sdk ?? "", JSON.stringify(given)], {
    env: { HOME: folder, PATH: process.env.PATH ?? "", ...env },
  });
  return JSON.parse(stdout);
}

const textOf = ({ updates }: Seen): string =>
  updates.map((one) => (one.sessionUpdate === "agent_message_chunk" ? (one.content?.text ?? "") : "")).join("");

describeNeeding("ACP clients", { missing: absent }, () => {
  test("the official client: text, permissions, an error, and a session loaded by another process", async () => {
    const folder = temporaryFolder();
    const first = await drive({ folder, agent: "mock", prompts: ["echo hello", "permission", "error"] });
    expect(first.ends).toEqual(["end_turn", "end_turn", "error: The scripted model failed."]);
    expect(first.permissions).toBe(2);
    const again = await drive({ folder, agent: "mock", prompts: ["echo more"], load: first.session });
    expect(again.ends).toEqual(["end_turn"]);
    expect(textOf(again)).toBe(`${textOf(first)}more`);
    expect(again.updates.filter((one) => one.sessionUpdate === "user_message_chunk")).toHaveLength(3);
  });

  test("the daemon is killed in mid-turn: the prompt is answered, and a session loaded again has all of it once", async () => {
    const home = temporaryFolder();
    const data = join(home, "share", "franca");
    const slow = { FRANCA_MOCK_DELAY_MS: "20" };
    const first = await serve({ home, args: ["--port", "0"], env: slow });
    const { port } = new URL(first.url);
    const driving = { folder: home, agent: "mock", data };
    const seeing = drive({ ...driving, prompts: ["flood 5000", "echo after"], kill: first.child.pid ?? 0 });
    await once(first.child, "exit");
    await serve({ home, args: ["--port", port], env: slow });
    const seen = await seeing;
    expect(seen.ends).toEqual([expect.stringMatching(/^error: /), "end_turn"]);
    const again = await drive({ ...driving, prompts: [], load: seen.session });
    expect(textOf(again)).toBe(textOf(seen));
    expect(textOf(again)).toMatch(/after$/);
    expect(again.updates.filter((one) => one.sessionUpdate === "user_message_chunk")).toHaveLength(2);
  });

  test("the builtin agent behind it: a file is written when the client allows it, and the session forks", async () => {
    const folder = temporaryFolder();
    const file = join(folder, "new.txt");
    const write = { type: "tool_call" as const, name: "write", input: { path: file, content: "by the builtin" } };
    const server = await serveOpenAi({ turns: [{ type: "answer", blocks: [write] }, says("Written.")] });
    const provider = { local: { kind: "openai-compatible", baseURL: server.url, apiKey: "dummy" } };
    const config = join(folder, "config.json");
    writeFileSync(config, JSON.stringify({ builtin: { model: "local/scripted", provider } }));
    try {
      const driving = { folder, agent: "builtin", env: { FRANCA_CONFIG: config } };
      const seen = await drive({ ...driving, prompts: ["Write it"] });
      expect(seen).toMatchObject({ ends: ["end_turn"], permissions: 1 });
      expect(readFileSync(file, "utf8")).toBe("by the builtin");
      const tools = seen.updates.filter((one) => one.sessionUpdate === "tool_call_update");
      expect(tools.at(-1)).toMatchObject({ status: "completed" });
      expect(seen.can.sessionCapabilities).toHaveProperty("fork");
      const forked = await drive({ ...driving, load: seen.session, fork: true, prompts: ["And now?"] });
      expect(forked.session).not.toBe(seen.session);
      expect(forked.ends).toEqual(["end_turn"]);
      expect(JSON.stringify(server.requests.at(-1)?.body)).toContain("by the builtin");
    } finally {
      await server.close();
    }
  });

  test("Claude Code behind it", async () => {
    const folder = temporaryFolder();
    const server = await serveAnthropic({ turns: [says("Hello from Claude.")] });
    const bin = join(folder, "bin");
    mkdirSync(bin);
    symlinkSync(claude ?? "", join(bin, "claude"));
    const env = prepare(setup({ folder, url: server.url }));
    try {
      const path = `${bin}:${dirname(node ?? "")}:${process.env.PATH ?? ""}`;
      const seen = await drive({ folder, agent: "claude", prompts: ["Hi"], env: { ...env, PATH: path } });
      expect(seen.ends).toEqual(["end_turn"]);
      expect(textOf(seen)).toBe("Hello from Claude.");
      expect(seen.updates.map(({ sessionUpdate }) => sessionUpdate)).toContain("available_commands_update");
    } finally {
      await server.close();
    }
  });

  test("acpx runs a prompt", async () => {
    const folder = temporaryFolder();
    const agent = franca(folder, "mock").join(" ");
    const { stdout } = await run(
      node ?? "",
      [acpx ?? "", "--agent", agent, "--approve-all", "exec", "echo from acpx"],
      {
        cwd: folder,
        env: { HOME: folder, PATH: `${dirname(node ?? "")}:${process.env.PATH ?? ""}` },
      },
    );
    expect(stdout).toContain("from acpx");
  });
});
