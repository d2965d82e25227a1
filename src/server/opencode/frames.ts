/** What clients of the event streams are sent: one frame for each committed group, encoded once for all of them. */
import type { OpenCodeEvent } from "../../dialects/opencode.ts";
import { type OpenCodeOptions, openCodeSessionId, projectId } from "../../projections/opencode/index.ts";
import type { UniversalEvent } from "../../protocol/events.ts";
import { type LineWriter, newScratch, openLineWriter } from "../../runtime/log/codec/line-writer.ts";
import type { Projections } from "../../runtime/log/contract.ts";
import type { Sessions } from "../../runtime/session/contract.ts";
import { stateUpTo } from "../rendering/checkpoints.ts";
import { checkpointedOpenCode } from "../rendering/dialects.ts";
import { type Dialect, startRendering } from "../rendering/rendering.ts";
import { type NextEvent, nextEvents } from "./next-events.ts";

/** All that clients are sent of one committed group, as bytes: objects for each event would crowd the heap. */
export interface Frame {
  readonly position: number;
  readonly directory: string;
  readonly project: string;
  /** Server-sent events by API; those of the newer one are null where nobody wanted them when they were made. */
  readonly sse: Readonly<Record<Generation, Buffer | null>>;
  /** The id of the last event by API; null for what is not in the log. */
  readonly last: Readonly<Record<Generation, string | null>>;
  readonly size: number;
}

/** What one universal event is to OpenCode's clients. */
export interface FrameEvents {
  /** Which event of its group it is. */
  readonly index: number;
  readonly events: readonly OpenCodeEvent[];
  /** The same for clients of the newer API; null where nobody wants it. */
  readonly next: readonly NextEvent[] | null;
}

export interface FrameWriter {
  /** What is added next is of the group at this position. */
  readonly begin: (position: number) => void;
  readonly add: (events: FrameEvents) => void;
  /** Null when nothing was added. */
  readonly finish: (where: { readonly directory: string }) => Frame | null;
}

/** One for all groups: its memory is used again. */
export function openFrameWriter(): FrameWriter {
  const first = openEventWriter(openLineWriter(newScratch()));
  const next = openEventWriter(openLineWriter(newScratch()));
  let position = 0;
  let added: FrameEvents | null = null;
  return {
    begin(group) {
      position = group;
      added = null;
      first.begin(position);
      next.begin(position);
    },
    add(one) {
      added = one;
      first.add(one.events, one.index);
      if (one.next !== null) next.add(one.next, one.index);
    },
    finish({ directory }) {
      if (added === null) return null;
      const { index } = added;
      const lastOf = (events: readonly unknown[]): string => `${position}.${index}.${events.length - 1}`;
      const sse = { first: first.finish(), next: added.next === null ? null : next.finish() };
      const last = { first: lastOf(added.events), next: lastOf(added.next ?? []) };
      return frameOf({ position, directory, sse, last });
    },
  };
}

/** One event that is not in the log: it has no id. */
export function announcement(json: string, { position, directory }: Pick<Frame, "position" | "directory">): Frame {
  const sse = (text: string): Buffer => Buffer.from(`data: ${text}\n\n`);
  return frameOf({
    position,
    directory,
    sse: { first: sse(json), next: sse(announcedNext(json, directory)) },
    last: { first: null, next: null },
  });
}

const frameOf = (parts: Omit<Frame, "project" | "size">): Frame => ({
  ...parts,
  project: projectId(parts.directory),
  size: (parts.sse.first?.length ?? 0) + (parts.sse.next?.length ?? 0),
});

type PartDelta = Extract<OpenCodeEvent, { type: "message.part.delta" }> & { readonly id: string };

interface EventWriter {
  readonly begin: (position: number) => void;
  /** What one universal event is; `index`: which of its group it is. */
  readonly add: (events: readonly (OpenCodeEvent | NextEvent)[], index: number) => void;
  readonly finish: () => Buffer;
}

const DATA = Buffer.from("\ndata: ");
const DELTA_ID = Buffer.from('{"id":');
const DELTA_END = Buffer.from("}}");
const FRAME_END = Buffer.from("\n\n");
const DOT = ".".charCodeAt(0);

/** Of deltas of the same part, what stands between id and text is made once for a group. */
function openEventWriter(lines: LineWriter): EventWriter {
  let head: Buffer = Buffer.alloc(0);
  let last: PartDelta["properties"] | null = null;
  let between: Buffer = head;
  const addDelta = ({ id, type, properties }: PartDelta): void => {
    const { sessionID, messageID, partID, field, delta } = properties;
    const isLike = last?.partID === partID && last.messageID === messageID && last.field === field;
    if (!isLike || last?.sessionID !== sessionID) {
      const rest = JSON.stringify({ type, properties: { sessionID, messageID, partID, field, delta: "" } });
      between = Buffer.from(`,${rest.slice(1, -`""}}`.length)}`);
      last = properties;
    }
    lines.bytes(DELTA_ID);
    lines.literal(id);
    lines.bytes(between);
    lines.literal(delta);
    lines.bytes(DELTA_END);
  };
  return {
    begin(position) {
      lines.begin();
      head = Buffer.from(`id: ${position}.`);
      last = null;
    },
    add(events, index) {
      let count = 0;
      for (const event of events) {
        lines.bytes(head);
        lines.integer(index);
        lines.character(DOT);
        lines.integer(count);
        lines.bytes(DATA);
        if (isDelta(event)) addDelta(event);
        else lines.text(JSON.stringify(event));
        lines.bytes(FRAME_END);
        count += 1;
      }
    },
    finish: lines.finish,
  };
}

const isDelta = (event: OpenCodeEvent | NextEvent): event is PartDelta =>
  event.type === "message.part.delta" && event.id !== undefined;

/** An event in one of the two forms, and the directory of its session. */
export interface PlacedEvent {
  readonly directory: string;
  readonly event: OpenCodeEvent | NextEvent;
}

/** The two APIs that clients of OpenCode speak. */
export type Generation = "first" | "next";

/** OpenCode's dialect with the directory beside each event. */
function placedDialect(
  projections: Projections,
  { options, generation }: { readonly options: OpenCodeOptions; readonly generation: Generation },
): Dialect<PlacedEvent> {
  const checkpointed = checkpointedOpenCode(options);
  return {
    async restore(session, upTo) {
      const { state, sequence } = await stateUpTo(projections, checkpointed, { session, sequence: upTo });
      const step = (event: UniversalEvent): readonly PlacedEvent[] => {
        const out = checkpointed.fold.step(state, event);
        const shown = generation === "next" ? nextEvents(state, event, out) : out;
        return shown.map((one) => ({ directory: state.directory, event: one }));
      };
      return startRendering(step, { after: sequence });
    },
  };
}

/** Both, for sessions whose views have been loaded: these have checkpoints. */
export function dialectsOf(
  {
    sessions: { projections },
    options,
  }: { readonly sessions: Pick<Sessions, "projections">; readonly options: OpenCodeOptions },
  load: (id: string) => Promise<unknown>,
): Readonly<Record<Generation, Dialect<PlacedEvent>>> {
  const dialectOf = (generation: Generation): Dialect<PlacedEvent> => {
    const placed = placedDialect(projections, { options, generation });
    return {
      async restore(session, upTo) {
        if (upTo > 0) await load(openCodeSessionId(session));
        return placed.restore(session, upTo);
      },
    };
  };
  return { first: dialectOf("first"), next: dialectOf("next") };
}

/** What is not in the log, in the form of the newer API. */
export function announcedNext(json: string, directory: string | null): string {
  const { id, type, properties }: { id: string; type: string; properties: object } = JSON.parse(json);
  return JSON.stringify({ id, type, ...(directory === null ? {} : { location: { directory } }), data: properties });
}
