/** One session as OpenCode's clients see it: its projection, and what that has told since it was last put by. */
import type { OpenCodeEvent, OpenCodeStatus } from "../../dialects/opencode.ts";
import {
  applyOpenCode,
  emptyStore,
  type OpenCodeOptions,
  type OpenCodeState,
  type OpenCodeStore,
  openCodeFold,
  openCodeSessionId,
} from "../../projections/opencode/index.ts";
import type { UniversalEvent } from "../../protocol/events.ts";
import type { SessionId } from "../../protocol/ids.ts";

export interface Live {
  readonly id: SessionId;
  readonly openCodeId: string;
  readonly state: OpenCodeState;
  readonly store: OpenCodeStore;
  /** The last event that was told. */
  sequence: number;
  /** OpenCode's request ids to ours, for those that are open and those that were. */
  readonly requests: Map<string, string>;
  /** The prompt of the open turn, and of those that ended lately. */
  running: string | null;
  readonly ended: Set<string>;
  queue: readonly string[];
  /** Prompts that left the queue: they run, or never will. */
  readonly left: Set<string>;
  readonly pace: Pace;
  usedAt: number;
}

/** What the projection has put by (checkpoints.ts), and what came since. */
export interface Pace {
  /** The sequence at which it last put something by; 0 for never. */
  kept: number;
  /** How much was written then that has to be written again. */
  keptBytes: number;
  events: number;
  bytes: number;
  turnEnded: boolean;
}

export const startPace = (): Pace => ({ kept: 0, keptBytes: 0, events: 0, bytes: 0, turnEnded: false });

/** How much of the past of a session is remembered for those who ask late. */
const REMEMBERED = 200;

export function openLive(id: SessionId, options: OpenCodeOptions): Live {
  return {
    id,
    openCodeId: openCodeSessionId(id),
    state: openCodeFold(options).start(),
    store: emptyStore(),
    sequence: 0,
    requests: new Map(),
    running: null,
    ended: new Set(),
    queue: [],
    left: new Set(),
    pace: startPace(),
    usedAt: 0,
  };
}

/** What one event is to OpenCode's clients. The store has heard it before anybody else does. */
export function tell(live: Live, event: UniversalEvent): readonly OpenCodeEvent[] {
  const told = openCodeFold(live.state.options).step(live.state, event);
  live.sequence = event.sequence;
  live.pace.events += 1;
  for (const one of told) applyOpenCode(live.store, one);
  note(live, event);
  return told;
}

function note(live: Live, event: UniversalEvent): void {
  switch (event.type) {
    case "turn.started":
      live.running = event.data.prompt_id ?? null;
      if (live.running !== null) live.left.delete(live.running);
      return;
    case "turn.ended":
      if (live.running !== null) remember(live.ended, live.running);
      live.running = null;
      live.pace.turnEnded = true;
      return;
    case "session.updated": {
      if (event.data.queue === undefined) return;
      const queue: string[] = event.data.queue.map(({ prompt_id }) => prompt_id);
      for (const prompt of live.queue) {
        if (!queue.includes(prompt) && prompt !== live.running) remember(live.left, prompt);
      }
      live.queue = queue;
      return;
    }
    case "permission.requested":
      return noteRequest(live, event.data.permission_id);
    case "question.requested":
      return noteRequest(live, event.data.question_id);
    default:
      return;
  }
}

function noteRequest(live: Live, id: string): void {
  const request = live.state.requests.get(id);
  if (request !== undefined) live.requests.set(request.id, id);
  for (const old of live.requests.keys()) {
    if (live.requests.size <= REMEMBERED) return;
    live.requests.delete(old);
  }
}

function remember(set: Set<string>, value: string): void {
  set.add(value);
  for (const old of set) {
    if (set.size <= REMEMBERED) return;
    set.delete(old);
  }
}

export const statusOf = (live: Live, id: string): OpenCodeStatus =>
  live.store.sessions.get(id)?.status ?? { type: "idle" };
