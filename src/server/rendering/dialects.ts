/** The dialects that the server renders: OpenCode's from checkpoints, the others from the first event. */
import type { Fold } from "../../core/fold.ts";
import type { Projection } from "../../core/projection.ts";
import type { OpenCodeEvent } from "../../dialects/opencode.ts";
import {
  defaultOptions,
  type OpenCodeOptions,
  type OpenCodeState,
  openCodeFold,
} from "../../projections/opencode/index.ts";
import type { UniversalEvent } from "../../protocol/events.ts";
import type { Projections } from "../../runtime/log/contract.ts";
import { type Checkpointed, fromCheckpoints } from "./checkpoints.ts";
import { type Dialect, startRendering } from "./rendering.ts";

/** Other options render other events: each has checkpoints of its own. */
export const checkpointName = ({ messages, deltas }: OpenCodeOptions): string => `opencode/${messages}/${deltas}`;

export const checkpointedOpenCode = (options: OpenCodeOptions): Checkpointed<OpenCodeEvent, OpenCodeState> => {
  const fold: Fold<UniversalEvent, OpenCodeEvent, OpenCodeState> = openCodeFold(options);
  return { name: checkpointName(options), fold };
};

export const openCodeDialect = (projections: Projections, options = defaultOptions): Dialect<OpenCodeEvent> =>
  fromCheckpoints(projections, checkpointedOpenCode(options));

export function dialectOf(projection: Projection, projections: Projections): Dialect<unknown> {
  if (projection.name === "opencode") return openCodeDialect(projections);
  return { restore: async () => startRendering(projection.open().step) };
}
