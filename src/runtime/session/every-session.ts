/** All sessions, page by page: for those who look for one, or count them. Others are served between the pages. */
import { setImmediate as nextTick } from "node:timers/promises";
import type { SessionFilter, SessionSummary } from "../../protocol/resources.ts";
import type { Sessions } from "./contract.ts";

const PAGE = 500;

export async function* everySession(
  { list }: Pick<Sessions, "list">,
  filter: SessionFilter = {},
): AsyncGenerator<SessionSummary> {
  let page = await list({ ...filter, limit: PAGE });
  yield* page.sessions;
  while (page.nextCursor !== null) {
    await nextTick();
    page = await list({ ...filter, limit: PAGE, cursor: page.nextCursor });
    yield* page.sessions;
  }
}

export async function allSessions(sessions: Pick<Sessions, "list">, filter?: SessionFilter): Promise<SessionSummary[]> {
  const all: SessionSummary[] = [];
  for await (const session of everySession(sessions, filter)) all.push(session);
  return all;
}
