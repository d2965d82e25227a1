/**
 * How a page gets in: a one-time code, exchanged for a credential of its own. The page never sees the token, and its
 * credential can be revoked without changing the token. Only hashes are stored.
 */
import { createHash, randomBytes } from "node:crypto";
import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { ApiError } from "../../protocol/errors.ts";

const CODE_BYTES = 16;
const CREDENTIAL_BYTES = 32;
const CODE_MS = 10 * 60_000;
const CREDENTIAL_MS = 30 * 86_400_000;
/** The oldest are dropped beyond this many. */
const MAX_CODES = 32;
const MAX_CREDENTIALS = 256;

export interface Granted {
  readonly value: string;
  /** RFC 3339. */
  readonly expiresAt: string;
}

export interface Logins {
  /** A new one-time code. */
  readonly makeCode: () => Granted;
  /** Takes a code, which is used up, and gives a page credential. */
  readonly exchange: (code: string) => Granted;
  /** Whether this is a page credential that is still valid. */
  readonly accepts: (credential: string) => boolean;
  /** The valid credential of this id, as its hash: a key that daemon and page share; null when there is none. */
  readonly keyOf: (id: string) => string | null;
  /** Ends all page credentials and codes. */
  readonly revoke: () => void;
}

const Stored = z.array(z.object({ hash: z.string(), expiresAt: z.number() }));

/** `folder`: where credentials are kept so that they survive a restart; null keeps them in memory only. */
export function openLogins({ folder, now = Date.now }: { folder: string | null; now?: () => number }): Logins {
  const codes = new Map<string, number>();
  const credentials = new Map(folder === null ? [] : read(folder));
  const add = (table: Map<string, number>, { bytes, ms, max }: { bytes: number; ms: number; max: number }): Granted => {
    const value = randomBytes(bytes).toString("base64url");
    const expiresAt = now() + ms;
    table.set(hash(value), expiresAt);
    for (const [key, until] of table) if (until <= now() || table.size > max) table.delete(key);
    return { value, expiresAt: new Date(expiresAt).toISOString() };
  };
  return {
    makeCode: () => add(codes, { bytes: CODE_BYTES, ms: CODE_MS, max: MAX_CODES }),
    exchange(code) {
      const key = hash(code);
      const until = codes.get(key);
      codes.delete(key);
      if (until === undefined || until <= now()) {
        throw new ApiError(
          "token_invalid",
          "This code was used already or has expired: `franca open` makes a new one.",
        );
      }
      const granted = add(credentials, { bytes: CREDENTIAL_BYTES, ms: CREDENTIAL_MS, max: MAX_CREDENTIALS });
      if (folder !== null) write(folder, credentials);
      return granted;
    },
    accepts: (credential) => (credentials.get(hash(credential)) ?? 0) > now(),
    keyOf: (id) => [...credentials].find(([key, until]) => until > now() && hash(key) === id)?.[0] ?? null,
    revoke() {
      codes.clear();
      credentials.clear();
      if (folder !== null) revokeLogins(folder);
    },
  };
}

const fileIn = (folder: string): string => join(folder, "page-logins.json");

/** Where no daemon runs, the file is all there is. */
export function revokeLogins(folder: string): void {
  rmSync(fileIn(folder), { force: true });
}

/** Looking up a hash reveals nothing of the value, however long it takes. */
const hash = (value: string): string => createHash("sha256").update(value).digest("base64url");

function read(folder: string): [string, number][] {
  try {
    return Stored.parse(JSON.parse(readFileSync(fileIn(folder), "utf8"))).map((one) => [one.hash, one.expiresAt]);
  } catch {
    // Missing, or not ours: pages log in again.
    return [];
  }
}

function write(folder: string, credentials: ReadonlyMap<string, number>): void {
  const stored = [...credentials].map(([key, expiresAt]) => ({ hash: key, expiresAt }));
  const draft = `${fileIn(folder)}.${process.pid}`;
  writeFileSync(draft, JSON.stringify(stored), { mode: 0o600 });
  renameSync(draft, fileIn(folder));
}
