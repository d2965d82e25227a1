/** Conversations in the agents' own files, as a list: names, sizes and indexes are read, and the ends of files. */
import { setImmediate } from "node:timers/promises";
import { type AgentFiles, agentFiles } from "../../adapters/session-files.ts";
import { defined } from "../../core/defined.ts";
import type { FoundConversation } from "../../core/session-files.ts";
import { isTime, timeText } from "../../core/time-text.ts";
import type { DiscoveredConversation, DiscoverQuery, Discovery } from "../../protocol/adoption.ts";
import { ApiError } from "../../protocol/errors.ts";
import type { SessionId } from "../../protocol/ids.ts";
import { openAgentFolder } from "../session-files/folder.ts";
import { folderOf } from "../session-files/places.ts";
import { cleanTitle } from "./adopted-title.ts";
import type { Runtime } from "./runtime.ts";

/** How long other work may wait. */
const SLICE_MS = 20;
const PAGE = 1000;
const PROBLEMS = 100;

export async function discover(runtime: Runtime, { agent, since }: DiscoverQuery): Promise<Discovery> {
  const after = since === undefined ? 0 : Date.parse(since);
  const known = await knownSessions(runtime);
  const conversations: DiscoveredConversation[] = [];
  const problems: string[] = [];
  for (const one of chosen(agent)) {
    for await (const found of conversationsOf(one)) {
      if ("problem" in found) problems.push(`${one.adapter.name}: ${found.problem}`);
      else if (found.updatedAt >= after) conversations.push(described(one, found, known));
    }
  }
  conversations.sort((first, second) => (first.updatedAt < second.updatedAt ? 1 : -1));
  return { conversations, problems: problems.slice(0, PROBLEMS) };
}

export function chosen(agent: string | undefined): readonly AgentFiles[] {
  if (agent === undefined) return agentFiles;
  const named = agentFiles.filter(({ adapter }) => adapter.agent === agent);
  if (named.length > 0) return named;
  const names = agentFiles.map(({ adapter }) => adapter.agent).join(", ");
  throw new ApiError("unsupported_agent", `No session files of ${agent} are known. Those that are: ${names}.`);
}

/** In slices, so that a daemon serves others meanwhile. */
export async function* conversationsOf({ files }: AgentFiles) {
  const path = folderOf(files, process.env);
  const folder = path === null ? null : openAgentFolder(path);
  if (folder === null) return;
  let until = performance.now() + SLICE_MS;
  try {
    for (const found of files.discover(folder)) {
      yield found;
      if (performance.now() < until) continue;
      await setImmediate();
      until = performance.now() + SLICE_MS;
    }
  } finally {
    folder.close();
  }
}

/** The sessions of native conversations, by agent and native id. */
async function knownSessions({ log }: Runtime): Promise<ReadonlyMap<string, SessionId>> {
  const known = new Map<string, SessionId>();
  for (let before: number | null = null; ; ) {
    const { records, next }: Awaited<ReturnType<typeof log.list>> = await log.list({ before, limit: PAGE });
    for (const { id, summary } of records) {
      if (summary.nativeSessionId !== null) known.set(keyOf(summary.agent, summary.nativeSessionId), id);
    }
    if (next === null) return known;
    before = next;
  }
}

const keyOf = (agent: string, nativeId: string): string => `${agent} ${nativeId}`;

function described(
  { adapter, files }: AgentFiles,
  { nativeId, title, directory, updatedAt, size }: FoundConversation,
  known: ReadonlyMap<string, SessionId>,
): DiscoveredConversation {
  return {
    agent: adapter.agent,
    nativeSessionId: nativeId,
    title: cleanTitle(title),
    directory,
    updatedAt: timeText(isTime(updatedAt) ? updatedAt : 0),
    size,
    sessionId: known.get(keyOf(adapter.agent, nativeId)) ?? null,
    ...defined({ readOnly: files.readOnly }),
  };
}
