/**
 * Looks at everything in a log's file: SQLite's own structure, checksums, sequences without a gap, and rows that belong
 * to no session. What can be repaired without losing an event can be repaired here.
 */

import { sessionId } from "../../../protocol/ids.ts";
import { areSettingsWhole, isPromptWhole, isSummaryWhole, isWhole, MAY_HAVE_RUN } from "../checksum.ts";
import { describeDamage, describeDamagedPrompt, describeDamagedSettings } from "../damage.ts";
import { integer, type Row, text } from "../rows.ts";
import type { Database } from "./database.ts";

export interface Problem {
  readonly kind: "database" | "index" | "checksum" | "sequence" | "orphans" | "checkpoint";
  readonly message: string;
  readonly repairable: boolean;
}

/** What a check finds, and what repairs it. */
interface Check {
  readonly find: (database: Database) => readonly Problem[];
  readonly repair?: (database: Database) => void;
}

const MOST_MESSAGES = 20;
const AT_ONCE = 100;

export const examineLog = (database: Database): readonly Problem[] => checks.flatMap(({ find }) => find(database));

/** All or nothing. Gives what is still wrong. */
export function repairLog(database: Database): readonly Problem[] {
  database.exec("BEGIN IMMEDIATE");
  try {
    for (const { find, repair } of checks) {
      if (repair !== undefined && find(database).some(({ repairable }) => repairable)) repair(database);
    }
    database.exec("COMMIT");
  } catch (error) {
    database.exec("ROLLBACK");
    throw error;
  }
  return examineLog(database);
}

const structure: Check = {
  find: (database) =>
    database
      .prepare(`PRAGMA integrity_check(${MOST_MESSAGES})`)
      .all()
      .map((row) => text(row, "integrity_check"))
      .filter((verdict) => verdict !== "ok")
      .map((verdict): Problem => {
        const isIndex = /\bindex\b/i.test(verdict);
        return { kind: isIndex ? "index" : "database", message: `SQLite says: ${verdict}`, repairable: isIndex };
      }),
  // An index holds nothing that its table does not.
  repair: (database) => database.exec("REINDEX"),
};

/** The tables of stored groups, by what they hold. */
const stored = [
  ["groups", "position", "events"],
  ["native", "key", "native lines"],
] as const;

const OF_SESSIONS = "JOIN sessions ON sessions.key = session WHERE sessions.id IS NOT NULL";

const checksums: Check = {
  find: (database) =>
    stored.flatMap(([table, key, kind]) => {
      const select = database.prepare(
        `SELECT ${table}.${key} AS place, first, ${table}.last AS last, body, ${table}.checksum, id FROM ${table} ` +
          `${OF_SESSIONS} AND ${table}.${key} > ? ORDER BY ${table}.${key} LIMIT ${AT_ONCE}`,
      );
      const found: Problem[] = [];
      for (let rows = select.all(0); rows.length > 0; rows = select.all(integer(rows.at(-1) ?? {}, "place"))) {
        for (const row of rows) {
          if (isWhole(row)) continue;
          const place = {
            session: sessionId(text(row, "id")),
            first: integer(row, "first"),
            last: integer(row, "last"),
          };
          found.push({ kind: "checksum", message: describeDamage({ ...place, kind }), repairable: false });
        }
      }
      return found;
    }),
};

/** Of records and prompts; a damaged summary or checkpoint is computed again from the events. */
const records: Check = {
  find(database) {
    const found: Problem[] = [];
    const add = (message: string): void => void found.push({ kind: "checksum", message, repairable: false });
    for (const row of database.prepare("SELECT * FROM sessions WHERE id IS NOT NULL").iterate()) {
      const id = text(row, "id");
      if (!areSettingsWhole(row)) add(describeDamagedSettings(id));
      if (!isSummaryWhole(row)) add(`The summary of session ${id} is damaged. Its next event writes it again.`);
    }
    const prompts = `SELECT prompts.*, sessions.id AS name FROM prompts ${OF_SESSIONS}`;
    for (const row of database.prepare(prompts).iterate()) {
      const isHeld = Number(row.checksum ?? 0) === MAY_HAVE_RUN;
      const isKnown = ["queued", "started", "done", "dropped"].includes(text(row, "status"));
      if (isKnown && (isHeld || isPromptWhole(row))) continue;
      add(describeDamagedPrompt(text(row, "name"), text(row, "id")));
    }
    return found;
  },
};

const sequences: Check = {
  find: (database) => [...stored.flatMap(([table, , kind]) => gaps(database, { table, kind })), ...ends(database)],
};

function gaps(database: Database, { table, kind }: { readonly table: string; readonly kind: string }): Problem[] {
  const rows = database
    .prepare(
      `SELECT * FROM (
         SELECT id, first, ${table}.last AS last, lag(${table}.last, 1, 0) OVER (PARTITION BY session ORDER BY ${table}.last) AS before
         FROM ${table} ${OF_SESSIONS}
       ) WHERE first <> before + 1 OR last < first`,
    )
    .all();
  return rows.map((row) =>
    sequenceProblem(row, `its ${kind} ${integer(row, "before") + 1} to ${integer(row, "first") - 1} are missing`),
  );
}

/** The last event and the session's row say the same; its summary may be some deltas behind. */
function ends(database: Database): Problem[] {
  const rows = database
    .prepare(
      `SELECT id, sessions.last AS last,
         CASE WHEN json_valid(summary) THEN json_extract(summary, '$.lastSequence') ELSE 0 END AS listed,
         ifnull((SELECT max(last) FROM groups WHERE session = key), 0) AS stored
       FROM sessions WHERE id IS NOT NULL AND (sessions.last <> stored OR listed > sessions.last)`,
    )
    .all();
  return rows.map((row) =>
    sequenceProblem(
      row,
      `its last event is ${integer(row, "stored")}, and its record says ${integer(row, "last")} (listed: ` +
        `${integer(row, "listed")})`,
    ),
  );
}

const sequenceProblem = (row: Row, what: string): Problem => ({
  kind: "sequence",
  message: `Session ${text(row, "id")}: ${what}. Restore a backup if you need them.`,
  repairable: false,
});

const owned = ["groups", "native", "items", "prompts", "checkpoints", "projections", "records"] as const;
const NOBODYS = "session NOT IN (SELECT key FROM sessions WHERE id IS NOT NULL)";

/** A deletion that a crash cut off leaves rows, until the next deletion. */
const orphans: Check = {
  find(database) {
    const left = owned
      .map((table): [string, number] => [table, count(database, `SELECT count(*) AS n FROM ${table} WHERE ${NOBODYS}`)])
      .filter(([, rows]) => rows > 0);
    const half = count(database, "SELECT count(*) AS n FROM sessions WHERE id IS NULL");
    if (left.length === 0 && half === 0) return [];
    const listed = left.map(([table, rows]) => `${rows} of ${table}`).join(", ");
    const message = `Rows that belong to no session are left${listed === "" ? "" : `: ${listed}`}.`;
    return [{ kind: "orphans", message, repairable: true }];
  },
  repair(database) {
    for (const table of owned) database.exec(`DELETE FROM ${table} WHERE ${NOBODYS}`);
    database.exec("DELETE FROM sessions WHERE id IS NULL");
  },
};

const AHEAD = "sequence > (SELECT last FROM sessions WHERE key = session)";

/** What was computed from events that are not there. It is computed again from those that are. */
const checkpoints: Check = {
  find: (database) =>
    ["checkpoints", "projections"].flatMap((table) => {
      const ahead = count(database, `SELECT count(*) AS n FROM ${table} WHERE ${AHEAD}`);
      if (ahead === 0) return [];
      const message = `${ahead} of ${table} are ahead of their session's events.`;
      return [{ kind: "checkpoint", message, repairable: true } satisfies Problem];
    }),
  repair(database) {
    for (const table of ["checkpoints", "projections"]) database.exec(`DELETE FROM ${table} WHERE ${AHEAD}`);
  },
};

const count = (database: Database, sql: string): number => integer(database.prepare(sql).get() ?? {}, "n");

const checks: readonly Check[] = [structure, checksums, records, sequences, orphans, checkpoints];
