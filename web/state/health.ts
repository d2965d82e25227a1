/** Lines of agents that fit no known shape, with their text, from the sessions that were used last. */
import { daemon } from "./link.ts";
import { allRows, titleOf } from "./sessions.ts";

export interface Unparsed {
  readonly sessionId: string;
  readonly title: string;
  readonly agent: string;
  readonly sequence: number;
  readonly error: string;
  readonly native: unknown;
  readonly report: string;
}

const MOST_SESSIONS = 20;
const MOST_LINES = 50;
const PAGE = 10_000;

export async function findUnparsed(): Promise<readonly Unparsed[]> {
  const found: Unparsed[] = [];
  for (const row of allRows.value.slice(0, MOST_SESSIONS)) {
    const session = daemon().session(row.sessionId);
    const offset = Math.max(0, row.lastSequence - PAGE);
    const { events } = await session.listEvents({ offset, limit: PAGE });
    for (const event of events) {
      if (event.type !== "agent.unparsed" || found.length >= MOST_LINES) continue;
      const { line } = event.cause;
      const page = line === null ? null : await session.listNative({ offset: line - 1, limit: 1 });
      const native = page?.lines[0]?.native ?? null;
      const { error, location } = event.data;
      const report = [
        `Agent: ${row.agent}, model ${row.model ?? "its own default"}`,
        `Error: ${error}`,
        `Where: ${location}, native line ${line ?? "–"}, event ${event.sequence}`,
        "Line:",
        JSON.stringify(native, null, 2),
      ].join("\n");
      found.push({
        sessionId: row.sessionId,
        title: titleOf(row),
        agent: row.agent,
        sequence: event.sequence,
        error,
        native,
        report,
      });
    }
  }
  return found;
}
