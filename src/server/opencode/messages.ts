/**
 * The messages of a conversation, as they were persisted and as they have changed since, read bit by bit: a long
 * conversation is answered as it is read, and never held as a whole.
 */
import type { OpenCodeFileDiff, OpenCodeMessage, OpenCodePart } from "../../dialects/opencode.ts";
import { diffIn, relativePath, type StoredMessage, scopes, type ToolDiff } from "../../projections/opencode/index.ts";
import type { Projections, RecordsQuery } from "../../runtime/log/contract.ts";
import { checkpointName } from "../rendering/dialects.ts";
import { openTimeSlices } from "../rendering/time-slices.ts";
import type { SessionView } from "./session-view.ts";

/** How many records are read at a time. */
const PAGE = 50;
const END = Number.MAX_SAFE_INTEGER;

export interface Conversation {
  readonly projections: Projections;
  readonly view: SessionView;
  /** OpenCode's id of the session, root or child. */
  readonly session: string;
}

/** A message without its parts. */
export interface Head {
  readonly id: string;
  /** As JSON. */
  readonly info: string;
}

export interface Range {
  /** The latest so many; null for all. */
  readonly limit: number | null;
  /** Only those before this message; null, or one that is not there, for all. */
  readonly before: string | null;
}

/** The latest messages in order. */
export const latestHeads = (conversation: Conversation, limit: number): Promise<readonly Head[]> =>
  headsBefore(conversation, { limit, before: null });

export async function headsBefore(conversation: Conversation, range: Range): Promise<readonly Head[]> {
  const heads: Head[] = [];
  for await (const head of headsOf(conversation, range)) heads.push(head);
  return heads;
}

export async function headOf(conversation: Conversation, id: string): Promise<Head | null> {
  const info = fresh(conversation).get(id)?.info ?? null;
  if (info !== null) return { id, info: JSON.stringify(info) };
  if (removed(conversation).messages.has(id)) return null;
  const record = await recordOf(conversation, { scope: scopes.messages(conversation.session), id });
  return record === null ? null : { id, info: record.body };
}

/** The answer to the latest prompt. */
export async function lastAnswer(conversation: Conversation): Promise<Head | null> {
  let latest: Head | null = null;
  for (let before: string | null = null; ; ) {
    const heads: Head[] = [];
    for await (const head of headsOf(conversation, { limit: PAGE, before })) heads.push(head);
    latest ??= heads.at(-1) ?? null;
    const found = heads.findLast(isAnswer);
    if (found !== undefined || heads.length === 0) return found ?? latest;
    before = heads[0]?.id ?? null;
  }
}

function isAnswer({ info }: Head): boolean {
  const message: OpenCodeMessage = JSON.parse(info);
  return message.role === "assistant" && message.summary !== true;
}

/** Messages with their parts, as the pieces of a JSON array. */
export async function* messagesJson(conversation: Conversation, range: Range): AsyncGenerator<string> {
  let mark = "[";
  for await (const head of headsOf(conversation, range)) {
    yield mark;
    yield* messageJson(conversation, head);
    mark = ",";
  }
  yield mark === "[" ? "[]" : "]";
}

/** One message with its parts, as the pieces of a JSON object. */
export async function* messageJson(conversation: Conversation, { id, info }: Head): AsyncGenerator<string> {
  yield `{"info":${info},"parts":[`;
  let mark = "";
  for await (const part of partsOf(conversation, id)) {
    yield mark + part;
    mark = ",";
  }
  yield "]}";
}

const fresh = ({ view, session }: Conversation): ReadonlyMap<string, StoredMessage> =>
  view.now.store.sessions.get(session)?.messages ?? new Map();

const nothing = { messages: new Set<string>(), parts: new Map<string, Set<string>>() };
const removed = ({ view, session }: Conversation): typeof nothing =>
  view.now.store.sessions.get(session)?.removed ?? nothing;

const recordsOf = ({ projections, view }: Conversation, query: Omit<RecordsQuery, "name">) =>
  projections.records(view.id, { name: checkpointName(view.now.state.options), ...query });

const recordOf = ({ projections, view }: Conversation, query: { readonly scope: string; readonly id: string }) =>
  projections.record(view.id, { name: checkpointName(view.now.state.options), ...query });

async function* headsOf(conversation: Conversation, { limit, before }: Range): AsyncGenerator<Head> {
  const scope = scopes.messages(conversation.session);
  const added = await addedTo(conversation);
  const at = added.findIndex(({ id }) => id === before);
  const stored = before === null || at >= 0 ? null : await storedAt(conversation, before);
  const until = stored ?? END;
  const upTo = stored !== null ? [] : at >= 0 ? added.slice(0, at) : added;
  const newest = limit === null ? upTo : last(upTo, limit);
  // What is in memory now may be persisted while the log is read: it is sent once all the same.
  const unsent = new Set(newest.map(({ id }) => id));
  if (limit === null) {
    for await (const head of storedHeads(conversation, { until })) {
      unsent.delete(head.id);
      yield head;
    }
  } else if (newest.length < limit) {
    const gone = removed(conversation).messages;
    const most = limit + gone.size;
    const records = await recordsOf(conversation, { scope, from: { before: until }, limit: most });
    const known = records.filter(({ id }) => !gone.has(id) && !unsent.has(id));
    const wanted = limit - newest.length;
    for (const { id, body } of last(known, wanted)) yield { id, info: infoNow(conversation, { id, body }) };
  }
  for (const head of newest) if (unsent.has(head.id)) yield head;
}

const last = <T>(all: readonly T[], count: number): readonly T[] => all.slice(Math.max(0, all.length - count));

/** The messages that are not persisted yet, in order. */
async function addedTo(conversation: Conversation): Promise<readonly Head[]> {
  const added: Head[] = [];
  const candidates = [...fresh(conversation)].map(([id, { info }]) => ({ id, info }));
  for (const { id, info } of candidates) {
    if (info === null || (await storedAt(conversation, id)) !== null) continue;
    added.push({ id, info: JSON.stringify(info) });
  }
  return added;
}

async function storedAt(conversation: Conversation, id: string): Promise<number | null> {
  if (removed(conversation).messages.has(id)) return null;
  const record = await recordOf(conversation, { scope: scopes.messages(conversation.session), id });
  return record?.place ?? null;
}

async function* storedHeads(conversation: Conversation, { until }: { until: number }): AsyncGenerator<Head> {
  const scope = scopes.messages(conversation.session);
  const pauseDue = openTimeSlices();
  for (let after = 0; ; ) {
    const records = await recordsOf(conversation, { scope, from: { after }, limit: PAGE });
    for (const { id, place, body } of records) {
      if (place >= until) return;
      after = place;
      if (!removed(conversation).messages.has(id)) yield { id, info: infoNow(conversation, { id, body }) };
    }
    await pauseDue();
    if (records.length < PAGE) return;
  }
}

function infoNow(conversation: Conversation, { id, body }: { id: string; body: string }): string {
  const info = fresh(conversation).get(id)?.info ?? null;
  return info === null ? body : JSON.stringify(info);
}

/** Parts as JSON. What is in memory is looked at right when the log is read, so that none is missed between them. */
async function* partsOf(conversation: Conversation, message: string): AsyncGenerator<string> {
  const scope = scopes.parts(message);
  const pauseDue = openTimeSlices();
  const sent = new Set<string>();
  for (let after = 0; ; ) {
    const { parts, gone, isNew } = partsNow(conversation, message);
    const records = isNew ? [] : await recordsOf(conversation, { scope, from: { after }, limit: PAGE });
    for (const { id, place, body } of records) {
      after = place;
      if (gone.has(id)) continue;
      sent.add(id);
      const part = parts.get(id);
      yield part === undefined ? body : JSON.stringify(part);
    }
    await pauseDue();
    if (records.length === PAGE) continue;
    for (const [id, part] of parts) if (!sent.has(id)) yield JSON.stringify(part);
    return;
  }
}

interface Parts {
  readonly parts: ReadonlyMap<string, OpenCodePart>;
  readonly gone: ReadonlySet<string>;
  /** The message was removed and recreated: what was persisted of it is void. */
  readonly isNew: boolean;
}

function partsNow(conversation: Conversation, message: string): Parts {
  const { messages, parts } = removed(conversation);
  return {
    parts: new Map(fresh(conversation).get(message)?.parts),
    gone: new Set(parts.get(message)),
    isNew: messages.has(message),
  };
}

/**
 * The latest diff that a tool reported for each file, of one message only where one is named. Files are named from the
 * directory, as OpenCode does.
 */
export async function diffsOf(conversation: Conversation, message: string | null): Promise<OpenCodeFileDiff[]> {
  const diffs = new Map<string, OpenCodeFileDiff>();
  const directory = conversation.view.now.store.sessions.get(conversation.session)?.info?.directory ?? "";
  const take = (diff: OpenCodeFileDiff | null): void => {
    if (diff?.file === undefined) return;
    const file = relativePath({ path: diff.file, directory });
    diffs.set(file, { ...diff, file });
  };
  if (message === null) for (const diff of await reportedDiffs(conversation)) take(diff);
  else {
    for await (const json of partsOf(conversation, message)) {
      const part: OpenCodePart = JSON.parse(json);
      take(diffIn(part));
    }
  }
  return [...diffs.values()];
}

async function reportedDiffs(conversation: Conversation): Promise<OpenCodeFileDiff[]> {
  const reported = new Map<string, ToolDiff>();
  const scope = scopes.diffs(conversation.session);
  const pauseDue = openTimeSlices();
  for (let after = 0; ; ) {
    const now = freshDiffs(conversation);
    const records = await recordsOf(conversation, { scope, from: { after }, limit: PAGE });
    for (const { id, place, body } of records) {
      const diff: ToolDiff = JSON.parse(body);
      reported.set(id, diff);
      after = place;
      await pauseDue();
    }
    if (records.length === PAGE) continue;
    for (const [id, diff] of now) reported.set(id, diff);
    break;
  }
  const there = new Map<string, boolean>();
  for (const { messageID } of reported.values()) {
    if (!there.has(messageID)) there.set(messageID, (await headOf(conversation, messageID)) !== null);
  }
  return [...reported.values()].filter(({ messageID }) => there.get(messageID)).map(({ diff }) => diff);
}

function freshDiffs(conversation: Conversation): ReadonlyMap<string, ToolDiff> {
  const diffs = new Map<string, ToolDiff>();
  for (const [messageID, { parts }] of fresh(conversation)) {
    for (const part of parts.values()) {
      const diff = diffIn(part);
      if (diff !== null) diffs.set(part.id, { messageID, diff });
    }
  }
  return diffs;
}
