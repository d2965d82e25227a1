/**
 * The daemon's credentials: issued, found by their secret, listed, revoked. Only hashes of secrets are kept. Those of
 * agents and plugins end with the daemon; the others are stored and survive a restart.
 */
import { createHash, randomBytes } from "node:crypto";
import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { ApiError } from "../../protocol/errors.ts";
import { Action, CredentialKind, CredentialSurface } from "../../protocol/tokens.ts";
import { isDead } from "../../runtime/agent/process-table.ts";
import type { Credential, Grant } from "./credential.ts";

const SECRET_BYTES = 32;
const CODE_BYTES = 16;
const CODE_MS = 10 * 60_000;
const PAGE_MS = 30 * 86_400_000;
/** Maximum number of unused login codes; the oldest are dropped first. */
const MAX_CODES = 32;
/** Maximum number of credentials that are stored; the oldest are dropped first. */
const MAX_CREDENTIALS = 1024;
/** Interval between checks for credentials that have expired or whose process has ended. */
const SWEEP_MS = 2_000;

/** A secret that was just made. It is not kept. */
export interface Issued {
  readonly credential: Credential;
  readonly secret: string;
}

export interface FoundCredential {
  readonly credential: Credential;
  /** Aborted when the credential ends. */
  readonly ended: AbortSignal;
}

export interface Credentials {
  readonly issue: (grant: Grant) => Issued;
  /** The valid credential with this secret; null when there is none. */
  readonly find: (secret: string) => FoundCredential | null;
  /** The hash of the secret of a valid credential, which its holder can compute too; null when there is none. */
  readonly keyOf: (id: string) => string | null;
  /** Valid credentials, the newest first. */
  readonly list: () => readonly Credential[];
  /** Whether there was such a credential. */
  readonly revoke: (id: string) => boolean;
  /** Revokes all page credentials and all login codes. */
  readonly revokeLogins: () => void;
  /** Makes a one-time code, with which a page logs in. */
  readonly makeCode: () => { readonly code: string; readonly expiresAt: number };
  /** Uses up a code and issues the credential of a page. */
  readonly exchange: (code: string) => Issued;
}

export interface CredentialsOptions {
  /** Where credentials are stored; null: in memory only. */
  readonly folder: string | null;
  /** Aborted when credentials are no longer used. */
  readonly signal: AbortSignal;
  readonly now?: () => number;
}

interface Entry {
  readonly hash: string;
  readonly credential: Credential;
  readonly ending: AbortController;
}

export function openCredentials({ folder, signal, now = Date.now }: CredentialsOptions): Credentials {
  const codes = openCodes(now);
  const table = openTable({ folder, now });
  const sweep = setInterval(() => table.endAll(table.isOver), SWEEP_MS);
  sweep.unref();
  signal.addEventListener("abort", () => clearInterval(sweep), { once: true });
  const issue = (grant: Grant): Issued => {
    const secret = randomBytes(SECRET_BYTES).toString("base64url");
    const hash = hashOf(secret);
    const credential = { ...grant, id: hashOf(hash), createdAt: now() };
    table.add({ hash, credential, ending: new AbortController() });
    return { credential, secret };
  };
  const valid = (): Entry[] => [...table.entries.values()].filter((entry) => !table.isOver(entry));
  return {
    issue,
    find(secret) {
      const entry = table.entries.get(hashOf(secret));
      if (entry === undefined || table.isOver(entry)) return null;
      return { credential: entry.credential, ended: entry.ending.signal };
    },
    keyOf: (id) => valid().find(({ credential }) => credential.id === id)?.hash ?? null,
    list: () =>
      valid()
        .map(({ credential }) => credential)
        .reverse(),
    revoke(id) {
      const isKnown = valid().some(({ credential }) => credential.id === id);
      table.endAll(({ credential }) => credential.id === id);
      return isKnown;
    },
    revokeLogins() {
      codes.clear();
      table.endAll(({ credential }) => credential.kind === "page");
    },
    makeCode: codes.make,
    exchange(code) {
      codes.use(code);
      return issue(pageGrant(now() + PAGE_MS));
    },
  };
}

interface Table {
  /** By the hash of the secret, the oldest first. Looking up a hash takes no time that depends on the secret. */
  readonly entries: ReadonlyMap<string, Entry>;
  readonly add: (entry: Entry) => void;
  readonly endAll: (isEnded: (entry: Entry) => boolean) => void;
  readonly isOver: (entry: Entry) => boolean;
}

function openTable({ folder, now }: Required<Omit<CredentialsOptions, "signal">>): Table {
  const entries = new Map(folder === null ? [] : read(folder).map((entry) => [entry.hash, entry]));
  const store = (): void => {
    if (folder !== null) write(folder, [...entries.values()]);
  };
  const end = (entry: Entry): void => {
    entries.delete(entry.hash);
    entry.ending.abort();
  };
  return {
    entries,
    add(entry) {
      entries.set(entry.hash, entry);
      for (const old of [...entries.values()].filter(isStored).slice(0, -MAX_CREDENTIALS)) end(old);
      if (isStored(entry)) store();
    },
    endAll(isEnded) {
      const ended = [...entries.values()].filter(isEnded);
      for (const entry of ended) end(entry);
      if (ended.some(isStored)) store();
    },
    isOver: ({ credential: { expiresAt, process } }) =>
      (expiresAt !== null && expiresAt <= now()) || (process !== null && isDead(process)),
  };
}

interface Codes {
  readonly make: Credentials["makeCode"];
  /** Throws unless the code is valid. It is valid once. */
  readonly use: (code: string) => void;
  readonly clear: () => void;
}

function openCodes(now: () => number): Codes {
  const codes = new Map<string, number>();
  return {
    make() {
      const code = randomBytes(CODE_BYTES).toString("base64url");
      const expiresAt = now() + CODE_MS;
      codes.set(hashOf(code), expiresAt);
      for (const [key, until] of codes) if (until <= now() || codes.size > MAX_CODES) codes.delete(key);
      return { code, expiresAt };
    },
    use(code) {
      const until = codes.get(hashOf(code)) ?? 0;
      codes.delete(hashOf(code));
      if (until > now()) return;
      throw new ApiError("token_invalid", "This code was used already or has expired: `franca open` makes a new one.");
    },
    clear: () => codes.clear(),
  };
}

/** A page of the owner's: everything that the universal API offers, except what needs the token itself. */
const pageGrant = (expiresAt: number): Grant => ({
  kind: "page",
  surface: "v1",
  folders: null,
  sessions: [],
  actions: Action.options,
  expiresAt,
  process: null,
});

const isStored = ({ credential: { kind } }: Entry): boolean => kind !== "delegation" && kind !== "plugin";

const hashOf = (value: string): string => createHash("sha256").update(value).digest("base64url");

const Stored = z.array(
  z.object({
    hash: z.string(),
    kind: CredentialKind,
    surface: CredentialSurface,
    folders: z.array(z.string()).nullable(),
    sessions: z.array(z.string()),
    actions: z.array(Action),
    expiresAt: z.number().nullable(),
    process: z.object({ pid: z.number(), started: z.string() }).nullable(),
    createdAt: z.number(),
  }),
);

const fileIn = (folder: string): string => join(folder, "credentials.json");

function read(folder: string): Entry[] {
  try {
    return Stored.parse(JSON.parse(readFileSync(fileIn(folder), "utf8"))).map(({ hash, ...grant }) => ({
      hash,
      credential: { ...grant, id: hashOf(hash) },
      ending: new AbortController(),
    }));
  } catch {
    // The file is missing or damaged: clients log in again.
    return [];
  }
}

function write(folder: string, entries: readonly Entry[]): void {
  const stored = entries.filter(isStored).map(({ hash, credential: { id: _id, ...grant } }) => ({ hash, ...grant }));
  if (stored.length === 0) {
    rmSync(fileIn(folder), { force: true });
    return;
  }
  const draft = `${fileIn(folder)}.${process.pid}`;
  writeFileSync(draft, JSON.stringify(stored), { mode: 0o600 });
  renameSync(draft, fileIn(folder));
}
