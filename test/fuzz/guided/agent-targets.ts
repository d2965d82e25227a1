/** What agents say and leave behind: guards, adapters on a recording and in a live session, and session files. */
import { adapters } from "../../../src/adapters/index.ts";
import { agentFiles } from "../../../src/adapters/session-files.ts";
import type { Adapter } from "../../../src/core/adapter.ts";
import { convertLines } from "../../../src/core/convert.ts";
import type { Effect } from "../../../src/core/input.ts";
import { convertRecords } from "../../../src/core/replay.ts";
import { type AgentFolder, SessionFileError, type SessionFiles } from "../../../src/core/session-files.ts";
import { readRecorded } from "../../../src/dialects/recording.ts";
import { isShape } from "../../../src/dialects/shape.ts";
import type { UniversalEvent } from "../../../src/protocol/events.ts";
import { lint, universal } from "../../../src/rules/index.ts";
import { liveSession } from "../../support/live-session.ts";
import type { Target } from "./attempt.ts";
import { HEAD, recordedFolders, recordedStreams } from "./recordings.ts";

const linesOf = (input: Buffer): readonly string[] => input.toString("utf8").split("\n");

/** A first line that says that the others are heard in a live session. */
const LIVE = '{"live":true}';

export function adapterTarget(adapter: Adapter): Target {
  const own = FOLDERS[adapter.agent] ?? "acp";
  const isOwn = (path: string): boolean => path.startsWith(`src/adapters/${own}/`) || path.startsWith("src/dialects/");
  return {
    name: `adapter:${adapter.agent}`,
    watches: (path) => isOwn(path) || path.startsWith("src/core/"),
    form: "lines",
    batch: 24,
    seeds: () => {
      const streams = recordedStreams(adapter.agent);
      return [...streams, ...streams.map((stream) => Buffer.concat([Buffer.from(`${LIVE}\n`), stream]))];
    },
    run: {
      kind: "sync",
      once(input) {
        const [first = "", ...rest] = linesOf(input);
        expectRules(first === LIVE ? heardLive(adapter, rest) : convertLines(adapter, recordedIn([first, ...rest])));
      },
    },
  };
}

/** Where adapters are that do not speak ACP. */
const FOLDERS: Readonly<Record<string, string>> = {
  amp: "amp",
  builtin: "builtin",
  claude: "claude",
  codex: "codex",
  "codex-exec": "codex-exec",
  mock: "mock",
  opencode: "opencode",
  "opencode-run": "opencode",
};

const recordedIn = (lines: readonly string[]) => lines.map(readRecorded).filter((recorded) => recorded !== null);

function expectRules(events: readonly UniversalEvent[]): void {
  const broken = lint(universal, events).filter(({ rule }) => rule !== "universal.unparsed");
  if (broken.length > 0) throw new Error(`Rule ${broken[0]?.rule}: ${JSON.stringify(broken[0])}`);
}

/** A person prompts, answers what is asked and aborts in the end; the lines of the agent are what it hears. */
function heardLive(adapter: Adapter, lines: readonly string[]): readonly UniversalEvent[] {
  const live = liveSession(adapter);
  const perform = (effects: readonly Effect[]): void => {
    if (effects.some(({ type }) => type === "connect")) perform(live.connect());
  };
  perform(live.prompt("Say hello."));
  for (const recorded of recordedIn(lines)) {
    if (recorded.type === "exit") perform(live.disconnect(recorded.exit));
    else if (recorded.type === "unreadable") perform(live.step({ ...recorded }));
    else if (recorded.type === "inspected") continue;
    else if (recorded.from === "agent") perform(hear(live, recorded.line));
    else if (live.session.connection() === "closed") perform(live.prompt("Go on."));
    answerRequests(live, perform);
  }
  perform(live.command({ type: "abort", clear_queue: true }));
  perform(live.wait(60_000));
  perform(live.disconnect({ code: 0, signal: null }));
  return live.events;
}

type Live = ReturnType<typeof liveSession>;

/** What came by HTTP answers the oldest request that waits. */
function hear(live: Live, line: unknown): readonly Effect[] {
  const response = isShape(line) && isShape(line.response) ? line.response : null;
  const [asked] = live.asked();
  if (response === null || asked === undefined) return live.step({ type: "line", from: "agent", line });
  const status = typeof response.status === "number" ? response.status : 200;
  return live.answer(asked.path, { status, body: response.body });
}

function answerRequests(live: Live, perform: (effects: readonly Effect[]) => void): void {
  const last = live.events.at(-1);
  if (last?.type === "permission.requested") {
    const { permission_id } = last.data;
    const reply = last.sequence % 2 === 0 ? "once" : "reject";
    perform(live.command({ type: "permission.reply", permission_id, reply }));
  }
  if (last?.type === "question.requested") {
    const { question_id } = last.data;
    perform(live.command({ type: "question.reply", question_id, answers: [["yes"]] }));
  }
}

export function filesTarget({ adapter, files }: { readonly adapter: Adapter; readonly files: SessionFiles }): Target {
  return {
    name: `files:${files.form}`,
    watches: (path) => path.startsWith("src/adapters/") || path.startsWith("src/dialects/"),
    form: "lines",
    batch: 12,
    seeds: () => recordedFolders(adapter.agent, files.place.home),
    run: {
      kind: "sync",
      once(input) {
        const folder = folderOf(linesOf(input));
        for (const found of files.discover(folder)) {
          if (!("problem" in found)) readConversation({ adapter, files, folder, found });
        }
      },
    },
  };
}

interface Reading {
  readonly adapter: Adapter;
  readonly files: SessionFiles;
  readonly folder: AgentFolder;
  readonly found: { readonly path: string; readonly nativeId: string };
}

function readConversation({ adapter, files, folder, found }: Reading): void {
  try {
    const conversation = files.read(folder, found);
    const records = conversation.turns.flatMap(({ entries }) => entries);
    expectRules([...convertRecords({ adapter, id: conversation.nativeId, records })]);
    files.userOf?.(folder, found.nativeId);
  } catch (error) {
    // A refusal in a sentence.
    if (!(error instanceof SessionFileError)) throw error;
  }
}

/** An agent's folder that is one text: the path of each file or the name of a table, and its lines. */
function folderOf(lines: readonly string[]): AgentFolder {
  const files = new Map<string, string>();
  let path = "";
  for (const line of lines) {
    if (line.startsWith(HEAD)) path = line.slice(HEAD.length);
    else files.set(path, files.has(path) ? `${files.get(path)}\n${line}` : line);
  }
  const text = (path: string): string | null => files.get(path) ?? null;
  return {
    list: (path) => entriesOf([...files.keys()], path === "" || path.endsWith("/") ? path : `${path}/`),
    facts: (path) => (files.has(path) ? { size: files.get(path)?.length ?? 0, modifiedAt: 1_000 } : null),
    head: (path, bytes) => text(path)?.slice(0, bytes) ?? null,
    tail: (path, bytes) => text(path)?.slice(-bytes) ?? null,
    text,
    rows: (_path, sql, values = []) => {
      const [, table = "", column] = /^.*FROM (\w+)(?: WHERE (\w+) = \?)?/.exec(sql) ?? [];
      const rows = rowsOf(text(`table ${table}`));
      return column === undefined ? rows : (rows?.filter((row) => row[column] === values[0]) ?? null);
    },
    isAlive: () => false,
    lockHolder: () => null,
  };
}

function entriesOf(paths: readonly string[], below: string) {
  const rests = paths.filter((path) => path.startsWith(below)).map((path) => path.slice(below.length));
  const names = new Map(
    rests.map((rest) => [rest.split("/")[0] ?? "", rest.includes("/") ? "folder" : "file"] as const),
  );
  return [...names].map(([name, kind]) => ({ name, kind })).sort((one, other) => (one.name < other.name ? -1 : 1));
}

/** As in a database, no two have the same id. */
function rowsOf(text: string | null): Readonly<Record<string, unknown>>[] | null {
  if (text === null) return null;
  const rows = text.split("\n").flatMap((line) => {
    const recorded = readRecorded(line);
    return recorded?.type === "line" && isShape(recorded.line) ? [recorded.line] : [];
  });
  return [...new Map(rows.map((row) => [row.id, row])).values()];
}

export const agentTargets = (): Readonly<Record<string, () => Target>> =>
  Object.fromEntries([
    ...adapters.map((adapter) => [`adapter:${adapter.agent}`, () => adapterTarget(adapter)] as const),
    ...agentFiles.map((one) => [`files:${one.files.form}`, () => filesTarget(one)] as const),
  ]);
