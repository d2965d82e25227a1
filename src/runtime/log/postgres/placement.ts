/** Which host may run a session: decided by the database, by its own clock, for every claim alike. */
import { dirname } from "node:path";
import type { SessionId } from "../../../protocol/ids.ts";
import type { Placement } from "../../../protocol/placement.ts";
import { noSession } from "../errors.ts";
import type { Cluster, DiskHost } from "../hosts-contract.ts";
import { integer, type Row, text } from "../rows.ts";
import { settingsIn, unseal } from "./settings.ts";
import type { Store } from "./store.ts";
import type { Vault } from "./vault.ts";

/**
 * Of a row `session`, its host `home` (if any) and a host `me`. A session's own host may run it, unless it is being
 * drained and the session is closed. Another one may when that host is gone, or drained and done with it, where the
 * placement allows it and there is room.
 */
export const MAY_RUN = `(
  session.home = me.id AND (NOT me.draining OR session.owner_host IS NOT NULL)
  OR NOT me.draining AND session.home <> me.id
    AND (coalesce(home.lease_until <= clock_timestamp(), true) OR home.draining AND session.owner_host IS NULL)
    AND CASE
      WHEN session.placement = '' THEN me.take_over
      WHEN session.placement = 'any' THEN true
      WHEN session.placement LIKE 'label:%' THEN me.labels ? substr(session.placement, 7)
      ELSE session.placement = 'host:' || me.id END
    AND (me.max_sessions IS NULL OR me.max_sessions > (
      SELECT count(*) FROM franca.sessions AS own WHERE own.owner_host = me.id AND own.owner_epoch = me.epoch)))`;

/** Whether a living host may run `session`. */
export const SERVED = `
  EXISTS (SELECT 1 FROM franca.hosts AS me WHERE me.lease_until > clock_timestamp() AND ${MAY_RUN})`;

const PLACEMENT = `
  SELECT session.home, session.placement, session.settings, home.draining, ${SERVED} AS served,
    coalesce(home.lease_until > clock_timestamp(), false) AS home_alive,
    (SELECT count(*) FROM franca.sessions AS other WHERE other.home = '' AND other.key < session.key
      AND other.id IS NOT NULL) AS ahead,
    (SELECT count(*) FROM franca.hosts AS fit WHERE fit.lease_until > clock_timestamp() AND NOT fit.draining
      AND (session.placement = 'any' OR fit.labels ? substr(session.placement, 7))) AS fitting
  FROM (
    SELECT key, placement, settings, CASE WHEN $2 THEN '' ELSE home END AS home, CASE WHEN NOT $2 THEN owner_host END AS owner_host
    FROM franca.sessions WHERE id = $1
  ) AS session LEFT JOIN franca.hosts AS home ON home.id = session.home`;

const HAND = `
  UPDATE franca.sessions SET home = $6, owner_host = NULL, owner_epoch = NULL, owner_pid = NULL, owner_started = NULL
  WHERE id = $1 AND owner_host = $2 AND owner_epoch = $3 AND owner_pid = $4 AND owner_started = $5 RETURNING key`;

/**
 * `$1` is the directory and all that it is in, as JSON. Of several hosts always the same one: a terminal is found again
 * where it was opened.
 */
const DISK = `
  SELECT home.id, home.url, home.epoch, home.lease_until > clock_timestamp() AS alive
  FROM franca.sessions AS session JOIN franca.hosts AS home ON home.id = session.home
  WHERE session.id IS NOT NULL AND session.directory IN (SELECT jsonb_array_elements_text($1::text::jsonb))
  ORDER BY home.id = $2 DESC, alive DESC, length(session.directory) DESC, home.id LIMIT 1`;

const HOME = `
  SELECT home.id, home.url, home.epoch, home.lease_until > clock_timestamp() AS alive
  FROM franca.sessions AS session JOIN franca.hosts AS home ON home.id = session.home WHERE session.id = $1`;

const CLOCK = "SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now";

type Placing = Pick<
  Cluster,
  "drain" | "placement" | "isServed" | "missing" | "diskOf" | "homeOf" | "hand" | "epoch" | "clock"
>;

export const placing = (store: Store, vault: Vault): Placing => ({
  async drain(host) {
    const rows = await store.client.query("UPDATE franca.hosts SET draining = true WHERE id = $1 RETURNING id", host);
    return rows.length > 0;
  },
  placement: async (id, { ifNobodys } = { ifNobodys: false }) =>
    (await placementOf(store, { id, ifNobodys, vault })).placement,
  isServed: async (id) => (await placementOf(store, { id, ifNobodys: false, vault })).isServed,
  async missing(id) {
    const [row] = await store.client.read("SELECT settings FROM franca.sessions WHERE id = $1", id);
    if (row === undefined) throw noSession(id);
    return unseal(vault, id, settingsIn(row)).missing ?? [];
  },
  async diskOf(directory) {
    return otherIn(store, await store.client.read(DISK, JSON.stringify(ancestors(directory)), store.identity().host));
  },
  homeOf: async (id) => otherIn(store, await store.client.read(HOME, id)),
  epoch: () => store.identity().epoch,
  clock: async () => integer((await store.client.read(CLOCK))[0] ?? {}, "now"),
  async hand(id, owner, to) {
    const { host, epoch } = store.holder();
    const rows = await store.write(HAND, id, host, epoch, owner.pid, owner.started, to ?? "");
    if (rows.length === 0) throw noSession(id);
  },
});

/** The host that was found, unless it is this one. */
function otherIn({ identity }: Store, [row]: readonly Row[]): DiskHost | null {
  if (row === undefined || text(row, "id") === identity().host) return null;
  return { id: text(row, "id"), url: text(row, "url"), alive: row.alive === true, epoch: integer(row, "epoch") };
}

function ancestors(directory: string): readonly string[] {
  const above = dirname(directory);
  return above === directory ? [directory] : [directory, ...ancestors(above)];
}

async function placementOf(
  { client, identity }: Store,
  { id, ifNobodys, vault }: { readonly id: SessionId; readonly ifNobodys: boolean; readonly vault: Vault },
): Promise<{ readonly placement: Placement; readonly isServed: boolean }> {
  const [row] = await client.read(PLACEMENT, id, ifNobodys);
  if (row === undefined) throw noSession(id);
  const home = text(row, "home");
  const isServed = row.served === true;
  const settings = settingsIn(row);
  // What another host lacks is what it has written when it took the session.
  const { missing = [] } = home === identity().host ? unseal(vault, id, settings) : settings;
  const place = { home, placement: text(row, "placement"), isDraining: row.draining === true };
  const counts = { ahead: integer(row, "ahead"), fitting: integer(row, "fitting") };
  return {
    isServed,
    placement: {
      wanted: place.placement === "" ? null : place.placement,
      host: home === "" ? null : home,
      waiting: isServed ? lacking(missing) : reasonOf({ ...place, ...counts, isAlive: row.home_alive === true }),
      ...(isServed || home !== "" ? {} : { position: counts.ahead + 1 }),
      ...(missing.length === 0 ? {} : { missing: [...missing] }),
    },
  };
}

const lacking = (missing: readonly string[]): string | null =>
  missing.length === 0 ? null : `Its host was started without ${missing.join(", ")}.`;

interface Waiting {
  readonly home: string;
  readonly placement: string;
  readonly isAlive: boolean;
  readonly isDraining: boolean;
  readonly ahead: number;
  /** Living hosts with the label that is wanted. */
  readonly fitting: number;
}

function reasonOf({ home, placement, isAlive, isDraining, ahead, fitting }: Waiting): string {
  const before = home === "" && ahead > 0 ? `, behind ${ahead} other${ahead === 1 ? "" : "s"}` : "";
  const gone = isAlive && isDraining ? "is being drained" : "is gone";
  if (placement === "") return `Host ${home} ${gone}, and no living host may take over (--take-over).`;
  if (placement.startsWith("host:")) return `It waits for host ${placement.slice(5)}, and no other may run it.`;
  const wanted = placement === "any" ? "a host" : `a host with the label ${placement.slice(6)}`;
  if (fitting > 0) return `It waits for room: every host that qualifies is full${before}.`;
  return `It waits for ${wanted}${before}.`;
}
