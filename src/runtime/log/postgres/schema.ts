/** The tables of the Postgres log, in a schema of their own, and how an older one becomes a newer one. */
import { ApiError } from "../../../protocol/errors.ts";
import { integer, text } from "../rows.ts";
import { APPEND } from "./append-function.ts";
import type { Client, Queries } from "./client.ts";

/** Postgres 14. */
const OLDEST_SERVER = 140_000;
/** "Frnc": hosts that start at once migrate one after the other. */
const MIGRATION_LOCK = 0x46726e63;

/**
 * One committed group of events is one row. `positions` has one row: an append changes it last and holds its lock until
 * the commit, so that positions are given in the order of commits and a reader never skips one.
 */
const TABLES = `
CREATE TABLE franca.positions (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  position bigint NOT NULL
);
INSERT INTO franca.positions (position) VALUES (0);
CREATE TABLE franca.cluster (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  salt bytea NOT NULL,
  proof bytea NOT NULL
);
CREATE TABLE franca.hosts (
  id text PRIMARY KEY,
  epoch bigint NOT NULL,
  url text NOT NULL,
  version text NOT NULL,
  started timestamptz NOT NULL,
  lease_until timestamptz NOT NULL
);
CREATE TABLE franca.sessions (
  key bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id text UNIQUE,
  settings text NOT NULL,
  summary text NOT NULL,
  last bigint NOT NULL,
  entry text,
  agent text NOT NULL,
  directory text NOT NULL,
  status text NOT NULL,
  search text NOT NULL,
  home text NOT NULL,
  owner_host text,
  owner_epoch bigint,
  owner_pid bigint,
  owner_started text
);
CREATE INDEX sessions_by_owner ON franca.sessions (owner_host) WHERE owner_host IS NOT NULL;
CREATE INDEX sessions_by_agent ON franca.sessions (agent, key);
CREATE INDEX sessions_by_directory ON franca.sessions (directory, key);
CREATE INDEX sessions_deleted ON franca.sessions (key) WHERE id IS NULL;
CREATE TABLE franca.groups (
  position bigint PRIMARY KEY,
  session bigint NOT NULL,
  first bigint NOT NULL,
  last bigint NOT NULL,
  body bytea NOT NULL,
  checksum bigint NOT NULL
);
CREATE UNIQUE INDEX groups_by_session ON franca.groups (session, last);
CREATE TABLE franca.native (
  key bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  session bigint NOT NULL,
  first bigint NOT NULL,
  last bigint NOT NULL,
  body bytea NOT NULL,
  checksum bigint NOT NULL
);
CREATE UNIQUE INDEX native_by_session ON franca.native (session, last);
CREATE TABLE franca.items (
  session bigint NOT NULL,
  number bigint NOT NULL,
  sequence bigint NOT NULL,
  PRIMARY KEY (session, number)
);
CREATE TABLE franca.prompts (
  ordinal bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  session bigint NOT NULL,
  id text NOT NULL,
  idempotency_key text,
  body text NOT NULL,
  delivery text NOT NULL,
  status text NOT NULL,
  sequence bigint NOT NULL,
  UNIQUE (session, id),
  UNIQUE (session, idempotency_key)
);
CREATE INDEX prompts_queued ON franca.prompts (session) WHERE status = 'queued';
CREATE TABLE franca.checkpoints (
  session bigint PRIMARY KEY,
  version text NOT NULL,
  sequence bigint NOT NULL,
  state text NOT NULL
);
CREATE TABLE franca.runs (
  id text PRIMARY KEY,
  host text NOT NULL,
  session text NOT NULL,
  owner_pid bigint NOT NULL,
  owner_started text NOT NULL,
  leader_pid bigint,
  leader_started text
);
CREATE INDEX runs_by_host ON franca.runs (host);
CREATE TABLE franca.projections (
  key bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  session bigint NOT NULL,
  name text NOT NULL,
  version text NOT NULL,
  sequence bigint NOT NULL,
  state bytea NOT NULL,
  known bytea,
  UNIQUE (session, name, sequence)
);
CREATE TABLE franca.records (
  key bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  session bigint NOT NULL,
  name text NOT NULL,
  scope text NOT NULL,
  id text NOT NULL,
  body text NOT NULL,
  UNIQUE (session, name, scope, id)
);
CREATE INDEX records_in_order ON franca.records (session, name, scope, key);
`;

/** A command is `waiting`, then `claimed` by a host in one of its lives, then `done`. */
const COMMANDS = `
CREATE TABLE franca.commands (
  ordinal bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id text NOT NULL UNIQUE,
  session text NOT NULL,
  sender text NOT NULL,
  name text NOT NULL,
  body text NOT NULL,
  state text NOT NULL,
  created timestamptz NOT NULL,
  claimed_by text,
  claimed_epoch bigint,
  answer text
);
CREATE INDEX commands_waiting ON franca.commands (ordinal) WHERE state = 'waiting';
CREATE INDEX commands_claimed ON franca.commands (claimed_by) WHERE state = 'claimed';
CREATE INDEX commands_by_sender ON franca.commands (sender);
ALTER TABLE franca.hosts ADD COLUMN take_over boolean NOT NULL DEFAULT false;
`;

/** `placement` is empty, `any`, `host:<id>` or `label:<label>`; `home` is empty while a session has no host. */
const PLACEMENT = `
ALTER TABLE franca.hosts ADD COLUMN labels jsonb NOT NULL DEFAULT '[]', ADD COLUMN max_sessions integer,
  ADD COLUMN draining boolean NOT NULL DEFAULT false;
ALTER TABLE franca.sessions ADD COLUMN placement text NOT NULL DEFAULT '';
ALTER TABLE franca.commands ADD COLUMN target text;
`;

/** Of settings, summaries, prompts and checkpoints. Rows from before have none. */
const RECORD_CHECKSUMS = `
ALTER TABLE franca.sessions ADD COLUMN checksum bigint, ADD COLUMN summary_checksum bigint;
ALTER TABLE franca.prompts ADD COLUMN checksum bigint;
ALTER TABLE franca.checkpoints ADD COLUMN checksum bigint;
`;

/** Steps are only ever added at the end. */
const MIGRATIONS: readonly string[] = [
  TABLES + APPEND,
  "CREATE INDEX sessions_by_home ON franca.sessions (home)",
  COMMANDS,
  PLACEMENT,
  RECORD_CHECKSUMS + APPEND,
];

export async function prepareDatabase(client: Client): Promise<void> {
  await checkServer(client);
  await client.transaction(async (queries) => {
    await queries.query("SELECT pg_advisory_xact_lock($1)", MIGRATION_LOCK);
    const version = await versionOf(client, queries);
    const newest = MIGRATIONS.length;
    if (version > newest) {
      const found = `${client.place.name} was written by a newer Franca (schema ${version})`;
      throw new ApiError("storage_error", `${found}: update Franca.`);
    }
    for (const step of MIGRATIONS.slice(version)) await queries.query(step);
    if (version < newest) await queries.query("UPDATE franca.version SET version = $1", newest);
  });
}

async function checkServer(client: Client): Promise<void> {
  const select =
    "SELECT current_setting('server_version_num') AS version, current_setting('server_encoding') AS encoding";
  const [row = {}] = await client.query(select);
  if (integer(row, "version") < OLDEST_SERVER) {
    throw new ApiError("storage_error", `${client.place.name} is older than Postgres 14: update the server.`);
  }
  if (text(row, "encoding") === "UTF8") return;
  const found = `${client.place.name} has the encoding ${text(row, "encoding")}`;
  throw new ApiError("storage_error", `${found}: create one with ENCODING 'UTF8'.`);
}

/** The version of the tables that are there; 0 when there are none. */
async function versionOf(client: Client, { query }: Queries): Promise<number> {
  const [found = {}] = await query(`
    SELECT to_regclass('franca.version') IS NOT NULL AS ours,
      (SELECT count(*) FROM pg_catalog.pg_tables WHERE schemaname = 'franca') AS tables`);
  if (found.ours === true) return integer((await query("SELECT version FROM franca.version"))[0] ?? {}, "version");
  if (integer(found, "tables") > 0) {
    const sentence = `${client.place.name} has a schema franca of another program: choose another database.`;
    throw new ApiError("storage_error", sentence);
  }
  // A role without the right to create schemas may be given this one.
  const [schema] = await query("SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = 'franca'");
  if (schema === undefined) await query("CREATE SCHEMA franca");
  await query("CREATE TABLE franca.version (version integer NOT NULL); INSERT INTO franca.version VALUES (0)");
  return 0;
}
