/** The Postgres server that `npm run test:postgres` has started: databases for tests, made once per folder. */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { basename, join } from "node:path";
import postgres from "postgres";
import type { EventLog } from "../../src/runtime/log/contract.ts";
import { openPostgresLog, type PostgresOptions } from "../../src/runtime/log/postgres/open.ts";
import { silentLogger } from "../../src/runtime/logger.ts";

interface Server {
  readonly bin: string;
  readonly data: string;
  readonly folder: string;
  readonly port: number;
  readonly password: string;
  readonly user: { readonly uid: number; readonly gid: number } | null;
}

function serverOf(): Server {
  const text = process.env.FRANCA_TEST_POSTGRES;
  if (text === undefined) throw new Error("Run these tests with npm run test:postgres.");
  const server: Server = JSON.parse(text);
  return server;
}

export const password = (): string => serverOf().password;
export const urlOf = (database: string, { port }: { port?: number } = {}): string =>
  `postgres://franca:${serverOf().password}@127.0.0.1:${port ?? serverOf().port}/${database}`;

export const serverPort = (): number => serverOf().port;

/** Runs statements as the administrator. */
export async function administer(database: string, ...statements: readonly string[]): Promise<readonly object[]> {
  const sql = postgres(urlOf(database), { max: 1, onnotice: () => {} });
  try {
    let rows: readonly object[] = [];
    for (const statement of statements) rows = await sql.unsafe(statement);
    return [...rows];
  } finally {
    await sql.end();
  }
}

const made = new Set<string>();

/** The database of a folder: the same one when it is asked for again. */
export async function databaseOf(folder: string): Promise<string> {
  const name = `t_${createHash("sha256").update(basename(folder)).digest("hex").slice(0, 16)}`;
  if (made.has(name)) return name;
  await administer("postgres", `CREATE DATABASE ${name}`);
  made.add(name);
  return name;
}

export async function openLog(folder: string, more: Partial<PostgresOptions> = {}): Promise<EventLog> {
  const url = urlOf(await databaseOf(folder));
  return openPostgresLog({
    url,
    version: "1",
    host: "one",
    token: "of all hosts",
    logger: silentLogger,
    connections: 4,
    ...more,
  });
}

/** Stops the server as if it had crashed, and starts it again. */
export const restartServer = (): void => controlServer("restart", "-m", "immediate");

/** Stops the server as if it had crashed. */
export const stopServer = (): void => controlServer("stop", "-m", "immediate");

/** Starts the server after `stopServer`, with the same port. */
export const startServer = (): void => {
  // `pg_ctl restart` reads the options of the last start from the same file.
  const options = readFileSync(join(serverOf().data, "postmaster.opts"), "utf8");
  controlServer("start", "-o", options.trim().replace(/^\S+\s+/, ""));
};

function controlServer(command: "start" | "stop" | "restart", ...more: readonly string[]): void {
  const { bin, data, folder, user } = serverOf();
  const log = command === "stop" ? [] : ["-l", join(folder, "server.log")];
  const options = [command, "-D", data, "-w", "-t", "60", ...log, ...more];
  const identity = user === null ? {} : { uid: user.uid, gid: user.gid };
  const { status } = spawnSync(join(bin, "pg_ctl"), options, { cwd: folder, stdio: "ignore", ...identity });
  if (status !== 0) throw new Error(`pg_ctl ${command} failed (${status}).`);
}
