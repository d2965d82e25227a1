/**
 * The log as the agent reads it when a session is opened again: page by page, so that a long one needs little memory.
 */
import { sessionId } from "../protocol/ids.ts";
import type { Sessions } from "../runtime/session/contract.ts";
import type { LoadHistory } from "./load.ts";

const PAGE = 1_000;

/** `sessions` is asked for when it is needed: the runtime is opened with this agent already in its table. */
export function historyFrom(sessions: () => Pick<Sessions, "events">): LoadHistory {
  return async function* read(id) {
    for (let offset = 0, more = true; more; ) {
      const { events, hasMore } = await sessions().events(sessionId(id), { offset, limit: PAGE, includeRaw: false });
      yield* events;
      offset = events.at(-1)?.sequence ?? offset;
      more = hasMore && events.length > 0;
    }
  };
}
