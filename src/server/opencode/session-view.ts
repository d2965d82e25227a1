/** One session as OpenCode's clients see it: its projection, and what is not in a checkpoint yet. */
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

/** Held by requests for as long as they need it. */
export interface SessionView {
  readonly id: SessionId;
  readonly openCodeId: string;
  /** Replaced as a whole when another process has written the session's checkpoint. */
  now: RenderedSession;
  usedAt: number;
}

/** A session up to an event. */
export interface RenderedSession {
  readonly state: OpenCodeState;
  readonly store: OpenCodeStore;
  /** The last event that was rendered. */
  sequence: number;
  /** OpenCode's request ids to ours, for those that are open and those that were. */
  readonly requests: Map<string, string>;
  /** The prompt of the open turn, and of those that ended lately. */
  running: string | null;
  readonly ended: Set<string>;
  queue: readonly string[];
  /** Prompts that left the queue: they run, or never will. */
  readonly left: Set<string>;
  readonly unsaved: Unsaved;
}

/** The latest checkpoint (checkpoints.ts), and what came since. */
export interface Unsaved {
  /** The sequence of the latest checkpoint; 0 for none. */
  after: number;
  /** How much of it has to be written again with the next one. */
  rewrittenBytes: number;
  events: number;
  bytes: number;
  turnEnded: boolean;
}

/** How much of a session's past is kept for requests that come late. */
const REMEMBERED = 200;

export const openView = (id: SessionId, now: RenderedSession): SessionView => ({
  id,
  openCodeId: openCodeSessionId(id),
  now,
  usedAt: 0,
});

export const startSession = (options: OpenCodeOptions): RenderedSession => ({
  state: openCodeFold(options).start(),
  store: emptyStore(),
  sequence: 0,
  requests: new Map(),
  running: null,
  ended: new Set(),
  queue: [],
  left: new Set(),
  unsaved: { after: 0, rewrittenBytes: 0, events: 0, bytes: 0, turnEnded: false },
});

/** A group of events that is being rendered. */
export interface GroupRendering {
  /** What one event is to OpenCode's clients. */
  readonly render: (event: UniversalEvent) => readonly OpenCodeEvent[];
  /** The store has all that was rendered. Before that nobody looks at it. */
  readonly settle: () => void;
}

type PartDelta = Extract<OpenCodeEvent, { type: "message.part.delta" }>;

/**
 * Deltas of one part are joined before the store has them: a text that grows by each of thousands is a chain of
 * thousands of strings, which the collector copies again and again.
 */
export function renderGroup(session: RenderedSession): GroupRendering {
  const { store } = session;
  const { step } = openCodeFold(session.state.options);
  let said: { readonly first: PartDelta; readonly pieces: string[] } | null = null;

  const settle = (): void => {
    if (said === null) return;
    const { first, pieces } = said;
    said = null;
    applyOpenCode(store, { ...first, properties: { ...first.properties, delta: pieces.join("") } });
  };
  const apply = (event: OpenCodeEvent): void => {
    if (event.type === "message.part.delta") {
      const { partID, delta } = event.properties;
      if (said !== null && said.first.properties.partID === partID) {
        said.pieces.push(delta);
        return;
      }
      settle();
      said = { first: event, pieces: [delta] };
      return;
    }
    settle();
    applyOpenCode(store, event);
  };
  return {
    render(event) {
      const rendered = step(session.state, event);
      session.sequence = event.sequence;
      session.unsaved.events += 1;
      for (const one of rendered) apply(one);
      if (event.type !== "item.delta") note(session, event);
      return rendered;
    },
    settle,
  };
}

function note(session: RenderedSession, event: UniversalEvent): void {
  switch (event.type) {
    case "turn.started":
      session.running = event.data.prompt_id ?? null;
      if (session.running !== null) session.left.delete(session.running);
      return;
    case "turn.ended":
      if (session.running !== null) remember(session.ended, session.running);
      session.running = null;
      session.unsaved.turnEnded = true;
      return;
    case "session.updated": {
      if (event.data.queue === undefined) return;
      const queue: string[] = event.data.queue.map(({ prompt_id }) => prompt_id);
      for (const prompt of session.queue) {
        if (!queue.includes(prompt) && prompt !== session.running) remember(session.left, prompt);
      }
      session.queue = queue;
      return;
    }
    case "permission.requested":
      return noteRequest(session, event.data.permission_id);
    case "question.requested":
      return noteRequest(session, event.data.question_id);
    default:
      return;
  }
}

function noteRequest({ state, requests }: RenderedSession, id: string): void {
  const request = state.requests.get(id);
  if (request !== undefined) requests.set(request.id, id);
  for (const old of requests.keys()) {
    if (requests.size <= REMEMBERED) return;
    requests.delete(old);
  }
}

function remember(set: Set<string>, value: string): void {
  set.add(value);
  for (const old of set) {
    if (set.size <= REMEMBERED) return;
    set.delete(old);
  }
}

export const statusOf = ({ now }: SessionView, id: string): OpenCodeStatus =>
  now.store.sessions.get(id)?.status ?? { type: "idle" };
