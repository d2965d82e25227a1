/** A daemon beside which something like `opencode serve` can be started, and requests as attackers write them. */
import { mkdirSync, symlinkSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import type { DaemonOptions } from "../../src/server/compose.ts";
import { startDaemon } from "./daemon.ts";
import { temporaryFolder } from "./folders.ts";
import { openCodeApi } from "./opencode-client.ts";

const TOKEN = "secret-token";

export async function openBeside({
  installed = true,
  ...options
}: Partial<DaemonOptions> & { installed?: boolean } = {}) {
  const before = { path: process.env.PATH, tools: process.env.FRANCA_TOOLS };
  const folder = join(temporaryFolder(), "bin");
  mkdirSync(folder);
  const fake = join(import.meta.dirname, "fake-opencode-program.js");
  if (installed) symlinkSync(fake, join(folder, "opencode"));
  symlinkSync(process.execPath, join(folder, "node"));
  process.env.PATH = `${folder}:/usr/bin:/bin`;
  process.env.FRANCA_TOOLS = join(folder, "none");
  onTestFinished(() => {
    process.env.PATH = before.path;
    if (before.tools === undefined) delete process.env.FRANCA_TOOLS;
    else process.env.FRANCA_TOOLS = before.tools;
  });
  const daemon = await startDaemon({ token: TOKEN, ...options });
  const headers = { authorization: `Bearer ${TOKEN}` };
  const api = openCodeApi(`${daemon.url}/opencode`, { directory: daemon.directory, headers });
  return { daemon, api, headers, directory: daemon.directory, token: TOKEN };
}

/** Sends exactly these bytes, and gives what comes back within the connection's life or up to the first `until`. */
export function raw(url: string, lines: readonly string[], until: RegExp = /\r\n\r\n/): Promise<string> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    let heard = "";
    const socket = connect({ host: hostname, port: Number(port) }, () => socket.write(`${lines.join("\r\n")}\r\n\r\n`));
    onTestFinished(() => void socket.destroy());
    socket.setEncoding("utf8");
    socket.on("data", (chunk: string) => {
      heard += chunk;
      if (until.test(heard)) resolve(heard);
    });
    socket.on("close", () => resolve(heard));
    socket.on("error", reject);
  });
}
