/** Makes a checkout ready: installs when the lock file has changed, builds when a source is newer than the bundle. */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const root = dirname(dirname(fileURLToPath(import.meta.url)));

const lockFile = join(root, "package-lock.json");
const installedLock = join(root, "node_modules", ".package-lock.json");
const installedStamp = join(root, "node_modules", ".franca-installed");

/** Written by scripts/build.js when a build is complete. */
export const builtStamp = join(root, "dist", ".built");
const buildInputs = [
  "src",
  "web",
  "package.json",
  "package-lock.json",
  "scripts/build.js",
  "scripts/build-types.js",
  "scripts/schema-types.js",
];

refuseWindows();

export function ensureInstalled() {
  const wanted = installKey();
  if (existsSync(installedStamp) && readFileSync(installedStamp, "utf8") === wanted) return;
  // A manual `npm ci` leaves no stamp of ours; npm's own record tells that it is newer than the lock file.
  const byHand = !existsSync(installedStamp) && existsSync(installedLock) && newest(lockFile) <= newest(installedLock);
  if (!byHand) {
    console.error("Installing dependencies…");
    // What is missing is built by whoever asked for the installation.
    run("npm", ["ci", "--no-fund", "--no-audit"], { env: { FRANCA_PREPARE: "no" } });
  }
  writeFileSync(installedStamp, wanted);
}

export function ensureBuilt() {
  if (existsSync(builtStamp)) {
    const built = statSync(builtStamp).mtimeMs;
    if (buildInputs.every((path) => newest(join(root, path)) <= built)) return;
  }
  console.error("Building…");
  run(process.execPath, [join(root, "scripts", "build.js"), "--no-types"]);
}

/** Runs a command in the repository, showing its output; ends this process with its code when it fails. */
export function run(command, args, options = {}) {
  const code = tryRun(command, args, options);
  if (code !== 0) process.exit(code);
}

export function tryRun(command, args, { env = {} } = {}) {
  const { status, error } = spawnSync(command, args, {
    cwd: root,
    stdio: "inherit",
    env: { ...process.env, ...env },
  });
  if (error) console.error(`${command} could not be started: ${error.message}`);
  return status ?? 1;
}

/** A tool of node_modules/.bin, run with this Node. */
export const tool = (name) => join(root, "node_modules", ".bin", name);

/** Native modules depend on Node's major version, so the stamp does too. */
function installKey() {
  const lock = createHash("sha256").update(readFileSync(lockFile)).digest("hex");
  return `${lock} node ${process.versions.modules}\n`;
}

/** The newest time in a tree. Folders count, because removing a file changes only its folder. */
function newest(path) {
  if (!existsSync(path)) return 0;
  const { mtimeMs } = statSync(path);
  if (!statSync(path).isDirectory()) return mtimeMs;
  const children = readdirSync(path).filter((name) => name !== "node_modules" && name !== "dist");
  return Math.max(mtimeMs, ...children.map((name) => newest(join(path, name))));
}

function refuseWindows() {
  if (process.platform !== "win32") return;
  console.error("Franca runs on Linux and macOS. On Windows, use it inside WSL.");
  process.exit(1);
}
