/**
 * The records of a session file as turns. They form a tree: a rewind, or a second process, makes a branch, and only the
 * branch that ends last is the conversation. A record belongs to the nearest prompt above it, because results of
 * parallel calls hang beside the main line (transcripts/session-files/claude/two-turns).
 */
import { type ClaudeFileRecord, userKind } from "../../dialects/claude-file.ts";
import { shapeOf } from "../../dialects/shape.ts";

export interface RecordedTurn {
  /** What began it. */
  readonly first: ClaudeFileRecord;
  /** In the order of the file, the first included. */
  readonly records: readonly ClaudeFileRecord[];
}

export interface RecordedConversation {
  readonly turns: readonly RecordedTurn[];
  readonly abandoned: number;
}

export function turnsOf(all: readonly ClaudeFileRecord[]): RecordedConversation {
  const records = all.filter(({ sidechain }) => !sidechain);
  const byId = new Map(records.map((record) => [record.uuid, record]));
  const starters = startersOf(records);
  const owners = ownersOf(records, { byId, starters });
  const active = ancestorsOf(records.findLast(isMessage), byId);
  const turns = new Map<string, { first: ClaudeFileRecord; records: ClaudeFileRecord[] }>();
  let abandoned = 0;
  for (const record of records) {
    const owner = owners.get(record.uuid);
    if (owner === undefined) continue;
    if (record.uuid === owner) {
      if (active.has(owner)) turns.set(owner, { first: record, records: [] });
      else abandoned += 1;
    }
    turns.get(owner)?.records.push(record);
  }
  return { turns: [...turns.values()], abandoned };
}

const isMessage = ({ type }: ClaudeFileRecord): boolean => type === "user" || type === "assistant";

/** `/compact` writes its boundary first and the command after it: the boundary begins that turn. */
const isManualBoundary = ({ type, native }: ClaudeFileRecord): boolean =>
  type === "system" && native.subtype === "compact_boundary" && shapeOf(native.compactMetadata).trigger === "manual";

function startersOf(records: readonly ClaudeFileRecord[]): ReadonlySet<string> {
  const starters = new Set<string>();
  let compacting = false;
  for (const record of records) {
    const kind = record.type === "user" ? userKind(record) : null;
    const begins = kind === "prompt" || kind === "shell" || kind === "notification";
    if (isManualBoundary(record)) {
      starters.add(record.uuid);
      compacting = true;
    } else if (begins || (kind === "command" && !compacting)) {
      starters.add(record.uuid);
      compacting = false;
    }
  }
  return starters;
}

interface Tree {
  readonly byId: ReadonlyMap<string, ClaudeFileRecord>;
  readonly starters: ReadonlySet<string>;
}

/** The starter at or above each record. A parent may come later in the file, so the way up is walked. */
function ownersOf(records: readonly ClaudeFileRecord[], { byId, starters }: Tree): ReadonlyMap<string, string> {
  const owners = new Map<string, string>();
  for (const record of records) {
    const way: string[] = [];
    const seen = new Set<string>();
    let owner: string | undefined;
    for (let at: ClaudeFileRecord | undefined = record; at !== undefined && !seen.has(at.uuid); ) {
      owner = starters.has(at.uuid) ? at.uuid : owners.get(at.uuid);
      if (owner !== undefined) break;
      seen.add(at.uuid);
      way.push(at.uuid);
      at = at.parent === null ? undefined : byId.get(at.parent);
    }
    if (owner === undefined) continue;
    owners.set(record.uuid, owner);
    for (const uuid of way) owners.set(uuid, owner);
  }
  return owners;
}

function ancestorsOf(last: ClaudeFileRecord | undefined, byId: Tree["byId"]): ReadonlySet<string> {
  const active = new Set<string>();
  for (let at = last; at !== undefined && !active.has(at.uuid); ) {
    active.add(at.uuid);
    at = at.parent === null ? undefined : byId.get(at.parent);
  }
  return active;
}
