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
/** How long a transaction may still run after a connection of its pool has ended. */
const ENDED_MS = 2_000;
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
  const pool = await noted(() => openPool({ url, connections, name }));
  // Of its own: it is never replaced, and listens again by itself.
  const wakes = await noted(() => openPool({ url, connections: 1, name }));
  let used = 0;
  const guard = <T>(work: PoolWork<T>): Promise<T> =>
    noted(async () => {
      used += 1;
      try {
        return await pool.use(work);
      } finally {
        used -= 1;
      }
    });
  const query: Queries["query"] = (text, ...values) => guard((sql) => ask(sql, text, values));
  return {
    place,
    name,
    load: () => ({ busy: Math.min(used, connections), waiting: Math.max(0, used - connections) }),
    query,
    read: (text, ...values) => again(() => query(text, ...values)),
    transaction: (work) => guard((sql, ended) => inTransaction(sql, ended, work)),
    listen: (channel, onWake) =>
      noted(() => wakes.use(async (sql) => void (await sql.listen(channel, onWake, () => onWake(null))))),
    close: () => noted(async () => void (await Promise.all([pool.close(), wakes.close()]))),
  };
}

/**
 * Quirk: a statement that is sent after its connection has ended ends the whole process, and the library's own
 * transactions send their rollback so. Here nothing more is sent then; the pool is replaced, and its connections end.
 */
function inTransaction<T>(sql: Sql, onEnded: OnEnded, work: (queries: Queries) => Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    // Quirk: the library never settles a statement that it is given for a reserved connection that has ended.
    const forget = onEnded(() =>
      reject(Object.assign(new Error("the connection ended"), { code: "CONNECTION_CLOSED" })),
    );
    performTransaction(sql, work).finally(forget).then(resolve, reject);
  });
}

async function performTransaction<T>(sql: Sql, work: (queries: Queries) => Promise<T>): Promise<T> {
  const reserved = await sql.reserve();
  try {
    await reserved.unsafe("BEGIN");
    const result = await work({ query: (text, ...values) => ask(reserved, text, values) });
    await reserved.unsafe("COMMIT");
    reserved.release();
    return result;
  } catch (error) {
    if (!BROKEN.test(codeOf(error))) {
      await reserved.unsafe("ROLLBACK");
      reserved.release();
    }
    throw error;
  }
}

interface PoolOptions {
  readonly url: string;
  readonly connections: number;
  readonly name: string;
}

/** Subscribes to the end of a connection of the pool, some time after it. Returns how to unsubscribe. */
type OnEnded = (subscriber: () => void) => () => void;
type PoolWork<T> = (sql: Sql, onEnded: OnEnded) => Promise<T>;

interface Pool {
  readonly use: <T>(work: PoolWork<T>) => Promise<T>;
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
  const ends = openEnds();
  let current = open(ends.onClose);
  return {
    async use(work) {
      const sql = current;
      try {
        return await limited(work(sql, ends.subscribe));
      } catch (error) {
        if (sql === current && BROKEN.test(codeOf(error))) {
          current = open(ends.onClose);
          // What else is under way there has a moment to end.
          sql.end({ timeout: CLOSE_S }).catch(() => {});
        }
        throw error;
      }
    },
    close: () => current.end({ timeout: CLOSE_S }),
  };
}

/** Connections that end, whichever it was: transactions that run then have a moment to finish. */
function openEnds(): { readonly onClose: () => void; readonly subscribe: OnEnded } {
  const subscribers = new Set<() => void>();
  return {
    onClose() {
      const running = [...subscribers];
      const end = (): void => {
        for (const subscriber of running) if (subscribers.has(subscriber)) subscriber();
      };
      if (running.length > 0) setTimeout(end, ENDED_MS).unref();
    },
    subscribe(subscriber) {
      subscribers.add(subscriber);
      return () => subscribers.delete(subscriber);
    },
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
