/** What clients of the event streams are sent: one frame for each committed group, encoded once for all of them. */
import type { OpenCodeEvent } from "../../dialects/opencode.ts";
import { type OpenCodeOptions, projectId } from "../../projections/opencode/index.ts";
import type { UniversalEvent } from "../../protocol/events.ts";
import type { Projections } from "../../runtime/log/contract.ts";
import { stateUpTo } from "../rendering/checkpoints.ts";
import { checkpointedOpenCode } from "../rendering/dialects.ts";
import { type Dialect, startRendering } from "../rendering/rendering.ts";

/** What one universal event is to OpenCode's clients, encoded once. */
export interface FrameEvents {
  /** Where the log has it: `<position>.<index>`; empty for what is not in the log. */
  readonly at: string;
  readonly events: readonly string[];
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
  const size = rendered.reduce((sum, { events }) => sum + events.reduce((all, text) => all + text.length, 0), 0);
  return { position, directory, project: projectId(directory), rendered, size };
}

/** An event, and the directory of its session. */
export interface PlacedEvent {
  readonly directory: string;
  readonly event: OpenCodeEvent;
}

/** OpenCode's dialect with the directory beside each event. */
export function placedDialect(projections: Projections, options: OpenCodeOptions): Dialect<PlacedEvent> {
  const checkpointed = checkpointedOpenCode(options);
  return {
    async restore(session, upTo) {
      const { state, sequence } = await stateUpTo(projections, checkpointed, { session, sequence: upTo });
      const step = (event: UniversalEvent): readonly PlacedEvent[] =>
        checkpointed.fold.step(state, event).map((one) => ({ directory: state.directory, event: one }));
      return startRendering(step, { after: sequence });
    },
  };
}
