/** A real OpenCode server of the test's own, and a daemon whose sessions use it: what both say can be compared. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { onTestFinished } from "vitest";
import { serveOpenAi } from "../../src/model-server/openai.ts";
import type { ScriptTurn } from "../../src/model-server/script.ts";
import type { ModelServer } from "../../src/model-server/serve.ts";
import { startDaemon, type TestDaemon } from "./daemon.ts";
import { temporaryFolder } from "./folders.ts";
import { freePort } from "./free-port.ts";
import { type Api, openCodeApi } from "./opencode-client.ts";
import { opencodeEnvironment, opencodeScript } from "./opencode-trial.ts";

export interface Beside {
  readonly daemon: TestDaemon;
  /** The daemon's OpenCode surface. */
  readonly base: string;
  readonly franca: Api;
  /** The server itself. */
  readonly native: Api;
  readonly directory: string;
  readonly model: ModelServer;
  readonly load: (...turns: readonly ScriptTurn[]) => void;
  /** A session of the OpenCode agent: its id on the surface. */
  readonly begin: () => Promise<string>;
  /** The server's own id of a session. */
  readonly nativeId: (id: string) => Promise<string>;
  readonly environment: Readonly<Record<string, string>>;
  /** The same sessions after a restart of the daemon. */
  readonly restart: () => Promise<Api>;
}

export interface BesideOptions {
  readonly program: string;
  /** Laid over the server's configuration. */
  readonly config?: Readonly<Record<string, unknown>>;
}

export async function besideNative({ program, config = {} }: BesideOptions): Promise<Beside> {
  const home = temporaryFolder();
  const model = await serveOpenAi(opencodeScript([]));
  onTestFinished(() => model.close());
  const own = opencodeEnvironment({ folder: home, url: model.url }, { permission: { edit: "allow", bash: "allow" } });
  const file = join(own.XDG_CONFIG_HOME ?? home, "opencode", "opencode.json");
  writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, "utf8")), ...config }));
  const directory = repository(join(home, "work"));
  const url = await startNative(program, { environment: own, directory });
  const environment = { ...own, OPENCODE_SERVER_URL: url };
  const before = process.env.PATH;
  process.env.PATH = `${dirname(program)}:${before}`;
  onTestFinished(() => {
    process.env.PATH = before;
  });
  const data = join(home, "franca");
  const open = () => startDaemon({ store: "sqlite", data, trustedFolders: [directory] });
  const daemon = await open();
  const base = `${daemon.url}/opencode`;
  return {
    daemon,
    base,
    franca: openCodeApi(base, { directory }),
    native: openCodeApi(url, { directory }),
    directory,
    model,
    environment,
    load: (...turns) => model.load(opencodeScript(turns)),
    async begin() {
      const made = await daemon.client.create({ agent: "opencode", directory, env: environment });
      return (await made.get()).opencodeId ?? "";
    },
    async nativeId(id) {
      const all = await daemon.client.sessions();
      return all.find(({ opencodeId }) => opencodeId === id)?.nativeSessionId ?? "";
    },
    async restart() {
      await daemon.close();
      const again = await open();
      return openCodeApi(`${again.url}/opencode`, { directory });
    },
  };
}

/** OpenCode undoes changes of files in repositories only. */
function repository(directory: string): string {
  mkdirSync(directory);
  writeFileSync(join(directory, "README.md"), "# Demo\n\nA small demo project.\n");
  const git = (...args: string[]) => execFileSync("git", args, { cwd: directory, stdio: "ignore" });
  git("init");
  git("add", ".");
  git("-c", "user.name=Test", "-c", "user.email=test@localhost", "commit", "-m", "Begin");
  return directory;
}

async function startNative(
  program: string,
  { environment, directory }: { environment: Readonly<Record<string, string>>; directory: string },
): Promise<string> {
  // Asked for port 0, OpenCode takes its favourite one, to which this process may still have kept connections.
  const child = spawn(program, ["serve", "--port", String(await freePort()), "--hostname", "127.0.0.1"], {
    env: { PATH: process.env.PATH ?? "", ...environment },
    cwd: directory,
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(async () => {
    // Asked politely, it would wait for whoever is still connected.
    child.kill("SIGKILL");
    if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  });
  return addressIn(child);
}

async function addressIn({ stdout }: ChildProcess): Promise<string> {
  if (stdout === null) throw new Error("The server's output cannot be read.");
  for await (const line of createInterface({ input: stdout })) {
    const url = /listening on (http\S+)/.exec(line)?.[1];
    if (url !== undefined) return url;
  }
  throw new Error("The server ended before it listened.");
}

export interface ShareService {
  readonly url: string;
  /** Method and path of what it was asked. */
  readonly asked: string[];
}

/** Where OpenCode shares sessions to, when its configuration names another place than the usual one. */
export async function shareService(): Promise<ShareService> {
  const asked: string[] = [];
  const server = createServer((incoming, outgoing) => {
    asked.push(`${incoming.method} ${incoming.url}`);
    incoming.resume();
    outgoing.setHeader("content-type", "application/json");
    outgoing.end(JSON.stringify({ id: "abc", url: "http://localhost/share/abc", secret: "secret" }));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address: AddressInfo | string | null = server.address();
  if (typeof address !== "object" || address === null) throw new Error("The service has no address.");
  return { url: `http://127.0.0.1:${address.port}`, asked };
}
