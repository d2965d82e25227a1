/** Franca as an ACP agent, driven by the official client and by acpx. */
import { execFile } from "node:child_process";
import { mkdirSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { setup } from "../../src/adapters/claude/trial.ts";
import { prepare } from "../../src/cli/doctor-trial.ts";
import { serveAnthropic } from "../../src/model-server/anthropic.ts";
import { says } from "../support/acp-real.ts";
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
  readonly session: string;
}

interface Driving {
  readonly folder: string;
  readonly agent: string;
  readonly prompts: readonly string[];
  readonly load?: string;
  readonly env?: Readonly<Record<string, string>>;
}

const franca = (folder: string, agent: string): string[] => [
  process.execPath,
  join(root, "bin/franca.js"),
  "acp",
  "--agent",
  agent,
  "--data",
  join(folder, "data"),
];

async function drive({ folder, agent, prompts, load, env = {} }: Driving): Promise<Seen> {
  const given = { cwd: folder, prompts, command: franca(folder, agent), ...(load === undefined ? {} : { load }) };
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
