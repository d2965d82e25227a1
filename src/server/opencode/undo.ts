/**
 * `/undo` and `/redo` for agents that do not take back themselves: files by snapshots from before and after each turn,
 * the conversation by the runtime. Only for prompts of this surface, in trusted directories of git repositories.
 */
import { lstatSync } from "node:fs";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import * as z from "zod";
import { defined } from "../../core/defined.ts";
import { ApiError, hasCode } from "../../protocol/errors.ts";
import type { Revert } from "../../protocol/events.ts";
import type { SessionId } from "../../protocol/ids.ts";
import type { SessionDetail } from "../../protocol/resources.ts";
import type { Background } from "../../runtime/background.ts";
import type { Logger } from "../../runtime/logger.ts";
import type { Sessions } from "../../runtime/session/contract.ts";
import { folderOf } from "../http/attachment-files.ts";
import { repositoryOf } from "./git.ts";
import type { Catalogue } from "./providers.ts";
import type { SessionView } from "./session-view.ts";
import type { SessionViews } from "./session-views.ts";
import { changedFiles, diffBetween, restoreFiles, type SnapshotPlace, takeSnapshot } from "./snapshots.ts";

export interface Undo {
  /** Before a prompt is sent: gives what `sent` needs afterwards. */
  readonly before: (view: SessionView) => Promise<string | null>;
  readonly sent: (view: SessionView, prompt: SentPrompt) => Promise<void>;
  readonly revert: (view: SessionView, messageID: string) => Promise<void>;
  readonly unrevert: (view: SessionView) => Promise<void>;
  /** Resolves when no snapshot of the session is being taken: before it is deleted, with its folder. */
  readonly settled: (view: SessionView) => Promise<void>;
}

export interface SentPrompt {
  readonly promptId: string;
  /** The log's id of the user's message. */
  readonly message: string;
  readonly before: string | null;
}

export interface UndoOptions {
  readonly sessions: Sessions;
  readonly views: SessionViews;
  readonly catalogue: Pick<Catalogue, "takesBack">;
  readonly attachments: string;
  readonly logger: Logger;
  readonly background: Pick<Background, "run">;
}

const Turn = z.object({
  promptId: z.string(),
  message: z.string(),
  /** Null for a prompt that waited in the queue: the end of the turn before it is its beginning. */
  before: z.string().nullable(),
  after: z.string().nullable(),
  /** What it has changed; null while it runs. */
  files: z.array(z.string()).readonly().nullable(),
});
type Turn = z.infer<typeof Turn>;

interface State extends UndoOptions {
  /** Directories of which no snapshot could be had in time: a prompt does not wait for another one. */
  readonly unfit: Set<string>;
  /** One at a time per session. */
  readonly chains: Map<SessionId, Promise<unknown>>;
}

export function openUndo(options: UndoOptions): Undo {
  const state: State = { ...options, unfit: new Set(), chains: new Map() };
  const inTurn = <T>(view: SessionView, work: () => Promise<T>): Promise<T> => {
    const next = (state.chains.get(view.id) ?? Promise.resolve()).then(work, work);
    state.chains.set(view.id, next);
    return next;
  };
  const running = new Map<SessionId, string>();
  options.views.onEvent((view, event) => {
    if (event.type === "session.ended") state.chains.delete(view.id);
    if (event.type === "turn.started" && event.data.prompt_id !== undefined) running.set(view.id, event.data.prompt_id);
    if (event.type !== "turn.ended") return;
    const promptId = running.get(view.id);
    running.delete(view.id);
    // Only sessions that are prompted here have snapshots.
    if (promptId !== undefined && state.chains.has(view.id)) {
      const endedAt = Date.parse(event.time);
      const note = (): Promise<void> => noteEnd(state, view, { promptId, endedAt });
      options.background.run("snapshots", () => inTurn(view, note));
    }
  });
  return {
    before: (view) => inTurn(view, () => before(state, view)),
    sent: (view, prompt) => inTurn(view, () => noteSent(state, view, prompt)),
    revert: (view, messageID) => inTurn(view, () => revert(state, view, messageID)),
    unrevert: (view) => inTurn(view, () => unrevert(state, view)),
    settled: async (view) => void (await state.chains.get(view.id)?.catch(() => undefined)),
  };
}

const NO_REPOSITORY = "files are taken back only in a git repository, and this directory is in none";

type Placed = Pick<SessionDetail, "directory" | "placement">;

/** Why there are no snapshots of the session's directory; null when there are. */
function obstacle({ sessions }: State, { directory, placement }: Placed): string | null {
  const host = placement?.host ?? null;
  if (host !== null && host !== sessions.host?.self) return `its files are on host ${host}: ask there`;
  if (repositoryOf(directory) === null) return NO_REPOSITORY;
  if (!sessions.trust.isTrusted(directory)) return `${directory} is not trusted: franca trust add ${directory}`;
  return null;
}

const placeOf = ({ attachments }: State, { id }: SessionView, directory: string): SnapshotPlace => ({
  folder: join(folderOf({ attachments, session: id }), "snapshots"),
  directory,
});

async function before(state: State, view: SessionView): Promise<string | null> {
  const session = await state.sessions.get(view.id, { limit: 0 });
  const { agent, directory, revert: mark, status } = session;
  if (obstacle(state, session) !== null || (await state.catalogue.takesBack(agent)) !== "host") return null;
  const place = placeOf(state, view, directory);
  if (mark !== null && mark !== undefined) await forget(place, mark);
  return status === "idle" ? snapshotOf(state, place) : null;
}

/** A snapshot that cannot be had is no reason to refuse a prompt: what came after it cannot be taken back then. */
async function snapshotOf({ logger, unfit }: State, place: SnapshotPlace): Promise<string | null> {
  if (unfit.has(place.directory)) return null;
  try {
    return await takeSnapshot(place);
  } catch (error) {
    logger.warn("opencode.no_snapshot", { directory: place.directory, error });
    unfit.add(place.directory);
    return null;
  }
}

/** What was taken back is about to be final. */
async function forget(place: SnapshotPlace, { message_id }: Revert): Promise<void> {
  const turns = await readTurns(place);
  const first = turns.findIndex(({ message }) => message === message_id);
  if (first >= 0) await writeTurns(place, turns.slice(0, first));
}

async function noteSent(state: State, view: SessionView, { promptId, message, before: tree }: SentPrompt) {
  const session = await state.sessions.get(view.id, { limit: 0 });
  if (obstacle(state, session) !== null) return;
  const place = placeOf(state, view, session.directory);
  const turns = await readTurns(place);
  if (turns.some((turn) => turn.promptId === promptId) || (tree === null && turns.length === 0)) return;
  await writeTurns(place, [...turns, { promptId, message, before: tree, after: null, files: null }]);
}

interface EndedTurn {
  readonly promptId: string;
  readonly endedAt: number;
}

async function noteEnd(state: State, view: SessionView, { promptId, endedAt }: EndedTurn): Promise<void> {
  try {
    const session = await state.sessions.get(view.id, { limit: 0 });
    if (obstacle(state, session) !== null) return;
    const place = placeOf(state, view, session.directory);
    const turns = await readTurns(place);
    const index = turns.findIndex((turn) => turn.promptId === promptId);
    const from = beginningOf(turns, index);
    const after = index < 0 || from === null ? null : await snapshotOf(state, place);
    if (from === null || after === null) return;
    const changed = await changedFiles(place, { from, to: after });
    const files = changed.filter((file) => !isLater(join(session.directory, file), endedAt));
    await writeTurns(
      place,
      turns.map((turn) => (turn.promptId === promptId ? { ...turn, after, files } : turn)),
    );
    await state.sessions.get(view.id, { limit: 0 });
  } catch (error) {
    // It was deleted meanwhile, and its folder with it.
    if (hasCode(error, "session_not_found"))
      await rm(folderOf({ attachments: state.attachments, session: view.id }), { recursive: true, force: true });
    else state.logger.warn("opencode.no_snapshot", { session: view.id, error });
  }
}

/** The snapshot is taken a little after the turn's end: what was changed since then is a person's. */
const isLater = (path: string, endedAt: number): boolean =>
  (lstatSync(path, { throwIfNoEntry: false })?.ctimeMs ?? 0) > endedAt;

async function revert(state: State, view: SessionView, messageID: string): Promise<void> {
  const session = await state.sessions.get(view.id, { limit: 0 });
  const { agent, directory, revert: mark } = session;
  if ((await state.catalogue.takesBack(agent)) === "nobody")
    throw new ApiError("not_supported", `Nothing was taken back: ${agent} cannot forget a part of its conversation.`);
  const message_id = view.now.state.recent.find(({ id }) => id === messageID)?.logged ?? null;
  if (message_id === null)
    throw new ApiError("invalid_request", `${messageID} is none of your latest messages here: choose one of those.`);
  const why = obstacle(state, session);
  if (why !== null) throw new ApiError("not_supported", `Nothing was taken back: ${why}.`);
  const place = placeOf(state, view, directory);
  const turns = await readTurns(place);
  const first = turns.findIndex(({ message }) => message === message_id);
  const from = beginningOf(turns, first);
  if (from === null) {
    const missing = "there is no snapshot of the files from before this message";
    throw new ApiError("not_supported", `Nothing was taken back: ${missing}.`);
  }
  const snapshot = mark?.snapshot ?? (await takeSnapshot(place));
  // First the conversation: it is refused while the session is busy, and by agents that cannot.
  await state.sessions.revert(view.id, { message_id, snapshot });
  try {
    if (mark !== null && mark !== undefined) await restore(place, { turns, mark, tree: snapshot });
    await restoreFiles(place, { files: await filesOf(place, turns.slice(first), snapshot), from });
  } catch (error) {
    await state.sessions.revert(view.id, mark ?? null);
    throw error;
  }
  const diff = await diffBetween(place, { from: await takeSnapshot(place), to: snapshot });
  await state.sessions.revert(view.id, defined({ message_id, snapshot, diff: diff ?? undefined }));
}

async function unrevert(state: State, view: SessionView): Promise<void> {
  const session = await state.sessions.get(view.id, { limit: 0 });
  const { directory, revert: mark } = session;
  if (mark === null || mark === undefined) return;
  const why = obstacle(state, session);
  if (why !== null) throw new ApiError("not_supported", `Nothing was brought back: ${why}.`);
  const place = placeOf(state, view, directory);
  await state.sessions.revert(view.id, null);
  try {
    if (mark.snapshot !== undefined) await restore(place, { turns: await readTurns(place), mark, tree: mark.snapshot });
  } catch (error) {
    await state.sessions.revert(view.id, mark);
    throw error;
  }
}

/** The files that were taken back are again what they were before that. */
async function restore(
  place: SnapshotPlace,
  { turns, mark, tree }: { turns: readonly Turn[]; mark: Revert; tree: string },
): Promise<void> {
  const first = turns.findIndex(({ message }) => message === mark.message_id);
  if (first < 0) return;
  await restoreFiles(place, { files: await filesOf(place, turns.slice(first), tree), from: tree });
}

const beginningOf = (turns: readonly Turn[], index: number): string | null =>
  turns[index]?.before ?? turns[index - 1]?.after ?? null;

/** What the turns have changed; what a person changed between them stays as it is. */
async function filesOf(place: SnapshotPlace, turns: readonly Turn[], now: string): Promise<readonly string[]> {
  const all = new Set<string>();
  for (const [index, { files }] of turns.entries()) {
    const from = beginningOf(turns, index);
    const to = turns[index + 1]?.before ?? now;
    // One whose end nobody saw, because the daemon died: all that has changed until the next one.
    const changed = files ?? (from === null ? [] : await changedFiles(place, { from, to }));
    for (const file of changed) all.add(file);
  }
  return [...all];
}

async function readTurns({ folder }: SnapshotPlace): Promise<readonly Turn[]> {
  const text = await readFile(join(folder, "turns.json"), "utf8").catch(() => "[]");
  return z.array(Turn).catch([]).parse(parsed(text));
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return [];
  }
}

const writeTurns = ({ folder }: SnapshotPlace, turns: readonly Turn[]): Promise<void> =>
  writeFile(join(folder, "turns.json"), JSON.stringify(turns), { mode: 0o600 });
