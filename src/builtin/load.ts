/** Reads a session's log into its conversation; a forked session goes on from where its parent stood. */
import type { LaunchOptions } from "../core/adapter.ts";
import type { UniversalEvent } from "../protocol/events.ts";
import { closeHistory, type History, historyFold } from "./history.ts";

export type LoadHistory = (sessionId: string) => AsyncIterable<UniversalEvent>;

export interface LoadOptions {
  readonly options: Pick<LaunchOptions, "session_id" | "resume" | "fork">;
  readonly loadHistory: LoadHistory;
}

/** Forks of forks of forks; deeper ones begin with what is there. */
const DEPTH_LIMIT = 20;
/** `session.started` is among the first events of a log. */
const FIRST_EVENTS = 50;

export async function loadConversation({ options, loadHistory }: LoadOptions): Promise<History> {
  const { session_id, resume, fork } = options;
  const parent = fork && resume !== null && resume !== session_id ? { id: resume, until: Infinity } : null;
  const state = historyFold.start();
  for await (const event of withParents({ id: session_id, until: Infinity, parent, depth: 0, loadHistory })) {
    historyFold.step(state, event);
  }
  return closeHistory(state);
}

/** Where a fork leaves its parent: `<session>@<sequence>`. */
export async function forkPoint({ options, loadHistory }: LoadOptions): Promise<string | null> {
  if (!options.fork || options.resume === null) return null;
  let last = 0;
  for await (const { sequence } of loadHistory(options.resume)) last = sequence;
  return `${options.resume}@${last}`;
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
    if (!open) {
      yield event;
      continue;
    }
    first.push(event);
    const told = event.type === "session.started" ? readForkPoint(event.data.metadata.forked_from) : null;
    if (event.type === "session.started" || first.length >= FIRST_EVENTS) yield* begin(told ?? parent);
  }
  if (open) yield* begin(parent);
}

function readForkPoint(text: unknown): Parent | null {
  if (typeof text !== "string") return null;
  const at = text.lastIndexOf("@");
  const until = Number(text.slice(at + 1));
  return at > 0 && Number.isInteger(until) ? { id: text.slice(0, at), until } : null;
}
