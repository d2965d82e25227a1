/** Who owns a session: a process of this machine, or of another host that writes to the same log. */
import { ApiError } from "../../protocol/errors.ts";
import type { SessionId } from "../../protocol/ids.ts";
import { isDead } from "../agent/process-table.ts";
import type { Owner, OwnerHost } from "../log/contract.ts";
import { isSameProcess } from "../process-identity.ts";
import type { Runtime } from "./runtime.ts";

/** The process table knows the processes of this machine; of other hosts, the log does. */
export const isDeadOwner = (owner: Owner): boolean => (owner.host === undefined ? isDead(owner) : !owner.host.alive);

export const isOwn = (owner: Owner, own: Owner): boolean => owner.host === undefined && isSameProcess(owner, own);

/** Another host owns the session: nothing was done here, and commands for it go there. */
export class OwnedElsewhere extends ApiError {
  readonly host: OwnerHost;

  constructor(message: string, host: OwnerHost) {
    super("session_owned", message);
    this.host = host;
  }
}

export function ownedBy(id: SessionId, { pid, host }: Owner): ApiError {
  if (host === undefined) {
    return new ApiError("session_owned", `Session ${id} is being driven by process ${pid}: ask there.`);
  }
  const place = placeOf(host);
  if (host.alive) return new OwnedElsewhere(`Session ${id} belongs to ${place}: ask there.`, host);
  if (host.id === "") return new OwnedElsewhere(`Session ${id} waits for a host that fits its placement.`, host);
  const advice = "start that host again, or start one that may take over (--take-over)";
  return new OwnedElsewhere(`Session ${id} waits for ${place}, which is gone: ${advice}.`, host);
}

/** What is on a session's disk is its host's business. */
export async function refuseElsewhere({ log }: Pick<Runtime, "log">, id: SessionId): Promise<void> {
  const { cluster } = log;
  const home = cluster === null ? undefined : (await log.find(id))?.home;
  if (home === undefined || home === cluster?.self) return;
  const host = (await log.hosts()).find((one) => one.id === home);
  throw ownedBy(id, { pid: 0, started: "", host: { id: home, url: host?.url ?? "", alive: host?.alive ?? false } });
}

export const placeOf = ({ id, url }: OwnerHost): string => (url === "" ? `host ${id}` : `host ${id} at ${url}`);
