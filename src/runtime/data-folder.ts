/**
 * The data folder is private to its user: made with 0700, tightened when its rights are wider, refused when it is
 * another user's. It holds the daemon's token, in a file that only its user can read.
 */
import { randomBytes, randomUUID } from "node:crypto";
import { chmodSync, linkSync, lstatSync, mkdirSync, readFileSync, rmSync, type Stats, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ApiError } from "../protocol/errors.ts";

const TOKEN_FILE = "token";
const TOKEN_BYTES = 32;
/** Rights of anybody but the owner. */
const OTHERS = 0o077;

export function openDataFolder(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const stats = lstatSync(`${folder}/.`);
    refuseForeign(folder, stats);
    if ((stats.mode & OTHERS) !== 0) chmodSync(folder, 0o700);
  } catch (error) {
    if (error instanceof ApiError) throw error;
    throw new ApiError("storage_error", `${folder} cannot be used as the data folder (${reasonOf(error)}).`, {
      cause: error,
    });
  }
}

/** The token of a data folder; null when none was made yet. */
export function readToken(folder: string): string | null {
  const file = join(folder, TOKEN_FILE);
  const stats = lstatSync(file, { throwIfNoEntry: false });
  if (stats === undefined) return null;
  refuseForeign(file, stats);
  const token = readFileSync(file, "utf8").trim();
  return token === "" ? null : token;
}

const AGENT_FILE = "default-agent";

/** The agent that a person chose as the default; null when nobody was asked yet. */
export function rememberedAgent(folder: string): string | null {
  const file = join(folder, AGENT_FILE);
  const stats = lstatSync(file, { throwIfNoEntry: false });
  if (stats === undefined || !stats.isFile()) return null;
  refuseForeign(file, stats);
  const agent = readFileSync(file, "utf8").trim();
  return /^[\w-]{1,64}$/.test(agent) ? agent : null;
}

export function rememberAgent(folder: string, agent: string): void {
  openDataFolder(folder);
  writeFileSync(join(folder, AGENT_FILE), `${agent}\n`, { mode: 0o600 });
}

/** Made at the first start. A token that other users could read is replaced: it may be known to them. */
export function ensureToken(folder: string): string {
  openDataFolder(folder);
  const file = join(folder, TOKEN_FILE);
  const stats = lstatSync(file, { throwIfNoEntry: false });
  // Empty when a former start was cut off by a full disk.
  if (stats !== undefined && ((stats.mode & OTHERS) !== 0 || stats.size === 0)) rmSync(file);
  return readToken(folder) ?? makeToken(file);
}

const HOST_FILE = "host-id";

/** Names this data folder among the hosts of a shared log, for ever. */
export function ensureHostId(folder: string): string {
  openDataFolder(folder);
  const file = join(folder, HOST_FILE);
  const stats = lstatSync(file, { throwIfNoEntry: false });
  if (stats === undefined || stats.size === 0) makeSecret(file, () => randomUUID());
  const id = readFileSync(file, "utf8").trim();
  if (/^[\w.-]{1,64}$/.test(id)) return id;
  throw new ApiError("storage_error", `${file} holds no id of a host: letters, digits, ".", "_" and "-", 64 at most.`);
}

const makeToken = (file: string): string => makeSecret(file, () => randomBytes(TOKEN_BYTES).toString("base64url"));

/** Of several processes that make it at once, one wins and all use what it made. */
function makeSecret(file: string, make: () => string): string {
  const draft = `${file}.${process.pid}`;
  try {
    writeFileSync(draft, `${make()}\n`, { mode: 0o600, flag: "wx" });
    linkSync(draft, file);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
  } finally {
    rmSync(draft, { force: true });
  }
  return readFileSync(file, "utf8").trim();
}

function refuseForeign(path: string, { uid }: Stats): void {
  const own = process.getuid?.();
  if (own === undefined || uid === own) return;
  throw new ApiError(
    "storage_error",
    `${path} belongs to another user (id ${uid}): choose a data folder of your own with --data.`,
  );
}

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
