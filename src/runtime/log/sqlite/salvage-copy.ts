/**
 * Copies what can be read of a damaged log into a new one: sessions, events, native lines, prompts and runs. Items are
 * found again in the events; checkpoints and what projections store are computed again from them. What is missing gets
 * a group that says so when it is read (damage.ts), and is named.
 */
import { itemNumber, sessionId } from "../../../protocol/ids.ts";
import { areSettingsWhole, checksum, MAY_HAVE_RUN } from "../checksum.ts";
import { type Damage, describeDamage, describeDamagedSettings } from "../damage.ts";
import { text } from "../rows.ts";
import type { Database, Statement } from "./database.ts";
import { leavesIn, type PageFile, pagesOf, rowsOf, rowsOn, type TableRow, tablesIn } from "./file-format/pages.ts";
import {
  COLUMNS,
  eventsIn,
  isNative,
  isPrompt,
  SALVAGED,
  type SalvagedRow,
  type SalvagedTable,
  sessionNamedIn,
  tableOf,
  toRow,
  usableSession,
} from "./salvage-rows.ts";

interface Group {
  readonly place: number;
  readonly first: number;
  readonly last: number;
}

interface Salvaged {
  readonly id: string;
  last: number;
  readonly groups: Group[];
  readonly native: Group[];
  /** The last native line that an event names. */
  lastLine: number;
}

interface Copying {
  readonly target: Database;
  readonly insert: (table: SalvagedTable, row: SalvagedRow) => void;
  readonly sessions: Map<number, Salvaged>;
  /** Sessions that were being deleted. */
  readonly deleted: Set<number>;
  /** Sessions without a record, with the names that their events give. */
  readonly lost: Map<number, string | null>;
  readonly unreadable: Set<SalvagedTable>;
  readonly sequences: Map<string, number>;
  readonly problems: string[];
}

/** How far numbers go on from the highest that was found, where the last that was given is not known. */
const UNKNOWN_NUMBERS = 1_000_000;

export interface CopyOptions {
  readonly target: Database;
  /** The name of the damaged file. */
  readonly kept: string;
  /** Whether commits are missing: a prompt that waits may have started in one of them. */
  readonly hasLostCommits: boolean;
}

/**
 * Returns what is missing, in sentences; null when nothing could be read, so that no empty log takes the place of a
 * damaged one.
 */
export function copyReadable(file: PageFile, { target, kept, hasLostCommits }: CopyOptions): string[] | null {
  const copying = begin(target);
  const found = findRows(file);
  for (const row of found("sqlite_sequence")) {
    const [of, number] = row?.values ?? [];
    if (typeof of === "string" && typeof number === "number") copying.sequences.set(of, number);
  }
  for (const table of SALVAGED) {
    for (const one of found(table)) {
      const row = one === null ? null : toRow(table, one);
      if (row === null || !copyRow(copying, table, row)) copying.unreadable.add(table);
    }
  }
  const { sessions, lost, unreadable } = copying;
  const isEmptyLog = unreadable.size === 0 && tablesIn(file).some(({ name }) => name === "sessions");
  if (sessions.size === 0 && lost.size === 0 && !isEmptyLog && !hasLostCommits) return null;
  advanceSessions(copying);
  const problems = [...copying.problems, ...lostSessions(copying, kept), ...fillGaps(copying)];
  if (hasLostCommits) problems.push(...holdPrompts(copying));
  // Positions in a commit that is missing were sent to clients, and are not given again.
  if (hasLostCommits) copying.sequences.clear();
  keepNumbers(copying);
  return [...problems, ...unnamed(copying, kept)];
}

/** The rows of each table: by the schema, and by their content on pages that no table of the schema leads to. */
function findRows(file: PageFile): (name: string) => Iterable<TableRow | null> {
  const tables = tablesIn(file);
  const reached = new Set(tables.flatMap(({ root }) => [...pagesOf(file, root)]));
  const unreached = new Map<string, number[]>();
  for (const number of leavesIn(file)) {
    if (reached.has(number)) continue;
    const name = rowsOn(file, number)
      .map(nameOf)
      .find((one) => one !== null);
    if (name !== undefined && name !== null) unreached.set(name, [...(unreached.get(name) ?? []), number]);
  }
  return function* rowsNamed(name) {
    for (const { root } of tables.filter((table) => table.name === name)) yield* rowsOf(file, root);
    for (const number of unreached.get(name) ?? []) yield* rowsOn(file, number);
  };
}

/** The table of a row, by its content. */
function nameOf(row: TableRow | null): string | null {
  if (row === null) return null;
  const [name, number] = row.values;
  const isSequence = row.values.length === 2 && typeof number === "number" && SALVAGED.some((table) => table === name);
  return isSequence ? "sqlite_sequence" : tableOf(row);
}

function begin(target: Database): Copying {
  const statements = new Map<string, Statement>();
  const insert = (table: SalvagedTable, row: SalvagedRow): void => {
    const columns = COLUMNS[table];
    const sql = `INSERT OR IGNORE INTO ${table} (${columns.join(", ")}) VALUES (${columns.map(() => "?").join(", ")})`;
    const statement = statements.get(sql) ?? target.prepare(sql);
    statements.set(sql, statement);
    statement.run(...columns.map((column) => row[column] ?? null));
  };
  return {
    target,
    insert,
    sessions: new Map(),
    deleted: new Set(),
    lost: new Map(),
    unreadable: new Set(),
    sequences: new Map(),
    problems: [],
  };
}

/** False when the row is damaged. */
function copyRow(copying: Copying, table: SalvagedTable, row: SalvagedRow): boolean {
  switch (table) {
    case "sessions":
      return copySession(copying, row);
    case "prompts":
      if (!isPrompt(row)) return false;
      if (copying.sessions.has(Number(row.session))) copying.insert("prompts", row);
      return true;
    case "runs":
      copying.insert("runs", row);
      return true;
    case "groups":
      return copyGroup(copying, row);
    case "native":
      return copyNative(copying, row);
  }
}

function copySession({ sessions, deleted, insert, problems }: Copying, found: SalvagedRow): boolean {
  const row = usableSession(found);
  if (row === null) return false;
  const key = Number(row.key);
  if (typeof row.id !== "string") {
    deleted.add(key);
    return true;
  }
  if (sessions.has(key)) return true;
  sessions.set(key, { id: row.id, last: Number(row.last), groups: [], native: [], lastLine: 0 });
  insert("sessions", row);
  if (!areSettingsWhole(row)) problems.push(describeDamagedSettings(row.id));
  return true;
}

function copyGroup(copying: Copying, row: SalvagedRow): boolean {
  const { sessions, deleted, lost, insert, target } = copying;
  const key = Number(row.session);
  const events = eventsIn(row);
  const name = sessionNamedIn(row);
  if (deleted.has(key)) return true;
  const session = sessions.get(key);
  if (session === undefined) {
    if (name !== null || !lost.has(key)) lost.set(key, name);
    return true;
  }
  // A group may begin with a delta of an item: it names its session all the same.
  if (events === null || name !== session.id) return false;
  insert("groups", row);
  session.groups.push({ place: Number(row.position), first: Number(row.first), last: Number(row.last) });
  const item = target.prepare("INSERT OR REPLACE INTO items VALUES (?, ?, ?)");
  for (const event of events) {
    session.lastLine = Math.max(session.lastLine, event.cause?.line ?? 0);
    const number = event.type === "item.completed" ? itemNumber(event.data.item.item_id) : null;
    if (number !== null) item.run(key, number, event.sequence);
  }
  return true;
}

function copyNative({ sessions, deleted, insert }: Copying, row: SalvagedRow): boolean {
  const key = Number(row.session);
  const session = sessions.get(key);
  if (session === undefined) return deleted.has(key);
  if (!isNative(row)) return false;
  insert("native", row);
  session.native.push({ place: Number(row.key), first: Number(row.first), last: Number(row.last) });
  return true;
}

/** A record from before the last commits does not know their events. */
function advanceSessions({ target, sessions }: Copying): void {
  const update = target.prepare("UPDATE sessions SET last = ? WHERE key = ?");
  for (const [key, session] of sessions) {
    const last = session.groups.reduce((highest, group) => Math.max(highest, group.last), session.last);
    if (last > session.last) update.run(last, key);
    session.last = last;
  }
}

/** A prompt runs at most once: one that may have started is not run again. */
function holdPrompts({ target }: Copying): string[] {
  const select = "SELECT prompts.id, sessions.id AS name FROM prompts JOIN sessions ON sessions.key = prompts.session";
  const waiting = target.prepare(`${select} WHERE status = 'queued' ORDER BY ordinal`).all();
  target.prepare("UPDATE prompts SET checksum = ? WHERE status = 'queued'").run(MAY_HAVE_RUN);
  return waiting.map(
    (row) => `The prompt ${text(row, "id")} of session ${text(row, "name")} may have run already and is not run again.`,
  );
}

function lostSessions({ lost }: Copying, kept: string): string[] {
  return [...lost].map(
    ([key, name]) =>
      `The record of session ${name ?? `number ${key}`} is damaged, and the session cannot be served. What is left of ` +
      `it is in ${kept}; restore a backup of the data folder if you need it.`,
  );
}

function fillGaps(copying: Copying): string[] {
  const problems: string[] = [];
  const used = new Set<number>();
  for (const { groups } of copying.sessions.values()) for (const { place } of groups) used.add(place);
  for (const [key, { id, last, groups, native, lastLine }] of copying.sessions) {
    const session = sessionId(id);
    for (const gap of gapsIn(groups, last)) {
      const place = freePlace(used, gap);
      used.add(place);
      insertDamaged(copying, "groups", { ...gap, key, place });
      problems.push(describeDamage({ session, kind: "events", ...gap }));
    }
    for (const gap of gapsIn(native, lastLine)) {
      insertDamaged(copying, "native", { ...gap, key, place: null });
      problems.push(describeDamage({ session, kind: "native lines", ...gap }));
    }
  }
  return problems;
}

interface Gap extends Pick<Damage, "first" | "last"> {
  /** The places of the groups beside it. */
  readonly after: number;
  readonly before: number | null;
}

function gapsIn(groups: readonly Group[], last: number): Gap[] {
  const gaps: Gap[] = [];
  let next = 1;
  let after = 0;
  for (const group of groups.toSorted((one, other) => one.first - other.first)) {
    if (group.first > next) gaps.push({ first: next, last: group.first - 1, after, before: group.place });
    next = Math.max(next, group.last + 1);
    after = group.place;
  }
  if (next <= last) gaps.push({ first: next, last, after, before: null });
  return gaps;
}

/** Where it may have been: clients of all sessions read groups in the order of their places. */
function freePlace(used: ReadonlySet<number>, { after, before }: Gap): number {
  if (before !== null) for (let place = before - 1; place > after; place -= 1) if (!used.has(place)) return place;
  let place = after + 1;
  while (used.has(place)) place += 1;
  return place;
}

interface DamagedRange extends Pick<Damage, "first" | "last"> {
  readonly key: number;
  readonly place: number | null;
}

/** Its checksum is wrong, so that it is never taken for events. */
function insertDamaged(
  { target }: Copying,
  table: "groups" | "native",
  { key, place, first, last }: DamagedRange,
): void {
  const body = new Uint8Array(0);
  const wrong = checksum({ first, last, bytes: body }) ^ 1;
  const [number] = COLUMNS[table];
  const sql = `INSERT INTO ${table} (${number}, session, first, last, body, checksum) VALUES (?, ?, ?, ?, ?, ?)`;
  target.prepare(sql).run(place, key, first, last, body, wrong);
}

/** Numbers that were given are not given again: clients continue after them. */
function keepNumbers({ target, sequences }: Copying): void {
  for (const [table, column] of [
    ["groups", "position"],
    ["sessions", "key"],
    ["prompts", "ordinal"],
  ] as const) {
    const row = target.prepare(`SELECT ifnull(max(${column}), 0) AS highest FROM ${table}`).get();
    const highest = Number(row?.highest ?? 0);
    const known = sequences.get(table);
    const last = Math.max(highest, known ?? highest + UNKNOWN_NUMBERS);
    target.prepare("DELETE FROM sqlite_sequence WHERE name = ?").run(table);
    target.prepare("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)").run(table, last);
  }
}

const UNNAMED: Readonly<Partial<Record<SalvagedTable, string>>> = {
  sessions: "Some of the records of sessions could not be read; sessions that had no events yet cannot be named.",
  prompts: "Some of the stored prompts could not be read: prompts that were waiting may be lost.",
  runs: "Some of the records of agents' processes could not be read: look for agents that still run.",
};

function unnamed({ unreadable }: Copying, kept: string): string[] {
  return [...unreadable].flatMap((table) => {
    const what = UNNAMED[table];
    return what === undefined ? [] : [`${what} What is left of them is in ${kept}.`];
  });
}
