/**
 * Values that this host was given for its sessions and that no table has: one file for each session in the data folder,
 * which only its user can read. Another host that takes a session over does not have them.
 */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type SessionId, sessionId } from "../../../protocol/ids.ts";
import type { Values } from "../secrets.ts";

export interface Vault {
  readonly of: (id: SessionId) => Values;
  /** In place of all that was there for this session. */
  readonly put: (id: SessionId, values: Values) => void;
  readonly drop: (id: SessionId) => void;
  /** The sessions that something is stored for. */
  readonly sessions: () => readonly SessionId[];
}

const FOLDER = "secrets";

/** Without a folder they are in memory only. */
export const openVault = (folder: string | null): Vault =>
  folder === null ? memoryVault() : fileVault(join(folder, FOLDER));

function memoryVault(): Vault {
  const held = new Map<SessionId, Values>();
  return {
    of: (id) => held.get(id) ?? {},
    put: (id, values) => void (Object.keys(values).length === 0 ? held.delete(id) : held.set(id, values)),
    drop: (id) => void held.delete(id),
    sessions: () => [...held.keys()],
  };
}

interface Stored {
  readonly session: string;
  readonly values: Values;
}

function fileVault(folder: string): Vault {
  const fileOf = (id: SessionId): string => join(folder, `${createHash("sha256").update(id).digest("hex")}.json`);
  const read = (file: string): Stored | null => {
    if (!existsSync(file)) return null;
    const stored: Stored = JSON.parse(readFileSync(file, "utf8"));
    return stored;
  };
  const drop = (id: SessionId): void => rmSync(fileOf(id), { force: true });
  return {
    of: (id) => read(fileOf(id))?.values ?? {},
    put(id, values) {
      if (Object.keys(values).length === 0) return drop(id);
      const stored: Stored = { session: id, values };
      const file = fileOf(id);
      const draft = `${file}.${process.pid}`;
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      writeFileSync(draft, JSON.stringify(stored), { mode: 0o600 });
      renameSync(draft, file);
    },
    drop,
    sessions: () =>
      (existsSync(folder) ? readdirSync(folder) : [])
        .filter((name) => name.endsWith(".json"))
        .flatMap((name) => read(join(folder, name))?.session ?? [])
        .map(sessionId),
  };
}
