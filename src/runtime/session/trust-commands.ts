/** Trust, as the door to sessions offers it. A change reaches idle agents at once: they start anew when needed. */
import { noExit } from "../agent/connection/contract.ts";
import type { Sessions } from "./contract.ts";
import { type OpenSessions, stopAgent } from "./open-session.ts";
import { isIdle } from "./unload.ts";

export function trustCommands(table: OpenSessions): Pick<Sessions, "trust"> {
  const { trust } = table.runtime;
  return {
    trust: {
      isTrusted: trust.isTrusted,
      list: trust.list,
      async add(directory, options) {
        const path = trust.add(directory, options);
        await restartAgents(table);
        return path;
      },
      async remove(directory) {
        const path = trust.remove(directory);
        await restartAgents(table);
        return path;
      },
    },
  };
}

/** Agents that were started when another trust held. One that is at work keeps what it has until its turn is over. */
async function restartAgents({ runtime, sessions }: OpenSessions): Promise<void> {
  for (const opening of sessions.values()) {
    const open = await opening.catch(() => null);
    if (open === null || open.adapter.folder === null || !open.link.isOpen() || !isIdle(open)) continue;
    const { directory = "" } = open.settings.create;
    const was = open.session.snapshot().trusted ?? true;
    if (was !== runtime.trust.isTrusted(directory)) await stopAgent(open, noExit);
  }
}
