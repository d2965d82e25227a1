/** What an operator wants to know of this host: its lease, what it has taken and lost, notifications, connections. */
import type { HostStats } from "../hosts-contract.ts";
import { integer } from "../rows.ts";
import type { Client } from "./client.ts";
import type { Lease } from "./lease.ts";
import type { Store } from "./store.ts";

const PROBE_CHANNEL = "franca_probe";
/** How often a notification is sent to ourselves, to see how long it takes. */
const PROBE_MS = 5_000;
/** How old the counts of the database may be. */
const COUNTS_MS = 5_000;
const COUNTS = `
  SELECT (SELECT count(*) FROM pg_catalog.pg_stat_activity WHERE application_name = $1) AS open,
    (SELECT count(*) FROM franca.sessions WHERE home = '' AND id IS NOT NULL) AS waiting`;

export interface Stats {
  readonly stats: () => HostStats;
  readonly close: () => void;
}

export async function openStats(store: Store, { client, lease }: { client: Client; lease: Lease }): Promise<Stats> {
  const probe = await openProbe(store);
  const counts = await openCounts(client);
  return {
    stats() {
      const { open, waiting } = counts();
      const { busy, waiting: queued } = client.load();
      return {
        takeovers: store.counts.takeovers,
        fencedWrites: store.counts.fencedWrites,
        leasesLost: lease.lost(),
        leaseMs: lease.remainingMs(),
        notifyLagMs: probe.lagMs(),
        waitingSessions: waiting,
        connections: { open, busy, waiting: queued },
      };
    },
    close: probe.close,
  };
}

interface Probe {
  readonly lagMs: () => number;
  readonly close: () => void;
}

/** By one clock, and it grows while notifications do not arrive. */
async function openProbe({ client, identity }: Store): Promise<Probe> {
  let sent: { readonly name: string; readonly at: number } | null = null;
  let lag = 0;
  let number = 0;
  const send = (): void => {
    // One that has not arrived is waited for.
    if (sent !== null && performance.now() - sent.at < PROBE_MS * 2) return;
    number += 1;
    const { host, epoch } = identity();
    const name = `${host} ${epoch} ${number}`;
    const at = sent?.at ?? performance.now();
    sent = { name, at };
    client.query(`SELECT pg_notify('${PROBE_CHANNEL}', $1)`, name).catch(() => {});
  };
  await client.listen(PROBE_CHANNEL, (name) => {
    if (sent === null || name !== sent.name) return;
    lag = performance.now() - sent.at;
    sent = null;
  });
  const timer = setInterval(send, PROBE_MS).unref();
  return {
    lagMs: () => (sent === null ? lag : Math.max(lag, performance.now() - sent.at)),
    close: () => clearInterval(timer),
  };
}

interface Counts {
  readonly open: number;
  readonly waiting: number;
}

/** Asked for in the background, so that a database that does not answer delays nobody. */
async function openCounts(client: Client): Promise<() => Counts> {
  const ask = async (): Promise<Counts> => {
    const [row = {}] = await client.read(COUNTS, client.name);
    return { open: integer(row, "open"), waiting: integer(row, "waiting") };
  };
  let known = await ask();
  let at = performance.now();
  return () => {
    if (performance.now() - at > COUNTS_MS) {
      at = performance.now();
      ask().then(
        (now) => {
          known = now;
        },
        () => {},
      );
    }
    return known;
  };
}
