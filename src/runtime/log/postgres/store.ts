/** What the parts of the Postgres log share: the client, who we are, and session keys. */
import { ApiError } from "../../../protocol/errors.ts";
import type { SessionId } from "../../../protocol/ids.ts";
import { noSession } from "../errors.ts";
import { integer, type Row } from "../rows.ts";
import type { Client, Queries, Value } from "./client.ts";

/** This host in this life: another start of the same host has another epoch. */
export interface Identity {
  readonly host: string;
  readonly epoch: number;
}

export interface Store {
  readonly client: Client;
  /** Who we are now; throws when the lease is over: nothing may be written then. */
  readonly holder: () => Identity;
  readonly holds: () => boolean;
  /** Who we are, or were. */
  readonly identity: () => Identity;
  /** For what changes something: what fails is remembered, and forgotten when it succeeds again. */
  readonly write: Queries["query"];
  readonly transaction: Client["transaction"];
  /** Notes a failure of storage, or that there is none. */
  readonly noting: <T>(work: () => Promise<T>) => Promise<T>;
  readonly failure: () => string | null;
  readonly work: { rows: number; bytes: number };
  readonly counts: { takeovers: number; fencedWrites: number };
}

type StoreOptions = Pick<Store, "client" | "holder" | "holds" | "identity">;

export function openStore({ client, holder, holds, identity }: StoreOptions): Store {
  let failure: string | null = null;
  const noting: Store["noting"] = async (work) => {
    try {
      const result = await work();
      failure = null;
      return result;
    } catch (error) {
      if (error instanceof ApiError && error.code === "storage_error") failure = error.message;
      throw error;
    }
  };
  return {
    client,
    holder,
    holds,
    identity,
    noting,
    write(sql, ...values) {
      return noting(async () => {
        holder();
        return client.query(sql, ...values);
      });
    },
    transaction(work) {
      return noting(async () => {
        holder();
        return client.transaction(work);
      });
    },
    failure: () => failure,
    work: { rows: 0, bytes: 0 },
    counts: { takeovers: 0, fencedWrites: 0 },
  };
}

/** The session's key; throws `session_not_found`. */
export async function keyOf({ query }: Queries, id: SessionId): Promise<number> {
  const [row] = await query("SELECT key FROM franca.sessions WHERE id = $1", id);
  if (row === undefined) throw noSession(id);
  return integer(row, "key");
}

/**
 * Rows of one session in one trip: `select` says `session.key` for it, and has a column named like each of `columns`.
 * A session without such rows gives none; no session is an error.
 */
export async function ofSession(
  store: Store,
  { id, select, values }: { id: SessionId; select: string; values: readonly Value[] },
): Promise<readonly Row[]> {
  const sql = `
    SELECT found.* FROM franca.sessions AS session LEFT JOIN LATERAL (SELECT true AS there, one.* FROM (${select}) AS one)
      AS found ON true
    WHERE session.id = $1`;
  const rows = await store.client.read(sql, id, ...values);
  if (rows.length === 0) throw noSession(id);
  return rows.filter(({ there }) => there === true);
}

export function count(store: Store, { rows, bytes }: { readonly rows: number; readonly bytes: number }): void {
  store.work.rows += rows;
  store.work.bytes += bytes;
}
