/** Recorded session files: what real agents left on disk, with the live stream of the same conversation beside it. */
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as z from "zod";
import { adapterFor } from "../../src/adapters/index.ts";
import { filesOf } from "../../src/adapters/session-files.ts";
import type { Adapter } from "../../src/core/adapter.ts";
import { convertLines } from "../../src/core/convert.ts";
import { convertRecords } from "../../src/core/replay.ts";
import type { Conversation, FoundConversation, SessionFiles } from "../../src/core/session-files.ts";
import { readRecorded } from "../../src/dialects/recording.ts";
import type { UniversalEvent } from "../../src/protocol/events.ts";
import { openDatabase } from "../../src/runtime/log/sqlite/database.ts";
import { type OpenFolder, openAgentFolder } from "../../src/runtime/session-files/folder.ts";
import { printedStreams } from "./printed-streams.ts";
import { transcriptsFolder } from "./transcripts.ts";

const recordings = join(transcriptsFolder, "session-files");

/** Written beside the recording: what its files hold. */
const About = z.strictObject({
  agent: z.string(),
  version: z.string(),
  sessions: z.array(
    z.strictObject({
      id: z.string(),
      title: z.string().nullable(),
      directory: z.string().nullable(),
      turns: z.array(
        z.strictObject({
          prompt: z.string().nullable(),
          texts: z.array(z.string()),
          tools: z.array(z.string()),
          end: z.string(),
        }),
      ),
    }),
  ),
});

export interface SessionFileRecording {
  /** `<agent>/<scenario>`. */
  readonly name: string;
  readonly folder: string;
  readonly about: z.infer<typeof About>;
  readonly adapter: Adapter;
  readonly files: SessionFiles;
}

export const sessionFileRecordings: readonly SessionFileRecording[] = readdirSync(recordings)
  .flatMap((agent) => readdirSync(join(recordings, agent)).map((scenario) => `${agent}/${scenario}`))
  .flatMap((name) => {
    const folder = join(recordings, name);
    const about = About.parse(JSON.parse(readFileSync(join(folder, "about.json"), "utf8")));
    const known = filesOf(about.agent);
    return known === null ? [] : [{ name, folder, about, ...known }];
  });

/** A home folder as the agent left it; databases are made of the statements that are recorded in their place. */
export function recordedHome({ folder }: Pick<SessionFileRecording, "folder">): { home: string; remove: () => void } {
  const home = mkdtempSync(join(tmpdir(), "franca-home-"));
  cpSync(join(folder, "home"), home, { recursive: true });
  for (const path of readdirSync(home, { recursive: true, encoding: "utf8" })) {
    if (!path.endsWith(".sql")) continue;
    const database = openDatabase(join(home, path.slice(0, -".sql".length)));
    database.exec(readFileSync(join(home, path), "utf8"));
    database.close();
    rmSync(join(home, path));
  }
  return { home, remove: () => rmSync(home, { recursive: true, force: true }) };
}

export interface ReadConversation {
  readonly found: FoundConversation;
  readonly conversation: Conversation;
  readonly events: readonly UniversalEvent[];
}

export interface ReadHome {
  readonly conversations: readonly ReadConversation[];
  readonly problems: readonly string[];
}

/** Every conversation of a recorded home. */
export function readRecording(recording: SessionFileRecording): ReadHome {
  const { home, remove } = recordedHome(recording);
  const folder = openAgentFolder(join(home, recording.files.place.home));
  try {
    return folder === null ? { conversations: [], problems: [] } : readAll(recording, folder);
  } finally {
    folder?.close();
    remove();
  }
}

function readAll({ adapter, files }: SessionFileRecording, folder: OpenFolder): ReadHome {
  const conversations: ReadConversation[] = [];
  const problems: string[] = [];
  for (const found of files.discover(folder)) {
    if ("problem" in found) {
      problems.push(found.problem);
      continue;
    }
    const conversation = files.read(folder, found);
    const records = conversation.turns.flatMap(({ entries }) => entries);
    const events = [...convertRecords({ adapter, id: conversation.nativeId, records })];
    conversations.push({ found, conversation, events });
  }
  return { conversations, problems };
}

/** The events of the live streams that were recorded beside the files; null when there are none. */
export function liveEvents({ folder, adapter, about }: SessionFileRecording): readonly UniversalEvent[] | null {
  const live = join(folder, "live");
  const names = existsSync(live) ? readdirSync(live).sort() : [];
  const streams = names.filter((name) => /^(stdout|stream|event)/.test(name));
  if (streams.length === 0) return null;
  const other = printedStreams[about.agent];
  const prompts = about.sessions.flatMap(({ turns }) => turns.map(({ prompt }) => prompt ?? ""));
  return streams.flatMap((name, index) => {
    if (other !== undefined) {
      const lines = readFileSync(join(live, name), "utf8").split("\n").filter(Boolean);
      const records = other(
        lines.map((line) => JSON.parse(line)),
        prompts.slice(index),
      );
      return [...convertRecords({ adapter, id: about.sessions[0]?.id ?? "", records })];
    }
    const host = readLines(join(live, name.replace("stdout", "stdin").replace("event", "http")), name);
    const said = readLines(join(live, name), null);
    const printed = name.startsWith("stdout") ? printedForms[about.agent] : undefined;
    const both = name.startsWith("event")
      ? [...host, ...said].sort((one, other) => (one.at ?? 0) - (other.at ?? 0))
      : [...host, ...said];
    return convertLines(printed === undefined ? adapter : (adapterFor(printed) ?? adapter), both);
  });
}

/** Agents whose command line prints another format than their server sends. */
const printedForms: Readonly<Record<string, string>> = { codex: "codex-exec", opencode: "opencode-run" };

function readLines(file: string, stream: string | null) {
  if (!existsSync(file) || (stream !== null && file.endsWith(`/${stream}`))) return [];
  const asHost = stream?.startsWith("stdout") === true;
  return readFileSync(file, "utf8")
    .split("\n")
    .map(readRecorded)
    .flatMap((recorded) => {
      if (recorded === null) return [];
      return [asHost && recorded.type === "line" ? { ...recorded, from: "host" as const } : recorded];
    });
}
