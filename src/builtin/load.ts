/** Reads a session's log into its conversation; a forked session goes on from where its parent stood. */
import { COPIED } from "../core/copied-history.ts";
import type { LaunchOptions } from "../core/launch.ts";
import type { UniversalEvent } from "../protocol/events.ts";
import { closeHistory, type History, historyFold } from "./history.ts";

export type LoadHistory = (sessionId: string) => AsyncIterable<UniversalEvent>;

export interface LoadOptions {
  readonly options: Pick<LaunchOptions, "session_id" | "resume" | "fork">;
  readonly loadHistory: LoadHistory;
}

/** Forks of forks of forks; deeper ones begin with what is there. */
const DEPTH_LIMIT = 20;
/** The agent introduces itself at once: among the first events of a log its own id is known. */
const FIRST_EVENTS = 50;

export async function loadConversation({ options, loadHistory }: LoadOptions): Promise<History> {
  const { session_id, resume, fork } = options;
  const parent = fork && resume !== null ? { id: sessionOf(resume), until: Infinity } : null;
  const state = historyFold.start();
  for await (const event of withParents({ id: session_id, until: Infinity, parent, depth: 0, loadHistory })) {
    historyFold.step(state, event);
  }
  return closeHistory(state);
}

/**
 * The agent's own name for the session. A fork's says where it left its parent, `<session>~<parent>@<sequence>`, so
 * that the log alone shows its lineage: every event carries this name.
 */
export async function nativeId({ options, loadHistory }: LoadOptions): Promise<string> {
  const { session_id, resume, fork } = options;
  if (!fork || resume === null) return resume ?? session_id;
  const parent = sessionOf(resume);
  let last = 0;
  for await (const { sequence } of loadHistory(parent)) last = sequence;
  return `${encodeURIComponent(session_id)}~${encodeURIComponent(parent)}@${last}`;
}

const LINEAGE = /^([^~]+)~([^~]+)@(\d+)$/;

function sessionOf(native: string): string {
  const own = LINEAGE.exec(native)?.[1];
  return own === undefined ? native : decodeURIComponent(own);
}

function parentOf(native: string): Parent | null {
  const [, , parent, until] = LINEAGE.exec(native) ?? [];
  return parent === undefined ? null : { id: decodeURIComponent(parent), until: Number(until) };
}

interface Parent {
  readonly id: string;
  readonly until: number;
}

interface Line extends Parent {
  readonly parent: Parent | null;
  readonly depth: number;
  readonly loadHistory: LoadHistory;
}

async function* withParents({ id, until, parent, depth, loadHistory }: Line): AsyncGenerator<UniversalEvent> {
  const first: UniversalEvent[] = [];
  let open = true;
  const begin = async function* (known: Parent | null): AsyncGenerator<UniversalEvent> {
    open = false;
    if (known !== null && depth < DEPTH_LIMIT)
      yield* withParents({ ...known, parent: null, depth: depth + 1, loadHistory });
    yield* first;
  };
  for await (const event of loadHistory(id)) {
    if (event.sequence > until) break;
    // What a fork shows of its parent is read from the parent, with all that the model knows of it.
    if (event.cause.rule === COPIED) continue;
    if (!open) {
      yield event;
      continue;
    }
    first.push(event);
    const { native_session_id: native } = event;
    if (native !== null) yield* begin(parentOf(native) ?? parent);
    else if (first.length >= FIRST_EVENTS) yield* begin(parent);
  }
  if (open) yield* begin(parent);
}
