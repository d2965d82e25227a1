/** Checkpoints of a fold: its state, persisted after some events, so that it need not begin at the first one again. */
import { deserialize, serialize } from "node:v8";
import type { Fold } from "../../core/fold.ts";
import type { UniversalEvent } from "../../protocol/events.ts";
import type { SessionId } from "../../protocol/ids.ts";
import type { Projections } from "../../runtime/log/contract.ts";
import { type Dialect, startRendering } from "./rendering.ts";

/** A fold whose checkpoints have a name in the log. */
export interface Checkpointed<Out, State> {
  readonly name: string;
  readonly fold: Fold<UniversalEvent, Out, State>;
}

export interface StateAt<State> {
  readonly state: State;
  /** The last event that the state has seen. */
  readonly sequence: number;
}

/** The state at an event, or at the nearest checkpoint before it; the first state where there is none. */
export async function stateUpTo<Out, State extends object>(
  projections: Projections,
  { name, fold }: Checkpointed<Out, State>,
  { session, sequence }: { readonly session: SessionId; readonly sequence: number },
): Promise<StateAt<State>> {
  const checkpoint = sequence < 1 ? null : await projections.checkpoint(session, { name, upTo: sequence });
  const state = checkpoint === null ? null : readState(checkpoint.state, fold.start());
  return checkpoint === null || state === null
    ? { state: fold.start(), sequence: 0 }
    : { state, sequence: checkpoint.sequence };
}

export const fromCheckpoints = <Out, State extends object>(
  projections: Projections,
  checkpointed: Checkpointed<Out, State>,
): Dialect<Out> => ({
  async restore(session, upTo) {
    const { state, sequence } = await stateUpTo(projections, checkpointed, { session, sequence: upTo });
    return startRendering((event) => checkpointed.fold.step(state, event), { after: sequence });
  },
});

export const writeState: (state: object) => Uint8Array = serialize;

/** Null for what is damaged, or has other fields than this version of the code expects. */
export function readState<State extends object>(bytes: Uint8Array, expected: State): State | null {
  const state: State | null = readBytes(bytes);
  if (!hasShapeOf(state, expected)) return null;
  return Object.keys(state).length === Object.keys(expected).length ? state : null;
}

function readBytes<T>(bytes: Uint8Array): T | null {
  try {
    return deserialize(bytes);
  } catch {
    return null;
  }
}

/** All expected fields, with maps, sets, lists and records where they are expected. */
function hasShapeOf<T>(value: T | null, expected: T): value is T {
  const kind = kindOf(expected);
  if (kind === "value") return true;
  if (kindOf(value) !== kind) return false;
  if (kind !== "record") return true;
  const given = new Map<string, unknown>(Object.entries(value ?? {}));
  return Object.entries(expected ?? {}).every(([key, one]) => given.has(key) && hasShapeOf(given.get(key), one));
}

function kindOf(value: unknown): "map" | "set" | "list" | "record" | "value" {
  if (value instanceof Map) return "map";
  if (value instanceof Set) return "set";
  if (Array.isArray(value)) return "list";
  return typeof value === "object" && value !== null ? "record" : "value";
}
