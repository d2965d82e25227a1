/**
 * A Postgres server of our own for tests: in a temporary folder, on a free port of loopback, as a user without rights
 * (Postgres refuses to run as root), stopped at the end. In CI it is installed from the distribution's packages.
 */
import { spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { basename, delimiter, dirname, join } from "node:path";
import { installed } from "./tools.js";

const distribution = "/usr/lib/postgresql";
const attempts = 3;

/** The folder of its programs, the newest first; undefined when there is none. */
export function findPostgres() {
  const versions = existsSync(distribution) ? readdirSync(distribution).sort((a, b) => Number(b) - Number(a)) : [];
  const folders = [
    ...versions.map((version) => join(distribution, version, "bin")),
    ...(process.env.PATH ?? "").split(delimiter),
  ];
  return folders.find((folder) => ["initdb", "postgres", "pg_ctl"].every((name) => existsSync(join(folder, name))));
}

export function installPostgres() {
  const root = process.getuid?.() === 0 ? [] : ["sudo"];
  for (const args of [
    ["update", "-qq"],
    ["install", "-y", "-qq", "--no-install-recommends", "postgresql"],
  ]) {
    const [command, ...rest] = [...root, "apt-get", ...args];
    const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
    const { status } = spawnSync(command, rest, { stdio: ["ignore", "ignore", "inherit"], env });
    if (status !== 0) return;
  }
}

/**
 * The newest Postgres, copied to where a user without rights can run it: its programs, and `remove`. Links are not in
 * the package; it names them in a file.
 */
export function copyNewest() {
  const from = join(dirname(installed("postgres")), "..");
  const folder = mkdtempSync(join(tmpdir(), "franca-postgres-newest-"));
  const native = join(folder, "native");
  cpSync(from, native, { recursive: true });
  for (const { source, target } of JSON.parse(readFileSync(join(native, "pg-symlinks.json"), "utf8"))) {
    rmSync(join(folder, target), { force: true });
    symlinkSync(basename(source), join(folder, target));
  }
  chmodSync(folder, 0o755);
  const bin = join(native, "bin");
  for (const name of readdirSync(bin)) chmodSync(join(bin, name), 0o755);
  return { bin, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

/** Returns what tests need to reach, stop and start it, and `remove`. */
export async function startPostgres(bin, { fsync = "off" } = {}) {
  const user = unprivileged();
  const folder = mkdtempSync(join(tmpdir(), "franca-postgres-"));
  const remove = () => rmSync(folder, { recursive: true, force: true });
  try {
    const password = randomBytes(12).toString("hex");
    const passwordFile = join(folder, "password");
    writeFileSync(passwordFile, password, { mode: 0o600 });
    if (user !== null) for (const path of [folder, passwordFile]) chownSync(path, user.uid, user.gid);
    const data = join(folder, "data");
    const run = (name, args) => program(join(bin, name), args, { folder, user });
    run("initdb", ["-D", data, "-U", "franca", "--auth=scram-sha-256", `--pwfile=${passwordFile}`, "-E", "UTF8", "-N"]);
    const port = await start({ run, data, folder, fsync });
    const server = { bin, data, folder, port, password, user };
    return {
      server,
      stop() {
        run("pg_ctl", ["stop", "-D", data, "-m", "immediate", "-w"]);
        remove();
      },
    };
  } catch (error) {
    remove();
    throw error;
  }
}

/** Another program may take the port between our look and the server's start. */
async function start({ run, data, folder, fsync }) {
  for (let attempt = 1; ; attempt += 1) {
    const port = await freePort();
    // Tests end processes, never the machine: what was handed to the system is safe.
    const settings = `-p ${port} -k ${folder} -c listen_addresses=127.0.0.1 -c fsync=${fsync} -c max_connections=200`;
    try {
      run("pg_ctl", ["start", "-D", data, "-l", join(folder, "server.log"), "-w", "-t", "60", "-o", settings]);
      return port;
    } catch (error) {
      if (attempt === attempts) throw error;
    }
  }
}

function program(file, args, { folder, user }) {
  const identity = user === null ? {} : { uid: user.uid, gid: user.gid };
  // Its output goes to no pipe: the server would keep it open.
  const { status, error } = spawnSync(file, args, {
    cwd: folder,
    stdio: "ignore",
    env: { PATH: process.env.PATH, LC_ALL: "C", HOME: folder },
    ...identity,
  });
  if (status !== 0) throw new Error(`${file} ${args[0]} failed (${error?.message ?? status}).`);
}

/** For root, another user: the packages' own, or nobody. */
function unprivileged() {
  if (process.getuid?.() !== 0) return null;
  for (const name of ["postgres", "nobody"]) {
    const ids = ["-u", "-g"].map((flag) => spawnSync("id", [flag, name], { encoding: "utf8" }));
    if (ids.every(({ status }) => status === 0)) return { uid: Number(ids[0].stdout), gid: Number(ids[1].stdout) };
  }
  throw new Error("There is no user to run Postgres as.");
}

function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}
