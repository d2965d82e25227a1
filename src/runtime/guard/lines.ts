/** What an owner writes to its guard: one JSON line per change. A guard ignores types that it does not know. */
import type { ProcessIdentity } from "../process-identity.ts";

export type GuardLine =
  /** Written before the start: from now on, processes that carry this run id belong to the owner. */
  | { readonly type: "begin"; readonly run: string }
  /** The leader of the run's process group. */
  | { readonly type: "started"; readonly run: string; readonly leader: ProcessIdentity }
  /** The whole tree is gone. */
  | { readonly type: "ended"; readonly run: string }
  /** The owner may run agents for so long from now: without another such line, the guard ends them then. */
  | { readonly type: "renewed"; readonly forMs: number };

/** Runs that are not over, with the leader of their process group where it is known. */
export type GuardedRuns = Map<string, ProcessIdentity | null>;

export function applyLine(runs: GuardedRuns, line: GuardLine): void {
  switch (line.type) {
    case "begin":
      runs.set(line.run, null);
      return;
    case "started":
      // A run that is over stays over.
      if (runs.has(line.run)) runs.set(line.run, line.leader);
      return;
    case "ended":
      runs.delete(line.run);
      return;
    case "renewed":
      return;
  }
}

/** The lines that lead to these runs: what a new guard is given in place of one that died. */
export const linesOf = (runs: GuardedRuns): GuardLine[] =>
  [...runs].flatMap(([run, leader]) => [
    { type: "begin", run },
    ...(leader === null ? [] : [{ type: "started", run, leader } as const]),
  ]);

/** Null for a line of another version, and for one that was cut off. */
export function parseLine(text: string): GuardLine | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  if (typeof value !== "object" || value === null || !("type" in value)) return null;
  if (value.type === "renewed" && "forMs" in value && typeof value.forMs === "number") {
    return { type: "renewed", forMs: value.forMs };
  }
  if (!("run" in value) || typeof value.run !== "string") return null;
  const { type, run } = value;
  if (type === "begin" || type === "ended") return { type, run };
  return type === "started" && "leader" in value && isIdentity(value.leader)
    ? { type, run, leader: value.leader }
    : null;
}

const isIdentity = (value: unknown): value is ProcessIdentity =>
  typeof value === "object" &&
  value !== null &&
  "pid" in value &&
  typeof value.pid === "number" &&
  "started" in value &&
  typeof value.started === "string";
