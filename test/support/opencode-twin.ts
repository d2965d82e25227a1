/**
 * The same OpenCode twice: its own server, and Franca with the OpenCode agent, each with folders of its own and both on
 * one scripted model.
 */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { createInterface } from "node:readline";
import type { OpenCodeEvent } from "../../src/dialects/opencode.ts";
import { serveOpenAi } from "../../src/model-server/openai.ts";
import type { Script } from "../../src/model-server/script.ts";
import { openDaemon } from "../../src/server/compose.ts";
import { type Api, type Listener, listen, openCodeApi } from "./opencode-client.ts";
import { opencodeEnvironment, opencodeScript } from "./opencode-trial.ts";

export interface Twin {
  /** Drives both through the same conversation, one after the other, each in a fresh folder. */
  readonly play: (scenario: Scenario) => Promise<Record<"native" | "here", Played>>;
  /** Both, each in a fresh folder, without a session. */
  readonly open: () => Promise<Record<"native" | "here", OpenedSide>>;
  readonly load: (script: Script) => void;
  /** What each says of the only model there is. */
  readonly models: () => Promise<Record<"native" | "here", unknown>>;
  readonly close: () => Promise<void>;
}

export interface Scenario {
  readonly name: string;
  readonly script: Script;
  readonly drive: (side: Side) => Promise<void>;
  /** In a folder that is no repository. */
  readonly bare?: boolean;
}

export interface Side {
  readonly api: Api;
  readonly session: string;
  /** The only model there is, under the name it has here. */
  readonly model: ModelName;
  readonly listener: Listener;
}

export interface OpenedSide {
  readonly api: Api;
  readonly base: string;
  readonly directory: string;
  readonly model: ModelName;
}

export interface ModelName {
  readonly providerID: string;
  readonly modelID: string;
}

const nativeModel: ModelName = { providerID: "lab", modelID: "scripted" };
const ourModel: ModelName = { providerID: "opencode", modelID: "lab/scripted" };

export interface Played {
  readonly session: string;
  /** All that was said of the session and its children, and what names no session. */
  readonly heard: readonly OpenCodeEvent[];
  /** What `/session/{id}/message` says in the end, of the session and of its children. */
  readonly messages: unknown;
  readonly children: readonly { readonly id: string; readonly messages: unknown }[];
}

const permission = { edit: { "*": "allow", "NOTES.txt": "ask" }, bash: { "*": "allow", "touch *": "ask" } };
const README = "# Demo\n\nA small demo project.\n";
/** In everything that is compared, the folder stands as this. */
const FOLDER = "/work";

export async function openTwin(program: string): Promise<Twin> {
  const house = mkdtempSync(join(tmpdir(), "franca-twin-"));
  const model = await serveOpenAi(opencodeScript([]));
  const home = (name: string): Record<string, string> => {
    const folder = join(house, name);
    mkdirSync(folder);
    return opencodeEnvironment({ folder, url: model.url }, { permission });
  };
  const native = await serveNative(program, { PATH: process.env.PATH ?? "", ...home("native-home") });
  const here = await serveFranca(program, { house, environment: home("franca-home") });
  return {
    async play({ script, drive, bare = false }) {
      const place = join(house, bare ? "bare" : "repository");
      const sides = await Promise.all([
        openSide(native.url, { directory: join(place, "native"), bare, model: nativeModel }),
        openSide(`${here.url}/opencode`, { directory: join(place, "here"), bare, model: ourModel }),
      ]);
      for (const side of sides) {
        model.load(script);
        await drive(side);
      }
      const [one, other] = await Promise.all(sides.map(gather));
      if (one === undefined || other === undefined) throw new Error("A side is missing.");
      return { native: one, here: other };
    },
    async open() {
      const side = (base: string, name: string, sideModel: ModelName): OpenedSide => {
        const directory = join(house, "repository", name);
        clear(directory);
        makeRepository(directory);
        return { api: openCodeApi(base, { directory }), base, directory, model: sideModel };
      };
      return {
        native: side(native.url, "native", nativeModel),
        here: side(`${here.url}/opencode`, "here", ourModel),
      };
    },
    load: (script) => model.load(script),
    async models() {
      const { providers } = await read(`${native.url}/config/providers`);
      const { models } = await read(`${here.url}/v1/agents/opencode/models`);
      return { native: providers[0].models.scripted, here: models };
    },
    async close() {
      await here.close();
      await native.close();
      await model.close();
      rmSync(house, { recursive: true, force: true });
    },
  };
}

async function read(url: string) {
  const response = await fetch(url);
  return JSON.parse(await response.text());
}

async function serveNative(program: string, env: Record<string, string>) {
  const child = spawn(program, ["serve", "--port", "0", "--hostname", "127.0.0.1"], {
    env: { ...env, OPENCODE_DISABLE_AUTOUPDATE: "1" },
    stdio: ["ignore", "pipe", "ignore"],
  });
  const url = await new Promise<string>((resolve, reject) => {
    child.once("exit", (code) => reject(new Error(`opencode serve ended with code ${code}`)));
    createInterface({ input: child.stdout }).on("line", (line) => {
      const found = /listening on (https?:\/\/\S+)/.exec(line)?.[1];
      if (found !== undefined) resolve(found);
    });
  });
  const close = async (): Promise<void> => {
    child.removeAllListeners("exit");
    // Asked to end, it sometimes stays for ever.
    child.kill("SIGKILL");
    if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  };
  return { url, close };
}

/** In this process, with the environment that its agent is to inherit. */
async function serveFranca(program: string, { house, environment }: { house: string; environment: object }) {
  const bin = join(house, "bin");
  mkdirSync(bin);
  symlinkSync(program, join(bin, "opencode"));
  const before = { ...process.env };
  Object.assign(process.env, environment, { PATH: `${bin}${delimiter}${process.env.PATH}` });
  const daemon = await openDaemon({
    host: "127.0.0.1",
    port: 0,
    token: null,
    data: join(house, "data"),
    store: "memory",
    durability: "normal",
    corsAllowOrigin: [],
    defaultAgent: "opencode",
    watchdogMs: null,
    passEnv: [],
    trustedFolders: [house, join(house, "repository", "here")],
  });
  const close = async (): Promise<void> => {
    await daemon.close();
    for (const name of Object.keys(environment)) delete process.env[name];
    Object.assign(process.env, before);
  };
  return { url: daemon.url, close };
}

async function openSide(
  base: string,
  { directory, bare, model }: { directory: string; bare: boolean; model: ModelName },
): Promise<Side & { readonly directory: string }> {
  clear(directory);
  if (!bare) makeRepository(directory);
  const listener = await listen(base, { directory });
  const api = openCodeApi(base, { directory });
  const { body } = await api.post("/session", {});
  return { api, session: body.id, model, listener, directory };
}

/** As it was at first: a server that knows the folder already is spared its own start in it. */
function clear(directory: string): void {
  mkdirSync(directory, { recursive: true });
  for (const name of readdirSync(directory)) {
    if (name !== ".git") rmSync(join(directory, name), { recursive: true, force: true });
  }
  writeFileSync(join(directory, "README.md"), README);
}

function makeRepository(directory: string): void {
  const git = (...args: string[]): void => void execFileSync("git", args, { cwd: directory, stdio: "ignore" });
  if (existsSync(join(directory, ".git"))) return;
  git("init", "-q");
  git("add", ".");
  git("-c", "user.name=Test", "-c", "user.email=test@example.invalid", "commit", "-q", "-m", "First");
}

async function gather({ api, session, listener, directory }: Side & { directory: string }): Promise<Played> {
  const { body: messages } = await api.get(`/session/${session}/message`);
  const { body: children } = await api.get(`/session/${session}/children`);
  const known = [];
  for (const { id } of children) known.push({ id, messages: (await api.get(`/session/${id}/message`)).body });
  const own = new Set([session, ...known.map(({ id }) => id)]);
  const heard = listener.heard
    .map(({ event }) => event)
    .filter(({ properties }) => !("sessionID" in properties) || own.has(properties.sessionID ?? ""));
  const played = { session, heard, messages, children: known };
  // A path without its first slash is one from the root of the file system, where no repository is.
  return JSON.parse(
    JSON.stringify(played).replaceAll(directory, FOLDER).replaceAll(directory.slice(1), FOLDER.slice(1)),
  );
}
