/**
 * Programs that do something like Franca, measured beside it where they are installed: `sandbox-agent`, which drives
 * our fake agent by the Agent Client Protocol, and `opencode serve`. `--install-peers` installs them from npm.
 */
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { get } from "node:http";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { post } from "./http.ts";
import { type Program, stop } from "./programs.ts";

const PACKAGES = ["@sandbox-agent/cli@0.4.2", "opencode-ai@1.18.33"];
const READY_MS = 120_000;
const ANSWER_MS = 1_000;

export interface Peers {
  readonly sandboxAgent: string | null;
  readonly opencode: string | null;
}

export interface Peer extends Program {
  /** A session with the fake agent: where its events are, and how it is prompted. */
  readonly open: (name: string) => Promise<{
    readonly url: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly prompt: (text: string) => Promise<unknown>;
  }>;
}

export function findPeers({ install }: { install: boolean }): Peers {
  const folder = join(process.cwd(), "node_modules", ".cache", "franca-peers");
  if (install) {
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "package.json"), '{"private":true}');
    const done = spawnSync("npm", ["install", "--no-audit", "--no-fund", ...PACKAGES], {
      cwd: folder,
      stdio: "inherit",
    });
    if (done.status !== 0) throw new Error("The peers could not be installed.");
  }
  // The programs themselves, not the scripts that start them.
  const platform = `${process.platform}-${process.arch}`;
  const program = (path: string): string | null => {
    const file = join(folder, "node_modules", path);
    return existsSync(file) ? file : null;
  };
  return {
    sandboxAgent: program(`@sandbox-agent/cli-${platform}/bin/sandbox-agent`),
    opencode: program(`opencode-${platform}/bin/opencode`),
  };
}

export async function openPeer({ sandboxAgent }: Peers): Promise<Peer | null> {
  if (sandboxAgent === null) return null;
  const home = mkdtempSync(join(tmpdir(), "franca-peer-"));
  // It starts OpenCode as an agent of the protocol: our fake one takes its name.
  const shim = `#!/bin/sh\nexec "${process.execPath}" "${process.argv[1]}" acp "$@"\n`;
  writeFileSync(join(home, "opencode"), shim, { mode: 0o755 });
  const program = await startPeer([sandboxAgent, "server", "--no-token", "--no-telemetry"], {
    home,
    health: "/v1/health",
  });
  return {
    ...program,
    async open(name) {
      const url = `${program.url}/v1/acp/${name}`;
      const call = (id: number, method: string, params: object) => ({ jsonrpc: "2.0", id, method, params });
      await post(`${url}?agent=opencode`, call(1, "initialize", { protocolVersion: 1, clientCapabilities: {} }));
      const answer = await post(url, call(2, "session/new", { cwd: home, mcpServers: [] }));
      const { result }: { result: { sessionId: string } } = JSON.parse(answer);
      const prompt = (text: string) =>
        post(url, call(3, "session/prompt", { sessionId: result.sessionId, prompt: [{ type: "text", text }] }));
      return { url, headers: { accept: "text/event-stream" }, prompt };
    },
  };
}

export const startOpenCode = (program: string): Promise<Program> =>
  startPeer([program, "serve"], { home: mkdtempSync(join(tmpdir(), "franca-peer-")), health: "/config" });

/** Peers want to be told their port. */
async function startPeer(
  [command = "", ...args]: readonly string[],
  { home, health }: { home: string; health: string },
): Promise<Program> {
  const port = await freePort();
  const env = {
    ...process.env,
    PATH: `${home}:${process.env.PATH}`,
    HOME: home,
    XDG_DATA_HOME: home,
    XDG_CONFIG_HOME: home,
  };
  const child = spawn(command, [...args, "--port", String(port)], { stdio: "ignore", env });
  const url = `http://127.0.0.1:${port}`;
  const deadline = performance.now() + READY_MS;
  while (!(await isReady(`${url}${health}`))) {
    if (performance.now() > deadline) throw new Error(`${command} did not answer.`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  const ended = async (): Promise<void> => {
    await stop(child);
    rmSync(home, { recursive: true, force: true });
  };
  return { url, pid: child.pid ?? 0, stop: ended };
}

/** A request that comes too early may never be answered. */
const isReady = (url: string): Promise<boolean> =>
  new Promise((resolve) => {
    const request = get(url, { agent: false, timeout: ANSWER_MS }, (response) => {
      response.resume();
      resolve((response.statusCode ?? 500) < 400);
    });
    request.on("timeout", () => request.destroy());
    request.on("error", () => resolve(false));
  });

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer();
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(address !== null && typeof address === "object" ? address.port : 0));
    });
  });
}
