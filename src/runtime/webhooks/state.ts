/**
 * How far a webhook is, in a file of the data folder: the position in the log up to which events were looked at, those
 * that are not delivered yet, and dead letters. Only references are stored, never a body: the log has the events.
 */
import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import * as z from "zod";
import { WebhookEvent } from "../../protocol/webhooks.ts";

const Reference = z.object({ session: z.string(), sequence: z.number().int(), type: WebhookEvent });
const Pending = Reference.extend({ tries: z.number().int() });
const Dead = Reference.extend({ tries: z.number().int(), failedAt: z.string(), error: z.string() });
const Stored = z.object({
  position: z.number(),
  delivered: z.number().int(),
  pending: z.array(Pending),
  dead: z.array(Dead),
});

export type Dead = z.infer<typeof Dead>;
export type Reference = z.infer<typeof Reference>;
export type StoredState = z.infer<typeof Stored>;

export interface StateFile {
  /** Null when there is none, or none that can be read. */
  readonly read: () => StoredState | null;
  /** Stores what `state` gives at that time. Calls while a write is under way become one further write. */
  readonly save: () => Promise<void>;
  readonly remove: () => void;
}

export interface StateFileOptions {
  /** The data folder; null stores nothing. */
  readonly folder: string | null;
  readonly name: string;
  readonly state: () => StoredState;
}

const NOWHERE: StateFile = { read: () => null, save: async () => {}, remove: () => {} };

export function openStateFile({ folder, name, state }: StateFileOptions): StateFile {
  if (folder === null) return NOWHERE;
  const parent = join(folder, "webhooks");
  const file = join(parent, `${name}.json`);
  let writing: Promise<void> | null = null;
  let next: Promise<void> | null = null;
  const write = async (): Promise<void> => {
    mkdirSync(parent, { recursive: true, mode: 0o700 });
    const draft = `${file}.${process.pid}`;
    await writeFile(draft, JSON.stringify(state()), { mode: 0o600 });
    await rename(draft, file);
  };
  const start = (): Promise<void> => {
    writing = write().finally(() => {
      writing = null;
    });
    return writing;
  };
  return {
    read: () => readState(file),
    save() {
      if (writing === null) return start();
      next ??= writing
        .catch(() => {})
        .then(() => {
          next = null;
          return start();
        });
      return next;
    },
    remove: () => rmSync(file, { force: true }),
  };
}

function readState(file: string): StoredState | null {
  try {
    return Stored.parse(JSON.parse(readFileSync(file, "utf8")));
  } catch {
    return null;
  }
}
