/** Events → the text of a dialect: what `convert` and `sessions export` print, and what golden files hold. */
import { written } from "../core/projection.ts";
import { findProjection, projections } from "../projections/index.ts";
import type { UniversalEvent } from "../protocol/events.ts";
import { UsageError } from "./usage.ts";

/** What `--to` takes. */
export const dialectNames: readonly string[] = ["universal", ...projections.map(({ name }) => name)];

export interface RendererOptions {
  /** `universal`, or the name of a projection. */
  readonly to: string;
  /** Only this session, by our id or the agent's. */
  readonly session?: string;
}

export interface Renderer {
  readonly render: (events: readonly UniversalEvent[]) => string;
  readonly end: () => string;
  /** Whether no event of the wanted session has come. */
  readonly isEmpty: () => boolean;
}

export function openRenderer({ to, session }: RendererOptions): Renderer {
  const target = openTarget(to);
  let empty = true;
  const isWanted = (event: UniversalEvent): boolean =>
    session === undefined || event.session_id === session || event.native_session_id === session;
  return {
    render(events) {
      const wanted = events.filter(isWanted);
      if (wanted.length > 0) empty = false;
      return wanted.map(target.step).join("");
    },
    end: target.end,
    isEmpty: () => empty,
  };
}

interface Target {
  readonly step: (event: UniversalEvent) => string;
  readonly end: () => string;
}

function openTarget(to: string): Target {
  if (to === "universal") return { step: (event) => `${JSON.stringify(event)}\n`, end: () => "" };
  const projection = findProjection(to);
  if (projection === undefined) throw new UsageError(`Cannot write ${to}. --to takes ${dialectNames.join(", ")}.`);
  const running = projection.open();
  return {
    step: (event) => written(projection, running.step(event)),
    end: () => written(projection, running.end()),
  };
}
