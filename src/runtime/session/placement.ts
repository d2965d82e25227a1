/** Where sessions run when several hosts share one log: new ones are placed, idle ones moved, drained hosts left. */
import { resolve } from "node:path";
import { ApiError } from "../../protocol/errors.ts";
import type { SessionId } from "../../protocol/ids.ts";
import type { CreatedSession, CreateSession, HostSummary } from "../../protocol/resources.ts";
import type { Cluster } from "../log/hosts-contract.ts";
import { secretVariables, withhold } from "../log/secrets.ts";
import { checkAgent, createSession, storeSession } from "./create.ts";
import type { OpenSession, OpenSessions } from "./open-session.ts";
import { giveAway, withSession } from "./open-sessions.ts";
import { placeOf } from "./owner.ts";
import { adapterOf } from "./refusals.ts";
import { isIdle, stopAndUnload } from "./unload.ts";

/** Sends a command to a host by its id, and resolves with its answer. */
export type AskHost = <T>(
  host: string,
  command: { name: string; id: SessionId; args: readonly unknown[] },
) => Promise<T>;

const labelOf = (wanted: string): string | null => (wanted.startsWith("label:") ? wanted.slice(6) : null);
const hostOf = (wanted: string): string | null => (wanted.startsWith("host:") ? wanted.slice(5) : null);

/** Whether a session that wants this may run there. */
function allows(wanted: string, { id, labels }: HostSummary): boolean {
  const label = labelOf(wanted);
  const host = hostOf(wanted);
  return (label === null || labels.includes(label)) && (host === null || host === id);
}

/** The least loaded of the living ones that fit and have room; of equals the one that was asked. */
export function chooseHost(hosts: readonly HostSummary[], wanted: string): HostSummary | null {
  const fitting = hosts.filter(
    (host) =>
      host.alive &&
      !host.draining &&
      allows(wanted, host) &&
      (host.maxSessions === null || host.openSessions < host.maxSessions),
  );
  const load = ({ openSessions, self, homeOf }: HostSummary): readonly number[] => [openSessions, self ? 0 : 1, homeOf];
  const [first] = fitting.sort((one, other) => compare(load(one), load(other)));
  return first ?? null;
}

function compare(one: readonly number[], other: readonly number[]): number {
  const at = one.findIndex((value, index) => value !== other[index]);
  return at < 0 ? 0 : (one[at] ?? 0) - (other[at] ?? 0);
}

interface Creating {
  readonly id: SessionId;
  readonly asked: CreateSession;
}

/** Where the placement says; when no host fits it is stored, waits, and says so. */
export async function createPlaced(
  table: OpenSessions,
  { id, asked }: Creating,
  ask: AskHost | null,
): Promise<CreatedSession> {
  const { cluster } = table.runtime.log;
  const { placement: wanted } = asked;
  if (wanted === undefined) return createSession(table, id, asked);
  if (cluster === null || ask === null) {
    throw new ApiError("invalid_request", "`placement` needs hosts that share one log: franca serve --store postgres.");
  }
  const hosts = await table.runtime.log.hosts();
  const secret = secretVariables(asked);
  // What must stay where it was given is placed here if it may be.
  const own =
    secret.length === 0
      ? null
      : chooseHost(
          hosts.filter(({ self }) => self),
          wanted,
        );
  const host = own ?? chooseHost(hosts, wanted);
  if (host?.self !== true && secret.length > 0) throw givenElsewhere(host, { secret, wanted });
  if (host === null) return createWaiting(table, { id, asked }, cluster);
  if (host.self) return createSession(table, id, asked);
  return ask<CreatedSession>(host.id, { name: "create", id, args: [asked] });
}

function givenElsewhere(
  host: HostSummary | null,
  { secret, wanted }: { readonly secret: readonly string[]; readonly wanted: string },
): ApiError {
  const why = `Secrets are stored in no table, so ${secret.join(", ")} cannot be passed to another host`;
  const where =
    host === null
      ? `no living host fits the placement ${wanted} now: try again when one does`
      : `create the session on ${placeOf(host)}`;
  return new ApiError("host_unavailable", `${why}, and ${where}.`);
}

/** It belongs to nobody: the first host that qualifies takes it. */
async function createWaiting(table: OpenSessions, { id, asked }: Creating, cluster: Cluster): Promise<CreatedSession> {
  const { runtime } = table;
  adapterOf(runtime, asked.agent);
  const { worktree, directory, placement = "any" } = asked;
  if (worktree !== undefined || directory === undefined) {
    const why = `No living host fits the placement ${placement} now`;
    throw new ApiError("host_unavailable", `${why}: a session that waits for one has a directory, and no worktree.`);
  }
  const settings = { create: { ...asked, directory: resolve(directory) }, forkOf: null };
  await storeSession(table, { id, settings }, async (open) => {
    await open.writer.submit({ type: "placed", placement: await cluster.placement(id, { ifNobodys: true }) });
    await giveAway(table, open, () => cluster.hand(id, runtime.owner, null));
  });
  return { healthy: true };
}

/** What a host says before a session is moved to it: throws for what it cannot run. */
export async function acceptMove(table: OpenSessions, { id, asked: create }: Creating): Promise<void> {
  const { cluster } = table.runtime.log;
  if (cluster?.draining() === true) throw new ApiError("host_unavailable", `Host ${cluster.self} is being drained.`);
  checkAgent(table.runtime, { ...create, directory: resolve(create.directory ?? ".") });
  const missing = (await cluster?.missing(id)) ?? [];
  if (missing.length === 0) return;
  const why = `Host ${cluster?.self} was started without ${missing.join(", ")}, which the session was created with`;
  throw new ApiError("key_missing", `${why}; secrets are stored in no table.`);
}

export async function moveSession(
  table: OpenSessions,
  { id, to }: { readonly id: SessionId; readonly to: string },
  ask: AskHost | null,
): Promise<void> {
  const { log, owner } = table.runtime;
  const { cluster } = log;
  if (cluster === null || ask === null) {
    throw new ApiError(
      "invalid_request",
      "This daemon shares its log with no other host: see franca serve --store postgres.",
    );
  }
  await withSession(table, id, async (open) => {
    if (to === cluster.self) return;
    const target = (await log.hosts()).find((host) => host.id === to);
    const { create } = open.settings;
    refuseTarget({ to, target, wanted: create.placement ?? null });
    refuseBusy(open);
    await ask(to, { name: "accept", id, args: [withhold(open.settings).stored.create] });
    const wanted =
      create.placement === undefined || hostOf(create.placement) === null ? create.placement : `host:${to}`;
    if (wanted !== create.placement && wanted !== undefined) {
      const settings = { ...open.settings, create: { ...create, placement: wanted } };
      await log.changeSettings(id, settings);
      open.settings = settings;
    }
    const said = (host: string) => ({ wanted: wanted ?? null, host, waiting: null });
    await open.writer.submit({ type: "placed", placement: said(to) });
    try {
      // Nothing can come between this and the close.
      refuseBusy(open);
    } catch (error) {
      await open.writer.submit({ type: "placed", placement: said(cluster.self) });
      throw error;
    }
    await giveAway(table, open, () => cluster.hand(id, owner, to));
  });
}

function refuseTarget(asked: {
  readonly to: string;
  readonly target: HostSummary | undefined;
  readonly wanted: string | null;
}): void {
  const { to, target, wanted } = asked;
  if (target === undefined) throw new ApiError("invalid_request", `There is no host ${to}: franca hosts lists them.`);
  if (!target.alive) throw new ApiError("host_unavailable", `Host ${to} is gone.`);
  if (target.draining) throw new ApiError("host_unavailable", `Host ${to} is being drained.`);
  const label = wanted === null ? null : labelOf(wanted);
  if (label === null || target.labels.includes(label)) return;
  throw new ApiError("invalid_request", `Host ${to} has no label ${label}, which the session's placement asks for.`);
}

function refuseBusy(open: OpenSession): void {
  const { turn, queue, permissions, questions, items } = open.session.snapshot();
  const isWorking = [...items.values()].some(({ status }) => status === "in_progress");
  // This command itself uses it too.
  const isUsed = open.users > 1 || open.writer.isBusy();
  const isBusy = isUsed || turn !== null || queue.length + permissions.size + questions.size > 0 || isWorking;
  if (isBusy) throw new ApiError("session_busy", `Session ${open.id} is busy: only an idle session is moved.`);
}

/** Sessions of a host that is being drained are closed when they are idle, so that others may take them. */
export async function releaseIdle(table: OpenSessions): Promise<void> {
  for (const entry of [...table.sessions.values()]) {
    const open = await entry.catch(() => null);
    if (open !== null && !open.closed && isIdle(open)) await stopAndUnload(table, open);
  }
}
