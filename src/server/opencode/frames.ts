/** What clients of the event streams are sent: one frame for each committed group, encoded once for all of them. */
import type { OpenCodeEvent } from "../../dialects/opencode.ts";
import { type OpenCodeOptions, openCodeSessionId, projectId } from "../../projections/opencode/index.ts";
import type { UniversalEvent } from "../../protocol/events.ts";
import type { Projections } from "../../runtime/log/contract.ts";
import type { Sessions } from "../../runtime/session/contract.ts";
import { stateUpTo } from "../rendering/checkpoints.ts";
import { checkpointedOpenCode } from "../rendering/dialects.ts";
import { type Dialect, startRendering } from "../rendering/rendering.ts";
import { type NextEvent, nextEvents } from "./next-events.ts";

/** What one universal event is to OpenCode's clients, encoded once. */
export interface FrameEvents {
  /** Which event of its group it is; null for what is not in the log. */
  readonly index: number | null;
  readonly events: readonly string[];
  /** The same for clients of the newer API; null where nobody wanted it when it was rendered. */
  readonly next: readonly string[] | null;
}

/** All that clients hear of one committed group. */
export interface Frame {
  readonly position: number;
  readonly directory: string;
  readonly project: string;
  readonly rendered: readonly FrameEvents[];
  readonly size: number;
}

export function makeFrame({ position, directory, rendered }: Omit<Frame, "project" | "size">): Frame {
  const sizeOf = (texts: readonly string[]): number => texts.reduce((all, text) => all + text.length, 0);
  const size = rendered.reduce((sum, { events, next }) => sum + sizeOf(events) + sizeOf(next ?? []), 0);
  return { position, directory, project: projectId(directory), rendered, size };
}

type PartDelta = Extract<OpenCodeEvent, { type: "message.part.delta" }>;

/** Events as JSON, for one group: of deltas of the same part, what stands between id and text is made once. */
export function eventWriter(): (event: OpenCodeEvent) => string {
  let last: PartDelta["properties"] | null = null;
  let between = "";
  return (event) => {
    if (event.type !== "message.part.delta") return JSON.stringify(event);
    const { id, type, properties } = event;
    const { sessionID, messageID, partID, field, delta } = properties;
    const isLike = last?.partID === partID && last.messageID === messageID && last.field === field;
    if (!isLike || last?.sessionID !== sessionID) {
      const rest = JSON.stringify({ type, properties: { sessionID, messageID, partID, field, delta: "" } });
      between = rest.slice(1, -`""}}`.length);
      last = properties;
    }
    return `{"id":${JSON.stringify(id)},${between}${JSON.stringify(delta)}}}`;
  };
}

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
