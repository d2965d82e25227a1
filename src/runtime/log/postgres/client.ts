/**
 * Postgres by one small interface: a bounded pool, prepared statements, and errors that say what to do. The password,
 * the statements' values and the address with its credentials appear in no error.
 */
import type { Sql } from "postgres";
import { ApiError } from "../../../protocol/errors.ts";
import type { Row } from "../rows.ts";
import { codeOf, placeOf, storageError, type WrittenPlace } from "./errors.ts";

export type Value = null | number | string | boolean | Uint8Array;

export interface Queries {
  /** Rows of one statement with `$1`, `$2` … ; several statements without values. */
  readonly query: (sql: string, ...values: readonly Value[]) => Promise<readonly Row[]>;
}

export interface Client extends Queries {
  readonly place: WrittenPlace;
  /** What its connections call themselves. */
  readonly name: string;
  /** What is under way, and what waits for a connection. */
  readonly load: () => { readonly busy: number; readonly waiting: number };
  /** The same for what changes nothing: tried again for a while when the connection was cut. */
  readonly read: Queries["query"];
  readonly transaction: <T>(work: (queries: Queries) => Promise<T>) => Promise<T>;
  /** `onWake` gets the text that was sent; null when it listens (again) and something may have been missed. */
  readonly listen: (channel: string, onWake: (payload: string | null) => void) => Promise<void>;
  readonly close: () => Promise<void>;
}

export interface ClientOptions {
  readonly url: string;
  /** Connections at most, besides the one that listens. */
  readonly connections?: number;
  /** Whose connections they are, for the database's administrator. */
  readonly host?: string;
}

const CONNECTIONS = 8;
/** Connections for transactions, which are part of these. */
const TRANSACTIONS = 2;
const CONNECT_S = 10;
const STATEMENT_MS = 30_000;
const IDLE_IN_TRANSACTION_MS = 30_000;
/** Longer than the server allows a statement. */
const ANSWER_MS = 40_000;
const RECONNECT_FIRST_S = 0.05;
const RECONNECT_LONGEST_S = 1;
/** How long a read is tried again after its connection was cut, and how long it waits in between. */
const READ_AGAIN_MS = 5_000;
const READ_PAUSE_MS = 100;
const CLOSE_S = 5;
/** Postgres keeps no more of a connection's name. */
const NAME_LENGTH = 63;

export async function openClient({ url, connections = CONNECTIONS, host }: ClientOptions): Promise<Client> {
  const place = placeOf(url);
  const name = (host === undefined ? "franca" : `franca ${host}`).slice(0, NAME_LENGTH);
  const noted = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      throw storageError(place, error);
    }
  };
  // Even its complaint about an address may repeat it.
  const pool = await noted(() => openPool({ url, connections: Math.max(1, connections - TRANSACTIONS), name }));
  const transactions = await noted(() => openTransactions({ url, name }));
  // Of its own: it is never replaced, and listens again by itself.
  const wakes = await noted(() => openPool({ url, connections: 1, name }));
  let used = 0;
  const guard = <T>(work: () => Promise<T>): Promise<T> =>
    noted(async () => {
      used += 1;
      try {
        return await work();
      } finally {
        used -= 1;
      }
    });
  const query: Queries["query"] = (text, ...values) => guard(() => pool.use((sql) => ask(sql, text, values)));
  return {
    place,
    name,
    load: () => ({ busy: Math.min(used, connections), waiting: Math.max(0, used - connections) }),
    query,
    read: (text, ...values) => again(() => query(text, ...values)),
    transaction: (work) => guard(() => transactions.run(work)),
    listen: (channel, onWake) =>
      noted(() => wakes.use(async (sql) => void (await sql.listen(channel, onWake, () => onWake(null))))),
    close: () => noted(async () => void (await Promise.all([pool.close(), transactions.close(), wakes.close()]))),
  };
}

interface Transactions {
  readonly run: <T>(work: (queries: Queries) => Promise<T>) => Promise<T>;
  readonly close: () => Promise<void>;
}

interface TransactionConnection {
  readonly sql: Sql;
  ended: boolean;
}

/**
 * Transactions have connections of their own. Quirks of the library: `begin` sends its rollback after the connection
 * has ended, which ends the whole process, and `reserve` never resolves when it has to open a connection. A connection
 * that has ended is replaced: the library would run the rest of the transaction on a new one, without it.
 */
async function openTransactions(options: Omit<PoolOptions, "connections">): Promise<Transactions> {
  const connect = await load({ ...options, connections: 1 });
  const idle: TransactionConnection[] = [];
  const waiting: (() => void)[] = [];
  let used = 0;
  const open = (): TransactionConnection => {
    const onClose = (): void => {
      connection.ended = true;
    };
    const connection: TransactionConnection = { sql: connect(onClose), ended: false };
    return connection;
  };
  const take = async (): Promise<TransactionConnection> => {
    while (used >= TRANSACTIONS) await new Promise<void>((resolve) => waiting.push(resolve));
    used += 1;
    const known = idle.pop();
    return known === undefined || known.ended ? open() : known;
  };
  const give = (connection: TransactionConnection): void => {
    used -= 1;
    if (connection.ended) connection.sql.end({ timeout: 0 }).catch(() => {});
    else idle.push(connection);
    waiting.shift()?.();
  };
  return {
    async run(work) {
      const connection = await take();
      try {
        return await limited(inTransaction(connection, work));
      } catch (error) {
        if (BROKEN.test(codeOf(error))) connection.ended = true;
        throw error;
      } finally {
        give(connection);
      }
    },
    close: async () => void (await Promise.all(idle.map(({ sql }) => sql.end({ timeout: CLOSE_S })))),
  };
}

async function inTransaction<T>(connection: TransactionConnection, work: (queries: Queries) => Promise<T>): Promise<T> {
  const query: Queries["query"] = async (text, ...values) => {
    if (connection.ended) throw Object.assign(new Error("the connection ended"), { code: "CONNECTION_CLOSED" });
    return ask(connection.sql, text, values);
  };
  await query("BEGIN");
  try {
    const result = await work({ query });
    await query("COMMIT");
    return result;
  } catch (error) {
    if (!connection.ended && !BROKEN.test(codeOf(error))) await query("ROLLBACK");
    throw error;
  }
}

interface PoolOptions {
  readonly url: string;
  readonly connections: number;
  readonly name: string;
}

interface Pool {
  readonly use: <T>(work: (sql: Sql) => Promise<T>) => Promise<T>;
  readonly close: () => Promise<unknown>;
}

/** What a connection says that ended in the middle of something; one that was refused has begun nothing. */
const BROKEN = /^(08...|57P0[1-5]|CONNECTION_|CONNECT_TIMEOUT|ECONNRESET|EPIPE)/;

/**
 * Quirk: where a connection ends in mid-answer, the library keeps how many rows had come and what was not sent yet, and
 * uses both for the next connection: rows come in wrong places, or nothing is sent any more. So it is replaced then.
 */
async function openPool(options: PoolOptions): Promise<Pool> {
  const open = await load(options);
  let current = open(() => {});
  return {
    async use(work) {
      const sql = current;
      try {
        return await limited(work(sql));
      } catch (error) {
        if (sql === current && BROKEN.test(codeOf(error))) {
          current = open(() => {});
          // What else is under way there has a moment to end.
          sql.end({ timeout: CLOSE_S }).catch(() => {});
        }
        throw error;
      }
    },
    close: () => current.end({ timeout: CLOSE_S }),
  };
}

async function load({ url, connections, name }: PoolOptions): Promise<(onClose: () => void) => Sql> {
  const { default: postgres } = await import("postgres").catch((error: unknown) => {
    const reason = error instanceof Error ? error.message.split("\n")[0] : String(error);
    const advice = "Install Franca with its optional dependencies, or `npm install postgres` beside it.";
    throw new ApiError("storage_error", `The package postgres cannot be loaded (${reason}). ${advice}`);
  });
  const open = (onClose: () => void): Sql =>
    postgres(url, {
      max: connections,
      connect_timeout: CONNECT_S,
      backoff: (retries) => Math.min(RECONNECT_FIRST_S * 2 ** retries, RECONNECT_LONGEST_S),
      // Types of arrays are not asked for at every connection: we use none.
      fetch_types: false,
      onnotice: () => {},
      onclose: onClose,
      connection: {
        application_name: name,
        statement_timeout: STATEMENT_MS,
        idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS,
      },
    });
  return open;
}

async function ask(sql: Sql, text: string, values: readonly Value[]): Promise<readonly Row[]> {
  // Postgres stores no zero byte in a text: the caller made a mistake, and the storage is fine.
  if (values.some((value) => typeof value === "string" && value.includes("\0"))) {
    throw new ApiError("invalid_request", "A text with a zero byte in it cannot be stored.");
  }
  const rows = await sql.unsafe<Row[]>(text, [...values], { prepare: true });
  // Without holes, which another query's rows may have left (see openPool).
  return rows.filter((row: Row | undefined) => row !== undefined);
}

/** An answer that never comes, because its connection was lost unnoticed, must not be waited for without an end. */
async function limited<T>(work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const error = Object.assign(new Error("no answer in time"), { code: "CONNECT_TIMEOUT" });
    timer = setTimeout(() => reject(error), ANSWER_MS);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Only after a cut connection: any other error would come again. */
async function again<T>(work: () => Promise<T>): Promise<T> {
  const until = performance.now() + READ_AGAIN_MS;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      const isCut = error instanceof ApiError && error.cause instanceof Error && error.cause.name === "CutConnection";
      if (!isCut || performance.now() > until) throw error;
      await new Promise((resolve) => setTimeout(resolve, READ_PAUSE_MS));
    }
  }
}
