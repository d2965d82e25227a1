/** A session in another language: what a client saw that was cut, and what one sees that reads it all afterwards. */
import { setTimeout as after } from "node:timers/promises";
import type { Session } from "../../src/sdk/index.ts";
import { GONE_MS, readLog, SILENCE_MS } from "./aftermath.ts";
import { checkRendered, countIdle, isBusy, type Violation } from "./checks.ts";
import type { FaultClient } from "./client.ts";

const LOOK_MS = 50;

interface Rendered {
  readonly cut: FaultClient;
  readonly whole: FaultClient;
}

/**
 * Both are compared when they have everything and no turn is open. An agent may begin a turn by itself after the last
 * prompt (a flood that goes on after an abort): that one has to end too, and is aborted when its agent is silent.
 */
export async function compareRendered(session: Session, { cut, whole }: Rendered): Promise<Violation[]> {
  const until = Date.now() + GONE_MS;
  let heard = { at: Date.now(), count: 0 };
  for (;;) {
    const ends = (await readLog(session)).filter(({ type }) => type === "turn.ended").length;
    const { received } = whole;
    const isThere = !isBusy(received) && received.at(-1)?.cursor === cut.received.at(-1)?.cursor;
    if ((isThere && countIdle(received) === ends) || Date.now() > until) {
      whole.close();
      return checkRendered(whole.path, { ends, cut: cut.received, whole: received });
    }
    if (received.length > heard.count) heard = { at: Date.now(), count: received.length };
    if (isBusy(received) && Date.now() - heard.at > SILENCE_MS) {
      heard = { at: Date.now(), count: received.length };
      await session.abort().catch(() => {});
    }
    await after(LOOK_MS);
  }
}
