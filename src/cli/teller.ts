/** Events → the text of a target dialect: what `convert` prints and what golden files hold. */
import { findProjection, projections } from "../projections/index.ts";
import type { UniversalEvent } from "../protocol/events.ts";
import { UsageError } from "./usage.ts";

export interface TellerOptions {
  /** `universal`, or the name of a projection. */
  readonly to: string;
  /** Only this session, by our id or the agent's. */
  readonly session?: string;
}

/** One projection per session. */
export interface Teller {
  readonly tell: (events: readonly UniversalEvent[]) => string;
  readonly end: () => string;
  readonly spoke: () => boolean;
}

export function openTeller({ to, session }: TellerOptions): Teller {
  const open = targetFor(to);
  const targets = new Map<string, Target>();
  const targetOf = (event: UniversalEvent): Target => {
    const known = targets.get(event.session_id);
    if (known !== undefined) return known;
    const target = open();
    targets.set(event.session_id, target);
    return target;
  };
  const isWanted = (event: UniversalEvent): boolean => {
    if (session !== undefined) return event.session_id === session || event.native_session_id === session;
    // A chat bridge follows one run: the first, unless it names another.
    return to !== "takopi" || targets.size === 0 || targets.has(event.session_id);
  };
  return {
    tell: (events) => events.map((event) => (isWanted(event) ? targetOf(event).step(event) : "")).join(""),
    end: () => [...targets.values()].map((target) => target.end()).join(""),
    spoke: () => targets.size > 0,
  };
}

interface Target {
  readonly step: (event: UniversalEvent) => string;
  readonly end: () => string;
}

function targetFor(to: string): () => Target {
  if (to === "universal") return () => ({ step: (event) => `${JSON.stringify(event)}\n`, end: () => "" });
  const projection = findProjection(to);
  if (projection === undefined) {
    const known = ["universal", ...projections.map(({ name }) => name)].join(", ");
    throw new UsageError(`Cannot write ${to}. --to takes ${known}.`);
  }
  const write = (outputs: readonly unknown[]): string =>
    outputs.map((one) => (projection.form === "json" ? `${JSON.stringify(one)}\n` : String(one))).join("");
  return () => {
    const running = projection.open();
    return { step: (event) => write(running.step(event)), end: () => write(running.end()) };
  };
}
