/** The messages of a store as small records to be stored, so that a long conversation need not stay in memory. */
import type { OpenCodeFileDiff, OpenCodePart } from "../../dialects/opencode.ts";
import type { OpenCodeStore, StoredSession } from "./store.ts";

/** The scopes of records: the messages of a session, the parts of a message, the diffs of a session's tools. */
export const scopes = {
  messages: (session: string): string => `messages/${session}`,
  parts: (message: string): string => `parts/${message}`,
  diffs: (session: string): string => `diffs/${session}`,
} as const;

export type OpenCodeRecordChange =
  | { readonly type: "put"; readonly scope: string; readonly id: string; readonly body: string }
  | { readonly type: "remove"; readonly scope: string; readonly id: string }
  | { readonly type: "clear"; readonly scope: string };

/** A file's diff, and the message whose tool made it. */
export interface ToolDiff {
  readonly messageID: string;
  readonly diff: OpenCodeFileDiff;
}

/** All that has changed since messages were last saved. */
export function recordChanges({ sessions }: OpenCodeStore): OpenCodeRecordChange[] {
  return [...sessions].flatMap(([id, session]) => [...removals(id, session), ...puts(id, session)]);
}

/** Drops from memory what was saved, but for the parts that are still being written: deltas are added to them. */
export function dropSaved({ sessions }: OpenCodeStore, isOpen: (part: string) => boolean): void {
  for (const { messages, removed } of sessions.values()) {
    removed.messages.clear();
    removed.parts.clear();
    for (const [id, message] of messages) {
      message.info = null;
      for (const part of message.parts.keys()) if (!isOpen(part)) message.parts.delete(part);
      if (message.parts.size === 0) messages.delete(id);
    }
  }
}

function removals(id: string, { removed }: StoredSession): OpenCodeRecordChange[] {
  const changes: OpenCodeRecordChange[] = [];
  for (const message of removed.messages) {
    changes.push({ type: "remove", scope: scopes.messages(id), id: message });
    changes.push({ type: "clear", scope: scopes.parts(message) });
  }
  for (const [message, parts] of removed.parts) {
    for (const part of parts) {
      changes.push({ type: "remove", scope: scopes.parts(message), id: part });
      changes.push({ type: "remove", scope: scopes.diffs(id), id: part });
    }
  }
  return changes;
}

function puts(id: string, { messages }: StoredSession): OpenCodeRecordChange[] {
  const changes: OpenCodeRecordChange[] = [];
  const put = (scope: string, of: string, value: unknown): void => {
    changes.push({ type: "put", scope, id: of, body: JSON.stringify(value) });
  };
  for (const [message, { info, parts }] of messages) {
    if (info !== null) put(scopes.messages(id), message, info);
    for (const part of parts.values()) {
      put(scopes.parts(message), part.id, part);
      const diff = diffIn(part);
      if (diff !== null) put(scopes.diffs(id), part.id, { messageID: message, diff } satisfies ToolDiff);
    }
  }
  return changes;
}

/** The diff of the file that a finished tool has changed, where its metadata has one. */
export function diffIn(part: OpenCodePart): OpenCodeFileDiff | null {
  if (part.type !== "tool" || part.state.status !== "completed") return null;
  const diff = part.state.metadata?.filediff;
  if (typeof diff !== "object" || diff === null) return null;
  const { file, patch, additions, deletions }: Readonly<Record<string, unknown>> = { ...diff };
  if (typeof file !== "string" || typeof patch !== "string") return null;
  if (typeof additions !== "number" || typeof deletions !== "number") return null;
  return { file, patch, additions, deletions, status: "modified" };
}
