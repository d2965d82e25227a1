/**
 * Sessions that an agent starts for work it hands on. What it may do is decided here, from what is stored of its own
 * session, never from what it says: its own descendants only, in the same folder, with no more rights than it has.
 */
import { randomUUID } from "node:crypto";
import { realpathSync } from "node:fs";
import { resolve } from "node:path";
import { defined } from "../../core/defined.ts";
import { ApiError } from "../../protocol/errors.ts";
import type { PermissionMode } from "../../protocol/events.ts";
import { type SessionId, sessionId } from "../../protocol/ids.ts";
import type { CreateSession, SessionSummary } from "../../protocol/resources.ts";
import { isInside } from "../confine.ts";
import type { Delegation, SessionSettings } from "../log/contract.ts";
import type { DelegateRequest, Delegates, Sessions } from "./contract.ts";
import { checkAgent, storeSession } from "./create.ts";
import type { OpenSessions } from "./open-session.ts";
import { withSession } from "./open-sessions.ts";
import { stateOf } from "./reads.ts";
import { adapterOf } from "./refusals.ts";

export const DEFAULT_DEPTH = 2;
export const DEFAULT_CHILDREN = 4;
/** More generations than any setting allows: a longer chain is damage. */
const MOST_GENERATIONS = 16;
const PAGE = 1_000;

export function delegates(table: OpenSessions): Pick<Sessions, "delegates"> {
  const own: Delegates = {
    start: (parent, asked) => start(table, parent, asked),
    async check(parent, child) {
      if (!(await isDescendant(table, parent, child))) throw unknown(child);
      await checkMode(table, parent, child);
    },
    list: (parent) => descendants(table, parent),
    async enter(parent) {
      const { settings, snapshot } = await stateOf(table, parent);
      if (snapshot.turn === null) {
        throw new ApiError("invalid_request", "Other agents can be asked only while this session's own turn runs.");
      }
      return table.runtime.delegateWork.enter(parent, { most: limitsOf(settings).children });
    },
    async relay(child, event) {
      const { settings } = await stateOf(table, child);
      if (settings.delegation === undefined) return;
      const from = { session_id: child, agent: settings.create.agent };
      await withSession(table, settings.delegation.root, async (open) =>
        open.writer.feed({ type: "relayed", from, event }),
      );
    },
  };
  return { delegates: own };
}

/** The same words for a session of somebody else's and for one that does not exist. */
const unknown = (id: string): ApiError =>
  new ApiError("session_not_found", `There is no session ${id} that this session has started.`);

function limitsOf({ create, delegation }: SessionSettings): { readonly depth: number; readonly children: number } {
  const given = typeof create.delegate === "object" ? create.delegate : {};
  return {
    depth: delegation?.maxDepth ?? given.depth ?? DEFAULT_DEPTH,
    children: given.children ?? DEFAULT_CHILDREN,
  };
}

async function start(table: OpenSessions, parent: SessionId, asked: DelegateRequest): Promise<SessionId> {
  const { runtime } = table;
  const { settings, snapshot } = await stateOf(table, parent);
  const depth = (settings.delegation?.depth ?? 0) + 1;
  const limits = limitsOf(settings);
  if (depth > limits.depth) {
    throw new ApiError(
      "invalid_request",
      `Sessions may be started ${limits.depth} levels deep, and this would be ${depth}.`,
    );
  }
  const adapter = adapterOf(runtime, asked.agent);
  const mode = snapshot.permission_mode ?? settings.create.permissionMode ?? "default";
  const permissionMode = modeFor(mode, asked.permissionMode);
  if (!adapter.capabilities.permissions && limitOf(mode) < rank("bypass")) {
    throw new ApiError(
      "mode_not_supported",
      `${adapter.name} never asks for permission, and this session must (mode ${mode}): choose an agent that asks.`,
    );
  }
  const directory = folderFor(settings.create.directory ?? process.cwd(), asked.directory);
  const create: CreateSession & { readonly directory: string } = {
    agent: asked.agent,
    directory,
    permissionMode,
    parentId: parent,
    ...defined({ model: asked.model, title: asked.title }),
    ...inherited(settings.create),
    ...(depth < limits.depth && adapter.capabilities.mcp ? { delegate: { children: limits.children } } : {}),
  };
  checkAgent(runtime, create);
  const delegation: Delegation = {
    root: settings.delegation?.root ?? parent,
    parent,
    depth,
    maxDepth: limits.depth,
  };
  const id = sessionId(randomUUID());
  await storeSession(table, { id, settings: { create, forkOf: null, delegation } });
  runtime.families.add(delegation.root, id);
  return id;
}

/** What holds for the parent holds for its children: rules, the policy for requests, and budgets. */
const inherited = ({ permissionRules, unattended, budget, watchdogMs }: CreateSession) =>
  defined({ permissionRules, unattended, budget, watchdogMs });

/** From the strictest to the loosest. */
const ranks: Readonly<Record<string, number>> = { plan: 0, default: 1, acceptEdits: 2, bypass: 3 };
/** A mode that is not one of ours (an agent may be set to its own) counts as the strictest where it limits others… */
const limitOf = (mode: string): number => ranks[mode] ?? 0;
/** …and as the loosest where it is what is limited. */
const rank = (mode: string): number => ranks[mode] ?? 3;

/** As asked, but never looser than the parent's; when nothing is asked, `default` or what is stricter. */
function modeFor(parent: string, asked: PermissionMode | undefined): PermissionMode {
  if (asked !== undefined && rank(asked) > limitOf(parent)) {
    throw new ApiError(
      "mode_not_supported",
      `The permission mode ${asked} is looser than this session's own (${parent}).`,
    );
  }
  return asked ?? (limitOf(parent) < rank("default") ? "plan" : "default");
}

/** A child that was started when more was allowed gets no prompt any more. */
async function checkMode(table: OpenSessions, parent: SessionId, child: SessionId): Promise<void> {
  const [own, other] = [await stateOf(table, parent), await stateOf(table, child)];
  const modeOf = ({ settings, snapshot }: typeof own): string =>
    snapshot.permission_mode ?? settings.create.permissionMode ?? "default";
  if (rank(modeOf(other)) > limitOf(modeOf(own))) {
    throw new ApiError(
      "mode_not_supported",
      `Session ${child} has the permission mode ${modeOf(other)}, which is looser than this session's own (${modeOf(own)}).`,
    );
  }
}

/** The same folder, or one inside it, links resolved. */
function folderFor(parent: string, asked: string | undefined): string {
  if (asked === undefined) return parent;
  const path = resolve(parent, asked);
  let real: string;
  try {
    real = realpathSync(path);
  } catch (error) {
    throw new ApiError("directory_not_found", `The directory ${path} does not exist.`, { cause: error });
  }
  if (isInside({ directory: realpathSync(parent), path: real })) return real;
  throw new ApiError("invalid_request", `The directory ${path} is not inside this session's own, ${parent}.`);
}

async function isDescendant({ runtime }: OpenSessions, parent: SessionId, id: SessionId): Promise<boolean> {
  let current: SessionId = id;
  for (let generation = 0; generation < MOST_GENERATIONS; generation += 1) {
    const record = await runtime.log.find(current);
    const above = record?.settings.delegation?.parent;
    if (above === undefined) return false;
    if (above === parent) return true;
    current = above;
  }
  return false;
}

async function descendants(table: OpenSessions, parent: SessionId): Promise<readonly SessionSummary[]> {
  const found: SessionSummary[] = [];
  let before: number | null = null;
  for (;;) {
    const { records, next }: Awaited<ReturnType<typeof table.runtime.log.list>> = await table.runtime.log.list({
      limit: PAGE,
      before,
    });
    for (const { id, settings, summary } of records) {
      if (settings.delegation !== undefined && (await isDescendant(table, parent, id))) found.push(summary);
    }
    if (next === null) return found;
    before = next;
  }
}
