/** The log on Postgres, which several hosts may open at once: each writes its own sessions and reads those of all. */
import type { SessionId } from "../../../protocol/ids.ts";
import type { Logger } from "../../logger.ts";
import { openCodec } from "../codec/codec.ts";
import type { EventLog } from "../contract.ts";
import { integer } from "../rows.ts";
import { openAppender } from "./append.ts";
import { type Client, openClient } from "./client.ts";
import { checkToken } from "./cluster.ts";
import { openCommands } from "./commands.ts";
import { openElsewhere } from "./elsewhere.ts";
import { hosts } from "./hosts.ts";
import { type LeaseOptions, openLease } from "./lease.ts";
import { placing } from "./placement.ts";
import { projections } from "./projections.ts";
import { reading } from "./read.ts";
import { records } from "./records.ts";
import { prepareDatabase } from "./schema.ts";
import { sweepVault } from "./settings.ts";
import { openStats } from "./stats.ts";
import { keyOf, openStore, type Store } from "./store.ts";
import { openVault } from "./vault.ts";
import { waiting } from "./waiting.ts";

/** A long session is deleted bit by bit, so that others are served in between. */
const DELETED_ROWS = 1_000;
const LEASE_MS = 15_000;
/** Renewals in the time of one lease. */
const HEARTBEATS = 3;
/** How old the known size may be. */
const SIZE_MS = 30_000;
const SIZE = `
  SELECT sum(pg_total_relation_size(oid)) AS bytes FROM pg_catalog.pg_class
  WHERE relnamespace = 'franca'::regnamespace AND relkind = 'r'`;

export interface PostgresOptions {
  /** With the password: it is shown nowhere. */
  readonly url: string;
  /** Checkpoints of another version of the code are not used. */
  readonly version: string;
  /** This host, for ever: a second life of it continues what the first one owned. */
  readonly host: string;
  /** Whether this host may run the sessions of hosts that are gone. */
  readonly takeOver?: boolean;
  readonly labels?: readonly string[];
  /** Sessions that may be open here before no more are placed here. */
  readonly maxSessions?: number;
  /** For secrets of sessions, which are in no table; without one they are forgotten when this host ends. */
  readonly folder?: string;
  /** All hosts of a database have the same one. */
  readonly token: string;
  /** Where other hosts reach this one; empty until it is known. */
  readonly address?: () => string;
  readonly leaseMs?: number;
  readonly heartbeatMs?: number;
  readonly connections?: number;
  readonly logger: Logger;
  readonly onRenewed?: (deadline: number) => void;
}

export async function openPostgresLog(options: PostgresOptions): Promise<EventLog> {
  const { url, connections, host } = options;
  const client = await openClient({ url, host, ...(connections === undefined ? {} : { connections }) });
  // Of its own: a renewal does not wait behind what a flood has queued.
  const leaseClient = await openClient({ url, host, connections: 1 });
  const close = async (): Promise<void> => {
    await Promise.all([client.close(), leaseClient.close()]);
  };
  try {
    return await open(options, { client, leaseClient, close });
  } catch (error) {
    await close();
    throw error;
  }
}

interface Clients {
  readonly client: Client;
  readonly leaseClient: Client;
  readonly close: () => Promise<void>;
}

async function open(options: PostgresOptions, { client, leaseClient, close }: Clients): Promise<EventLog> {
  const { version, host, logger } = options;
  await prepareDatabase(client);
  await checkToken(client, options.token);
  const { leaseMs = LEASE_MS } = options;
  const lease = await openLease(leaseOptions(options, { client: leaseClient, leaseMs }));
  const store = openStore({ client, ...lease });
  const elsewhere = await openElsewhere(client, store);
  const vault = openVault(options.folder ?? null);
  await sweepVault(vault, client.read);
  const codec = openCodec();
  const appender = openAppender(store, { version, codec });
  appender.onCommitted((groups) => elsewhere.committed(groups.at(-1)?.position ?? 0, groups.length));
  const size = await openSize(client);
  const onError = (error: unknown): void => logger.warn("commands.failed", { error });
  const { close: closeCommands, ...commands } = await openCommands(store, { leaseMs, onError });
  const { stats, close: closeStats } = await openStats(store, { client, lease });
  let closed = false;
  return {
    shared: true,
    ...records(store, vault),
    ...reading(store, { version, codec }),
    projections: projections(store, { version }),
    openWriter: codec.openWriter,
    append: appender.append,
    onCommitted: appender.onCommitted,
    onLost: lease.onLost,
    hosts: () => hosts(store),
    cluster: { self: host, commands, stats, draining: lease.draining, ...placing(store, vault), ...waiting(store) },
    async delete(id) {
      await appender.flushed();
      await deleteSession(store, { id, isClosed: () => closed });
      vault.drop(id);
    },
    position: elsewhere.position,
    changedElsewhere: elsewhere.changed,
    onElsewhere: elsewhere.onWake,
    failure: store.failure,
    size,
    work: () => ({ ...store.work }),
    async close() {
      if (closed) return;
      await appender.flushed();
      closed = true;
      closeCommands();
      closeStats();
      await lease.close();
      await close();
    },
  };
}

const leaseOptions = (
  options: PostgresOptions,
  { client, leaseMs }: Pick<LeaseOptions, "client" | "leaseMs">,
): LeaseOptions => ({
  client,
  host: options.host,
  address: options.address ?? (() => ""),
  version: options.version,
  takeOver: options.takeOver ?? false,
  labels: options.labels ?? [],
  maxSessions: options.maxSessions ?? null,
  leaseMs,
  heartbeatMs: options.heartbeatMs ?? leaseMs / HEARTBEATS,
  logger: options.logger,
  onRenewed: options.onRenewed ?? (() => {}),
});

/** Asked for in the background: what is known may be some seconds old. */
async function openSize(client: Client): Promise<() => number> {
  const ask = async (): Promise<number> => integer((await client.read(SIZE))[0] ?? {}, "bytes");
  let bytes = await ask();
  let at = performance.now();
  return () => {
    if (performance.now() - at > SIZE_MS) {
      at = performance.now();
      ask().then(
        (now) => {
          bytes = now;
        },
        () => {},
      );
    }
    return bytes;
  };
}

interface Deletion {
  readonly id: SessionId;
  readonly isClosed: () => boolean;
}

/** The session is gone with the first statement; its rows follow. The next delete takes up what a crash leaves. */
async function deleteSession(store: Store, { id, isClosed }: Deletion): Promise<void> {
  await keyOf({ query: store.client.read }, id);
  await store.write("UPDATE franca.sessions SET id = NULL, owner_host = NULL, owner_pid = NULL WHERE id = $1", id);
  for (const row of await store.client.read("SELECT key FROM franca.sessions WHERE id IS NULL")) {
    const key = integer(row, "key");
    for (const table of ["groups", "native", "records", "projections"]) {
      const column = table === "groups" ? "position" : "key";
      const some = `SELECT ${column} FROM franca.${table} WHERE session = $1 LIMIT ${DELETED_ROWS}`;
      const statement = `DELETE FROM franca.${table} WHERE ${column} IN (${some}) RETURNING session`;
      while (!isClosed() && (await store.write(statement, key)).length > 0);
    }
    if (isClosed()) return;
    await store.transaction(async ({ query }) => {
      for (const table of ["items", "prompts", "checkpoints"]) {
        await query(`DELETE FROM franca.${table} WHERE session = $1`, key);
      }
      await query("DELETE FROM franca.sessions WHERE key = $1", key);
    });
  }
}
