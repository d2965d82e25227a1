/** Lines of spawned agents among those of the conversation, by their times. */
import type { Recorded } from "../../core/recorded.ts";
import type { FileTurn } from "../../core/session-files.ts";
import { shapeOf } from "../../dialects/shape.ts";
import type { ThreadTurns } from "./session-turns.ts";

/** An agent's lines come after the call that spawned it, and at the latest after the turn's own. */
export function mergeThreads(own: readonly FileTurn[], children: readonly ThreadTurns[]): FileTurn[] {
  const lines = children
    .flatMap(({ turns }) => turns.flatMap(({ entries }) => entries))
    // A child that was cut says so by its parent's end.
    .filter(({ type }) => type !== "exit")
    .sort((one, other) => (one.at ?? 0) - (other.at ?? 0));
  let next = 0;
  return own.map((turn, index) => {
    const until = own[index + 1]?.entries[0]?.at ?? Number.POSITIVE_INFINITY;
    const entries: Recorded[] = [];
    let spawned = next > 0;
    for (const entry of turn.entries) {
      for (
        let line = lines[next];
        line !== undefined && spawned && (line.at ?? 0) < (entry.at ?? 0);
        line = lines[next]
      ) {
        entries.push(line);
        next += 1;
      }
      entries.push(entry);
      spawned ||= isSpawn(entry);
    }
    for (let line = lines[next]; line !== undefined && spawned && (line.at ?? 0) < until; line = lines[next]) {
      entries.push(line);
      next += 1;
    }
    return { ...turn, entries };
  });
}

const isSpawn = (entry: Recorded): boolean =>
  entry.type === "line" && shapeOf(shapeOf(shapeOf(entry.line).params).item).type === "collabAgentToolCall";
