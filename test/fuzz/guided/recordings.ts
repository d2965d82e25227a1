/** First inputs out of what is recorded in transcripts/: streams of agents, and the files that agents left behind. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { openDatabase } from "../../../src/runtime/log/sqlite/database.ts";

/** Longer recordings are cut: small inputs run often. */
const MOST_BYTES = 12 * 1024;
const MOST_LINES = 60;

const folder = "transcripts";

/** The lines of each recorded stream of an agent, both directions. */
export function recordedStreams(agent: string): Buffer[] {
  const own = join(folder, agent);
  if (!existsSync(own)) return [];
  return readdirSync(own)
    .sort()
    .map((scenario) => join(own, scenario, "native.jsonl"))
    .filter((file) => existsSync(file))
    .map((file) => Buffer.from(cut(readFileSync(file, "utf8"))));
}

/** Whole lines, as many as are allowed. */
function cut(text: string): string {
  const kept: string[] = [];
  let bytes = 0;
  for (const line of text.split("\n").slice(0, MOST_LINES)) {
    bytes += line.length;
    if (bytes > MOST_BYTES) break;
    if (line !== "") kept.push(line);
  }
  return kept.join("\n");
}

/** Stands before the path of a file, or the name of a table, in an input that is a folder. */
export const HEAD = "=== ";

/** Each recorded home of an agent as one text: the path of each file, and its lines. */
export function recordedFolders(agent: string, home: string): Buffer[] {
  const own = join(folder, "session-files", agent);
  return readdirSync(own)
    .sort()
    .flatMap((scenario) => {
      const top = join(own, scenario, "home", home);
      if (!existsSync(top)) return [];
      const paths = readdirSync(top, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
      const files = paths.map((entry) => join(entry.parentPath, entry.name)).sort();
      const text = files.map((file) => fileText(file, relative(top, file))).join("\n");
      return text.length > MOST_BYTES * 4 ? [] : [Buffer.from(text)];
    });
}

function fileText(file: string, path: string): string {
  if (path.endsWith(".sql")) return tablesOf(readFileSync(file, "utf8"));
  if (path.endsWith(".zst")) return "";
  return `${HEAD}${path}\n${cut(readFileSync(file, "utf8"))}`;
}

/** The rows that the statements insert, each as a line. */
function tablesOf(statements: string): string {
  const place = mkdtempSync(join(tmpdir(), "franca-fuzz-"));
  const database = openDatabase(join(place, "rows.db"));
  try {
    database.exec(statements);
    const tables = [...statements.matchAll(/CREATE TABLE (?:IF NOT EXISTS )?["`]?(\w+)/gi)].map(
      ([, name = ""]) => name,
    );
    return tables
      .map((table) => {
        const rows = database.prepare(`SELECT * FROM ${table}`).all();
        return [`${HEAD}table ${table}`, ...rows.map((row) => JSON.stringify(row))].join("\n");
      })
      .join("\n");
  } finally {
    database.close();
    rmSync(place, { recursive: true, force: true });
  }
}
