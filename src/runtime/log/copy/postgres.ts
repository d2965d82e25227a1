/** The Postgres log as a side of a copy. No host may be alive meanwhile: positions are given for long at a time. */
import { ApiError } from "../../../protocol/errors.ts";
import { sessionId } from "../../../protocol/ids.ts";
import type { SessionSummary } from "../../../protocol/resources.ts";
import type { SessionSettings } from "../contract.ts";
import { listed } from "../postgres/append.ts";
import { openClient } from "../postgres/client.ts";
import { prepareDatabase } from "../postgres/schema.ts";
import { openVault } from "../postgres/vault.ts";
import { integer, text } from "../rows.ts";
import { withoutSecrets } from "../secrets.ts";
import { type CopyDatabase, copiedChecksum, type Value, valueIn } from "./tables.ts";

export interface PostgresSide {
  readonly url: string;
  /** The host that copied sessions are at home on: where the folders of their agents are. */
  readonly home: string;
  /** The data folder of that host: secrets of the sessions go there, and into no table. */
  readonly folder: string;
}

export async function openPostgresSide({ url, home, folder }: PostgresSide): Promise<CopyDatabase> {
  const client = await openClient({ url, connections: 1 });
  try {
    await prepareDatabase(client);
    const [alive] = await client.query("SELECT id, url FROM franca.hosts WHERE lease_until > clock_timestamp()");
    if (alive !== undefined) {
      const host = `${text(alive, "id")}${text(alive, "url") === "" ? "" : ` at ${text(alive, "url")}`}`;
      throw new ApiError("session_owned", `Host ${host} uses ${client.place.name}: stop all hosts, then copy.`);
    }
  } catch (error) {
    await client.close();
    throw error;
  }
  const vault = openVault(folder);
  const query: CopyDatabase["query"] = (sql, ...values) => client.query(numbered(sql), ...values);
  return {
    name: client.place.name,
    schema: "franca.",
    query,
    async insertSession(session) {
      const summary: SessionSummary = JSON.parse(text(session, "summary"));
      const { status, search } = listed(summary);
      const columns = ["id", "settings", "summary", "last", "agent", "directory", "checksum"];
      const settings: SessionSettings = JSON.parse(text(session, "settings"));
      const { placement = "" } = settings.create;
      const sealed = withoutSecrets(text(session, "settings"));
      const row = { ...session, settings: sealed.text, checksum: copiedChecksum(session, sealed.text) };
      const values: Value[] = [...columns.map((name) => valueIn(row, name)), status, search, home, placement];
      const insert = `INSERT INTO franca.sessions (${columns.join(", ")}, status, search, home, placement)
        VALUES (${values.map(() => "?").join(", ")}) RETURNING key`;
      const key = integer((await query(insert, ...values))[0] ?? {}, "key");
      if (Object.keys(sealed.values).length > 0) vault.put(sessionId(text(session, "id")), sealed.values);
      return key;
    },
    async insertGroups(session, rows) {
      const next = "UPDATE franca.positions SET position = position + ? RETURNING position";
      const last = integer((await query(next, rows.length))[0] ?? {}, "position");
      const insert =
        "INSERT INTO franca.groups (position, session, first, last, body, checksum) VALUES (?, ?, ?, ?, ?, ?)";
      const columns = ["first", "last", "body", "checksum"];
      await Promise.all(
        rows.map((row, index) =>
          query(insert, last - rows.length + 1 + index, session, ...columns.map((name) => valueIn(row, name))),
        ),
      );
    },
    close: client.close,
  };
}

/** `$1`, `$2` … for each `?`: our statements have it nowhere else. */
function numbered(sql: string): string {
  let count = 0;
  return sql.replaceAll("?", () => {
    count += 1;
    return `$${count}`;
  });
}
