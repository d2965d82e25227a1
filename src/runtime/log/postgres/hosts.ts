/** The hosts of a database, as each of them can list them. */
import type { HostSummary } from "../../../protocol/resources.ts";
import { integer, text } from "../rows.ts";
import type { Store } from "./store.ts";

const HOSTS = `
  SELECT host.id, host.url, host.version, host.take_over, host.labels,
    host.max_sessions, host.draining, host.lease_until > clock_timestamp() AS alive,
    to_char(host.started AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS started,
    (SELECT count(*) FROM franca.sessions AS session
      WHERE session.owner_host = host.id AND session.owner_epoch = host.epoch AND session.id IS NOT NULL) AS open,
    (SELECT count(*) FROM franca.sessions AS session WHERE session.home = host.id AND session.id IS NOT NULL) AS home
  FROM franca.hosts AS host ORDER BY host.id`;

export async function hosts({ client, identity }: Store): Promise<readonly HostSummary[]> {
  const rows = await client.read(HOSTS);
  return rows.map((row) => ({
    id: text(row, "id"),
    url: text(row, "url"),
    version: text(row, "version"),
    startedAt: text(row, "started"),
    alive: row.alive === true,
    self: text(row, "id") === identity().host,
    takeOver: row.take_over === true,
    labels: Array.isArray(row.labels) ? row.labels.map(String) : [],
    maxSessions: row.max_sessions === null ? null : integer(row, "max_sessions"),
    draining: row.draining === true,
    openSessions: integer(row, "open"),
    homeOf: integer(row, "home"),
  }));
}
