/**
 * One session in one dialect, up to one event. It can be opened at any event: from the nearest checkpoint, where the
 * dialect has some, and then from the log.
 */
import type { UniversalEvent } from "../../protocol/events.ts";
import type { SessionId } from "../../protocol/ids.ts";
import type { EventGroup } from "../../runtime/log/contract.ts";
import type { Sessions } from "../../runtime/session/contract.ts";
import { openTimeSlices } from "./time-slices.ts";

/** How many events are read at a time. */
const PAGE = 500;

export interface Rendering<Out> {
  /** The last event that was rendered; 0 before the first. */
  readonly sequence: () => number;
  readonly render: (event: UniversalEvent) => readonly Out[];
}

export interface Dialect<Out> {
  /** The rendering as it was at an event, or at the nearest one before it that can be had without the log. */
  readonly restore: (session: SessionId, upTo: number) => Promise<Rendering<Out>>;
}

/** An event, and what it is in the dialect. */
export interface Rendered<Out> {
  readonly event: UniversalEvent;
  readonly out: readonly Out[];
}

export function startRendering<Out>(
  step: (event: UniversalEvent) => readonly Out[],
  { after = 0 }: { readonly after?: number } = {},
): Rendering<Out> {
  let sequence = after;
  return {
    sequence: () => sequence,
    render: (event) => {
      sequence = event.sequence;
      return step(event);
    },
  };
}

export interface Place {
  readonly session: SessionId;
  readonly sequence: number;
}

/** A rendering in which the events up to `sequence` are known. */
export async function openAt<Out>(
  sessions: Pick<Sessions, "events">,
  dialect: Dialect<Out>,
  { session, sequence }: Place,
): Promise<Rendering<Out>> {
  const rendering = await dialect.restore(session, sequence);
  const pauseDue = openTimeSlices();
  for (let left = sequence - rendering.sequence(); left > 0; left = sequence - rendering.sequence()) {
    const query = { offset: rendering.sequence(), limit: Math.min(left, PAGE), includeRaw: false };
    const { events } = await sessions.events(session, query);
    if (events.length === 0) break;
    for (const event of events) {
      rendering.render(event);
      const pause = pauseDue();
      if (pause !== null) await pause;
    }
  }
  return rendering;
}

/** The events of a group that are not in the rendering yet, rendered. */
export const renderGroup = <Out>(rendering: Rendering<Out>, group: EventGroup): readonly Rendered<Out>[] =>
  group.events(rendering.sequence()).map((event) => ({ event, out: rendering.render(event) }));

/** One session from an event on, history first, then live; group by group. */
export async function* follow<Out>(
  sessions: Pick<Sessions, "events" | "follow">,
  dialect: Dialect<Out>,
  { session, after, signal }: { readonly session: SessionId; readonly after: number; readonly signal: AbortSignal },
): AsyncGenerator<readonly Rendered<Out>[]> {
  const rendering = await openAt(sessions, dialect, { session, sequence: after });
  for await (const group of sessions.follow(session, { after: rendering.sequence(), signal })) {
    // An offset may lie beyond what is in the log.
    yield renderGroup(rendering, group).filter(({ event }) => event.sequence > after);
  }
}
