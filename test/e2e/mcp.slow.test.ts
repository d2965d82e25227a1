/** `franca mcp` end to end: an agent that is given it asks another one, a person uses it, and the door holds. */
import { spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect, test } from "vitest";
import { startDaemon } from "../support/daemon.ts";
import { root } from "../support/transcripts.ts";

const acpCommand = `${process.execPath} ${join(root, "test/support/delegating-acp.js")}`;
const TIMEOUT_MS = 60_000;

const started = async (delegate: boolean) => {
  const daemon = await startDaemon({ token: "a-token-of-this-test", acpCommand });
  const session = await daemon.client.create({ agent: "acp", directory: daemon.directory, delegate });
  const ask = async (what: object) => JSON.parse((await session.run(JSON.stringify(what))).text);
  return { daemon, session, ask };
};

test(
  "an agent asks another through the server it was given, with progress, and its credential opens nothing else",
  async () => {
    const { daemon, session, ask } = await started(true);
    const answer = await ask({ tool: "ask", arguments: { agent: "mock", prompt: "tool" } });
    expect(answer).toMatchObject({ server: "franca", tools: ["agents", "ask", "sessions", "read", "abort"] });
    expect(answer.result).toMatchObject({ isError: false, structuredContent: { reason: "completed" } });
    expect(answer.progress.length).toBeGreaterThan(1);
    const child = daemon.client.session(answer.result.structuredContent.session);
    expect(await child.get()).toMatchObject({ parentId: session.id, directory: daemon.directory });
    const bypass = await ask({ tool: "ask", arguments: { agent: "mock", prompt: "x", permissionMode: "bypass" } });
    expect(bypass.result).toMatchObject({ isError: true });
    for (const [method, path] of [
      ["GET", "/v1/sessions"],
      ["POST", "/v1/sessions"],
      ["GET", `/v1/sessions/${session.id}`],
      ["POST", `/v1/sessions/${child.id}/permissions/x/reply`],
      ["POST", "/v1/trust"],
      ["GET", "/opencode/session"],
      ["GET", "/metrics"],
    ]) {
      expect({ path, ...(await ask({ method, path })) }).toEqual({ path, status: 403 });
    }
    expect(await ask({ method: "GET", path: "/v1/mcp/" })).toEqual({ status: 404 });
    const body = { jsonrpc: "2.0", id: 1, method: "tools/list" };
    expect(await ask({ method: "POST", path: "/v1/mcp", body })).toEqual({ status: 200 });
    expect(await ask({ method: "POST", path: "/v1/mcp?full=true", body })).toEqual({ status: 403 });
    const text = JSON.stringify(await session.listNative({ offset: 0, limit: 1_000 }));
    expect(text).toContain("FRANCA_SESSION_CREDENTIAL");
    expect(text).not.toMatch(/FRANCA_SESSION_CREDENTIAL","value":"[\w-]{30}/);
  },
  TIMEOUT_MS,
);

test(
  "a person's client without --full uses what it has started; with it, everything",
  async () => {
    const { daemon } = await started(false);
    await daemon.client.create({ id: "mine", agent: "mock", directory: daemon.directory });
    const few = await talk(daemon, []);
    expect(few.tools).not.toContain("answer");
    expect(few.read).toMatchObject({ isError: true });
    const all = await talk(daemon, ["--full"]);
    expect(all.tools).toContain("answer");
    expect(all.read.isError).not.toBe(true);
  },
  TIMEOUT_MS,
);

async function talk({ url, directory }: { url: string; directory: string }, flags: readonly string[]) {
  const args = [join(root, "bin/franca.js"), "mcp", "--server", url, ...flags];
  const env = { ...process.env, FRANCA_TOKEN: "a-token-of-this-test", FRANCA_DATA: join(directory, "none") };
  const child = spawn(process.execPath, args, { env, stdio: ["pipe", "pipe", "inherit"] });
  const waiting = new Map<number, (message: { result: Record<string, unknown> }) => void>();
  createInterface({ input: child.stdout }).on("line", (line) => {
    const message = JSON.parse(line);
    waiting.get(message.id)?.(message);
  });
  const request = (id: number, method: string, params: object) =>
    new Promise<{ result: Record<string, unknown> }>((resolve) => {
      waiting.set(id, resolve);
      child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
    });
  await request(1, "initialize", { protocolVersion: "2025-06-18" });
  const { result } = await request(2, "tools/list", {});
  const tools = Array.isArray(result.tools) ? result.tools.map(({ name }) => name) : [];
  const read = await request(3, "tools/call", { name: "read", arguments: { session: "mine" } });
  child.stdin.end();
  return { tools, read: read.result };
}
