/** Prompts for sessions that no living host may run: they are stored without an owner, and the next one runs them. */
import type { PromptId, SessionId } from "../../../protocol/ids.ts";
import { noSession } from "../errors.ts";
import type { Cluster } from "../hosts-contract.ts";
import { integer } from "../rows.ts";
import type { Queries } from "./client.ts";
import { SERVED } from "./placement.ts";
import { insertPrompt } from "./prompts.ts";
import type { Store } from "./store.ts";

/** The lock first: a host that takes the session at the same moment does it before that, or finds the prompt. */
const LOCK = "SELECT key FROM franca.sessions WHERE id = $1 FOR UPDATE";
const IS_SERVED = `
  SELECT ${SERVED} AS served FROM franca.sessions AS session LEFT JOIN franca.hosts AS home ON home.id = session.home
  WHERE session.key = $1`;

export const waiting = (store: Store): Pick<Cluster, "addWaiting" | "dropWaiting"> => ({
  addWaiting: (id, prompt) =>
    whileNobodys(store, id, async (queries, key) => insertPrompt(queries, { key, ...prompt })),
  async dropWaiting(id, promptId: PromptId) {
    const remove = "DELETE FROM franca.prompts WHERE session = $1 AND id = $2 AND status = 'queued' RETURNING id";
    return whileNobodys(store, id, async ({ query }, key) => (await query(remove, key, promptId)).length > 0);
  },
});

/** Null where a living host may run it: then it is that host's business. */
function whileNobodys<T>(
  store: Store,
  id: SessionId,
  work: (queries: Queries, key: number) => Promise<T>,
): Promise<T | null> {
  return store.transaction(async (queries) => {
    const [row] = await queries.query(LOCK, id);
    if (row === undefined) throw noSession(id);
    const key = integer(row, "key");
    const [found] = await queries.query(IS_SERVED, key);
    return found?.served === true ? null : work(queries, key);
  });
}
