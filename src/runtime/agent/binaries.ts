/** The agents' programs: where they are, which version, whether they can log in, and how to get them. */
import { spawn } from "node:child_process";
import { accessSync, constants, existsSync, mkdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, isAbsolute, join } from "node:path";
import type { Adapter } from "../../core/adapter.ts";
import type { Binary } from "../../core/binary.ts";
import { ApiError } from "../../protocol/errors.ts";
import type { AgentSummary } from "../../protocol/resources.ts";
import type { Logger } from "../logger.ts";

const VERSION_MS = 10_000;
const INSTALL_MS = 900_000;
const OUTPUT_LIMIT = 16 * 1024;

export interface BinariesOptions {
  readonly toolsFolder: string;
  /** The project whose own programs are used: where we were started. */
  readonly projectFolder: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly logger: Logger;
  /** For agents without a program of their own: whether they could run; null leaves it open. */
  readonly credentials?: (agent: string) => boolean | null;
}

export interface Binaries {
  /** The program's path, or null. */
  readonly find: (adapter: Adapter) => string | null;
  readonly describe: (adapter: Adapter) => Promise<AgentSummary>;
  readonly install: (adapter: Adapter, options: InstallOptions) => Promise<void>;
}

export interface InstallOptions {
  readonly version?: string;
  readonly reinstall?: boolean;
}

export function openBinaries(options: BinariesOptions): Binaries {
  const versions = new Map<string, Promise<string | null>>();
  const find = (adapter: Adapter): string | null =>
    adapter.binary === null ? null : findBinary(adapter.binary, { ...options, agent: adapter.agent });
  return {
    find,
    async describe(adapter) {
      const path = find(adapter);
      const version = path === null || adapter.binary === null ? null : await known(versions, path, adapter.binary);
      return {
        id: adapter.agent,
        name: adapter.name,
        installed: adapter.binary === null || path !== null,
        ...(version === null ? {} : { version }),
        ...(path === null ? {} : { path }),
        credentialsAvailable:
          options.credentials?.(adapter.agent) ?? hasCredentials(adapter.binary, options.environment),
        capabilities: { ...adapter.capabilities },
      };
    },
    install: (adapter, asked) => install(adapter, { ...options, ...asked }),
  };
}

interface Finding extends BinariesOptions {
  readonly agent: string;
}

/** PATH, then the project's own programs, then what Franca installed. */
function findBinary(binary: Binary, { agent, toolsFolder, projectFolder, environment }: Finding): string | null {
  const onPath = (environment.PATH ?? "").split(delimiter).filter(isAbsolute);
  const candidates = [
    ...onPath.map((folder) => join(folder, binary.name)),
    join(projectFolder, "node_modules", ".bin", binary.name),
    ...installedPrograms(binary, join(toolsFolder, agent)),
  ];
  return candidates.find(isProgram) ?? null;
}

/** Without install scripts a package's own command may be a stub: the program itself comes first. */
function installedPrograms({ name, fallbacks }: Binary, folder: string): string[] {
  const modules = join(folder, "node_modules");
  const filled = fallbacks.map((path) =>
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

function known(versions: Map<string, Promise<string | null>>, path: string, binary: Binary) {
  // A program that was replaced has another time stamp, and so another version.
  const key = `${path}\0${statSync(path, { throwIfNoEntry: false })?.mtimeMs}`;
  const version = versions.get(key) ?? askVersion(path, binary);
  versions.set(key, version);
  return version;
}

async function askVersion(path: string, { versionArgs }: Binary): Promise<string | null> {
  const { code, output } = await runProgram(path, { args: versionArgs, timeoutMs: VERSION_MS });
  return code === 0 ? (/\d+\.\d+[\w.+-]*/.exec(output)?.[0] ?? null) : null;
}

function hasCredentials(binary: Binary | null, environment: BinariesOptions["environment"]): boolean {
  if (binary === null) return true;
  const home = environment.HOME ?? homedir();
  return (
    binary.credentialEnv.some((name) => (environment[name] ?? "") !== "") ||
    binary.credentialFiles.some((file) => existsSync(join(home, file)))
  );
}

async function install(adapter: Adapter, options: BinariesOptions & InstallOptions): Promise<void> {
  const { binary, agent } = adapter;
  if (binary === null) throw new ApiError("not_supported", `${agent} is part of Franca: there is nothing to install.`);
  const folder = join(options.toolsFolder, agent);
  const { version = "latest", reinstall = false } = options;
  if (!/^[\w.+~^-]+$/.test(version)) throw new ApiError("invalid_request", `${version} is not a version.`);
  const installed = installedPrograms(binary, folder).some(isProgram);
  if (installed && !reinstall && options.version === undefined) return;
  if (reinstall) rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  // A package of its own, so that npm does not look for one in a parent folder.
  writeFileSync(join(folder, "package.json"), '{ "private": true }\n');
  const spec = `${binary.package}@${version}`;
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
  readonly timeoutMs: number;
}

function runProgram(command: string, { args, cwd, timeoutMs }: Running) {
  return new Promise<{ code: number | null; output: string }>((resolve) => {
    const child = spawn(command, args, { cwd, stdio: ["ignore", "pipe", "pipe"], timeout: timeoutMs });
    let output = "";
    const keep = (chunk: Buffer): void => {
      output = (output + chunk.toString("utf8")).slice(-OUTPUT_LIMIT);
    };
    child.stdout.on("data", keep);
    child.stderr.on("data", keep);
    child.once("error", (error) => resolve({ code: null, output: error.message }));
    child.once("close", (code) => resolve({ code, output }));
  });
}
