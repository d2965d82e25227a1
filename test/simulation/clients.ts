/** Simulated clients: each follows one session, falls behind, is cut off and comes back; others only look. */
import type { UniversalEvent } from "../../src/protocol/events.ts";
import type { SessionId } from "../../src/protocol/ids.ts";
import type { Sessions } from "../../src/runtime/session/contract.ts";
import type { Life, World } from "./world.ts";

/** What a client saw, in the order it saw it. */
export interface Seen {
  readonly name: string;
  readonly session: SessionId;
  /** Sequence and body, with the sequence that it had asked to follow when it came back. */
  readonly entries: ({ readonly sequence: number; readonly body: string } | { readonly from: number })[];
  /** Requests that it saw asked and not answered. */
  readonly requests: Map<string, "permission" | "question">;
  /** Prompts that it saw in the queue. */
  queue: readonly string[];
}

export interface Connected {
  readonly life: Life;
  readonly sessions: Sessions;
}

export interface Client {
  readonly seen: Seen;
  readonly connect: (to: Connected) => void;
  /** Cuts the connection and makes it again, so many events back. */
  readonly cut: (to: Connected, back: number) => void;
}

const SLOWEST_READ_MS = 30;

/** An event as it is compared: everything but `raw`, which only some readers ask for. */
export function bodyOf(event: UniversalEvent): string {
  const { raw: _raw, ...rest } = event;
  const body = bodies.get(event) ?? JSON.stringify(rest);
  bodies.set(event, body);
  return body;
}

/** Events are shared between consumers, and nobody changes them. */
const bodies = new WeakMap<UniversalEvent, string>();

export function openClient(world: World, { name, session }: { name: string; session: SessionId }): Client {
  const seen: Seen = { name, session, entries: [], requests: new Map(), queue: [] };
  let cursor = 0;
  let stop = new AbortController();
  const follow = async ({ life, sessions }: Connected, { signal }: AbortController): Promise<void> => {
    seen.entries.push({ from: cursor });
    for await (const group of sessions.follow(session, { after: cursor, signal })) {
      for (const event of group.events(cursor)) {
        if (!life.isAlive() || signal.aborted) return;
        cursor = event.sequence;
        seen.entries.push({ sequence: event.sequence, body: bodyOf(event) });
        note(seen, event);
      }
      if (world.random.chance(0.3)) await world.pause(world.random.integer(SLOWEST_READ_MS));
    }
  };
  const connect = (to: Connected): void => {
    stop.abort();
    stop = new AbortController();
    // A session whose creation was not stored is not there yet: the client comes back with the next life.
    void follow(to, stop).catch(() => {});
  };
  return {
    seen,
    connect,
    cut(to, back) {
      cursor = Math.max(0, cursor - back);
      connect(to);
    },
  };
}

function note(seen: Seen, event: UniversalEvent): void {
  switch (event.type) {
    case "permission.requested":
      seen.requests.set(event.data.permission_id, "permission");
      return;
    case "question.requested":
      seen.requests.set(event.data.question_id, "question");
      return;
    case "permission.resolved":
      seen.requests.delete(event.data.permission_id);
      return;
    case "question.resolved":
      seen.requests.delete(event.data.question_id);
      return;
    case "session.updated":
      if (event.data.queue !== undefined) seen.queue = event.data.queue.map(({ prompt_id }) => prompt_id);
  }
}
