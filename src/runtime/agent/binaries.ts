/** The agents' programs: where they are, which version, whether they can log in, and how to get them. */
import { spawn } from "node:child_process";
import { accessSync, constants, existsSync, mkdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import type { Adapter } from "../../core/adapter.ts";
import type { Credentials } from "../../core/agent-environment.ts";
import type { Binary } from "../../core/binary.ts";
import type { Candidate } from "../../core/default-agent.ts";
import { defined } from "../../core/defined.ts";
import { ApiError } from "../../protocol/errors.ts";
import type { AgentSummary } from "../../protocol/resources.ts";
import type { Logger } from "../logger.ts";
import { programFolders } from "../program-path.ts";
import { passedOn } from "./environment.ts";

const VERSION_MS = 10_000;
const INSTALL_MS = 900_000;
const OUTPUT_LIMIT = 16 * 1024;

export interface BinariesOptions {
  readonly toolsFolder: string;
  /** What we run in. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Names of it that every agent gets. */
  readonly passEnv?: readonly string[];
  readonly logger: Logger;
  /** For agents without a program of their own: whether they could run; null leaves it open. */
  readonly credentials?: (agent: string) => boolean | null;
}

export interface Binaries {
  /** The program's path, or null. */
  readonly find: (adapter: Adapter) => string | null;
  /** What the agent's programs get of our environment. */
  readonly environment: (adapter: Adapter) => Readonly<Record<string, string>>;
  readonly describe: (adapter: Adapter) => Promise<Omit<AgentSummary, "hideData">>;
  /** The same without what takes time: no program is started. */
  readonly candidate: (adapter: Adapter) => Candidate;
  readonly install: (adapter: Adapter, options: InstallOptions) => Promise<void>;
  /** Removes what `install` installed; a program of the user's own stays. */
  readonly uninstall: (adapter: Adapter) => void;
  /** Ends programs that have not said their version yet. */
  readonly close: () => void;
}

export interface InstallOptions {
  readonly version?: string;
  readonly reinstall?: boolean;
}

export function openBinaries(options: BinariesOptions): Binaries {
  const versions = new Map<string, Promise<string | null>>();
  const closing = new AbortController();
  const find = (adapter: Adapter): string | null =>
    adapter.binary === null ? null : findBinary(adapter.binary, { ...options, agent: adapter.agent });
  const environment = ({ ownsVariable }: Adapter): Readonly<Record<string, string>> =>
    passedOn({ inherited: options.environment, pass: options.passEnv ?? [], owns: ownsVariable });
  const hasLogin = ({ agent, credentials }: Adapter): boolean =>
    options.credentials?.(agent) ?? hasCredentials(credentials, options.environment);
  return {
    find,
    environment,
    candidate: (adapter) => ({
      id: adapter.agent,
      installed: adapter.binary === null || find(adapter) !== null,
      // One that needs no login may be anything, or nothing yet: it is never chosen for anybody.
      credentialsAvailable: adapter.credentials !== null && hasLogin(adapter),
      isProgram: adapter.binary !== null,
    }),
    async describe(adapter) {
      const path = find(adapter);
      const ask = (program: string) =>
        askVersion(program, adapter, { env: environment(adapter), signal: closing.signal });
      const version = path === null ? null : await known(versions, path, () => ask(path));
      return {
        id: adapter.agent,
        name: adapter.name,
        installed: adapter.binary === null || path !== null,
        ...defined({ version: version ?? undefined, path: path ?? undefined }),
        folderTrust: adapter.folder !== null,
        credentialsAvailable: hasLogin(adapter),
        capabilities: { ...adapter.capabilities },
      };
    },
    uninstall: (adapter) => uninstall(adapter, { ...options, found: find(adapter) }),
    install: (adapter, asked) => install(adapter, { ...options, ...asked }),
    close: () => closing.abort(),
  };
}

interface Finding extends BinariesOptions {
  readonly agent: string;
}

/** PATH without projects' own programs, then what Franca installed. */
function findBinary(binary: Binary, { agent, toolsFolder, environment }: Finding): string | null {
  const candidates = [
    ...programFolders(environment.PATH).map((folder) => join(folder, binary.name)),
    ...installedPrograms(binary, join(toolsFolder, agent)),
  ];
  return candidates.find(isProgram) ?? null;
}

/** Without install scripts a package's own command may be a stub: the program itself comes first. */
function installedPrograms({ name, install }: Binary, folder: string): string[] {
  if (install.kind === "other") return [];
  const modules = join(folder, "node_modules");
  const filled = install.fallbacks.map((path) =>
    join(modules, path.replaceAll("{platform}", process.platform).replaceAll("{arch}", process.arch)),
  );
  return [...filled, join(modules, ".bin", name)];
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

function known(versions: Map<string, Promise<string | null>>, path: string, ask: () => Promise<string | null>) {
  // A program that was replaced has another time stamp, and so another version.
  const key = `${path}\0${statSync(path, { throwIfNoEntry: false })?.mtimeMs}`;
  const version = versions.get(key) ?? ask();
  versions.set(key, version);
  return version;
}

async function askVersion(
  path: string,
  adapter: Adapter,
  { env, signal }: Required<Pick<Running, "env" | "signal">>,
): Promise<string | null> {
  const args = adapter.binary?.versionArgs ?? [];
  const { code, output } = await runProgram(path, { args, env, signal, timeoutMs: VERSION_MS });
  return code === 0 ? (/\d+\.\d+[\w.+-]*/.exec(output)?.[0] ?? null) : null;
}

function hasCredentials(credentials: Credentials | null, environment: BinariesOptions["environment"]): boolean {
  if (credentials === null) return true;
  const home = environment.HOME ?? homedir();
  return (
    credentials.variables.some((name) => (environment[name] ?? "") !== "") ||
    credentials.files.some((file) => existsSync(join(home, file)))
  );
}

function uninstall(
  { agent, binary }: Adapter,
  { toolsFolder, found }: BinariesOptions & { found: string | null },
): void {
  if (binary === null)
    throw new ApiError("not_supported", `${agent} is part of Franca: there is nothing to uninstall.`);
  const folder = join(toolsFolder, agent);
  if (!existsSync(folder)) {
    const where = found === null ? "it is not installed" : `${found} was installed by somebody else`;
    throw new ApiError("not_supported", `Franca did not install ${agent}: ${where}.`);
  }
  rmSync(folder, { recursive: true, force: true });
}

async function install(adapter: Adapter, options: BinariesOptions & InstallOptions): Promise<void> {
  const { binary, agent } = adapter;
  if (binary === null) throw new ApiError("not_supported", `${agent} is part of Franca: there is nothing to install.`);
  if (binary.install.kind === "other") throw new ApiError("not_supported", binary.install.advice);
  const folder = join(options.toolsFolder, agent);
  const { version = binary.install.version, reinstall = false } = options;
  if (!/^[\w.+~^-]+$/.test(version)) throw new ApiError("invalid_request", `${version} is not a version.`);
  const installed = installedPrograms(binary, folder).some(isProgram);
  if (installed && !reinstall && options.version === undefined) return;
  if (reinstall) rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  // A package of its own, so that npm does not look for one in a parent folder.
  writeFileSync(join(folder, "package.json"), '{ "private": true }\n');
  const spec = `${binary.install.package}@${version}`;
  const args = ["install", "--ignore-scripts", "--no-fund", "--no-audit", "--engine-strict=false", spec];
  options.logger.info("agent.install_started", { agent, spec, folder });
  const { code, output } = await runProgram("npm", { args, cwd: folder, timeoutMs: INSTALL_MS });
  if (code !== 0 || !installedPrograms(binary, folder).some(isProgram)) {
    const reason = code === 0 ? "no program was found in it" : `npm ended with code ${code ?? "none"}`;
    throw new ApiError("install_failed", `${spec} could not be installed into ${folder}: ${reason}.\n${output}`);
  }
  options.logger.info("agent.installed", { agent, spec, folder });
}

interface Running {
  readonly args: readonly string[];
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
}

/** It is killed at its time, and not asked to end: one that hangs may be deaf to that too. */
function runProgram(command: string, { args, cwd, env, timeoutMs, signal }: Running) {
  return new Promise<{ code: number | null; output: string }>((resolve) => {
    const child = spawn(command, args, {
      cwd,
      env,
      stdio: ["ignore", "pipe", "pipe"],
      timeout: timeoutMs,
      killSignal: "SIGKILL",
      ...defined({ signal }),
    });
    let output = "";
    const keep = (chunk: Buffer): void => {
      output = (output + chunk.toString("utf8")).slice(-OUTPUT_LIMIT);
    };
    child.stdout.on("data", keep);
    child.stderr.on("data", keep);
    child.once("error", (error) => resolve({ code: null, output: error.message }));
    // What it started may still hold its pipes.
    child.once("exit", (_code, killed) => {
      if (killed === null) return;
      child.stdout.destroy();
      child.stderr.destroy();
    });
    child.once("close", (code) => resolve({ code, output }));
  });
}
