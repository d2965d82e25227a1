/** The packed packages, and folders in which they are installed with one version of Node. */
import { execFile, execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";

const given = (name: string): string => {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set: run npm run test:packages.`);
  return value;
};

export const clone = given("FRANCA_TEST_CLONE");
const folder = given("FRANCA_TEST_TARBALLS");
const tarball = (begins: RegExp): string => {
  const name = readdirSync(folder).find((file) => begins.test(file));
  if (name === undefined) throw new Error(`There is no ${begins} in ${folder}.`);
  return join(folder, name);
};
export const francaTarball = tarball(/^franca-\d/);
export const sdkTarball = tarball(/^franca-sdk-\d/);

const programs: Readonly<Record<string, string>> = JSON.parse(given("FRANCA_TEST_NODES"));
/** The versions of Node to test with, by their major number. */
export const nodes = Object.keys(programs);

export interface Place {
  readonly folder: string;
  readonly env: NodeJS.ProcessEnv;
  readonly run: (command: string, args: readonly string[], env?: NodeJS.ProcessEnv) => Promise<string>;
  readonly close: () => Promise<void>;
}

/** Where npm finds packages is this machine's matter; its home is the test's. */
function npmSettings(): NodeJS.ProcessEnv {
  const { HOME = "" } = process.env;
  const given = Object.entries(process.env).filter(([name]) => /^npm_config_|_proxy$/i.test(name));
  return {
    npm_config_cache: join(HOME, ".npm"),
    npm_config_userconfig: join(HOME, ".npmrc"),
    // npm looks for this beside the Node that runs it.
    npm_config_globalconfig: execFileSync("npm", ["config", "get", "globalconfig"], { encoding: "utf8" }).trim(),
    ...Object.fromEntries(
      given.filter(([name]) => !/^npm_config_(prefix|global|dry_run|omit|local_prefix)/i.test(name)),
    ),
  };
}

/** An empty folder with a home of its own, where `node`, `npm` and `npx` are of one version. */
export function emptyFolder(node: string): Place {
  const home = mkdtempSync(join(tmpdir(), `franca-node${node}-`));
  const at = join(home, "project");
  mkdirSync(at);
  writeFileSync(join(at, "package.json"), '{ "private": true }\n');
  const env = {
    PATH: `${dirname(programs[node] ?? "")}:${process.env.PATH}`,
    HOME: home,
    XDG_DATA_HOME: join(home, "share"),
    FRANCA_MOCK_DELAY_MS: "0",
    NO_COLOR: "1",
    ...npmSettings(),
    npm_config_fund: "false",
    npm_config_audit: "false",
    npm_config_update_notifier: "false",
  };
  const run: Place["run"] = async (command, args, extra = {}) => {
    const options = { cwd: at, env: { ...env, ...extra }, maxBuffer: 16 * 1024 * 1024 };
    return (await promisify(execFile)(command, [...args], options)).stdout;
  };
  return {
    folder: at,
    env,
    run,
    close: () => rm(home, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 }),
  };
}
