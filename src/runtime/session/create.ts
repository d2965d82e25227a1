/** New sessions and forks of old ones: whatever can be refused is refused before anything is stored. */
import { resolve } from "node:path";
import type { Adapter } from "../../core/adapter.ts";
import { defined } from "../../core/defined.ts";
import { emptySnapshot } from "../../core/snapshot.ts";
import { ApiError } from "../../protocol/errors.ts";
import type { SessionId } from "../../protocol/ids.ts";
import type { CreatedSession, CreateSession } from "../../protocol/resources.ts";
import { isDirectory } from "../is-directory.ts";
import type { SessionSettings } from "../log/contract.ts";
import { copyHistory } from "./copy-history.ts";
import { deleteStored } from "./delete.ts";
import { DELEGATE_SERVER, isDelegating } from "./launch-options.ts";
import type { OpenSession, OpenSessions } from "./open-session.ts";
import { withSession } from "./open-sessions.ts";
import { adapterOf, cannot, checkMode, checkPermissionMode, checkRules, whoCan } from "./refusals.ts";
import type { Runtime } from "./runtime.ts";
import { ownCapabilities, summarise } from "./summary.ts";
import { dropWorktree, openWorktree } from "./worktrees.ts";

export async function createSession(table: OpenSessions, id: SessionId, asked: CreateSession): Promise<CreatedSession> {
  const { runtime } = table;
  const directory = resolve(asked.directory ?? runtime.options.directory ?? process.cwd());
  checkAgent(runtime, { ...asked, directory });
  await runtime.fileView.check(adapterOf(runtime, asked.agent));
  const { worktree: wanted, ...rest } = asked;
  if (wanted !== undefined) return createInWorktree(table, id, { ...rest, directory, worktree: wanted });
  await storeSession(table, { id, settings: { create: { ...rest, directory }, forkOf: null } });
  const { nativeSessionId } = asked;
  return { healthy: true, ...defined({ nativeSessionId }) };
}

/** The worktree is listed before the session is stored, and gone when that fails. */
async function createInWorktree(
  table: OpenSessions,
  id: SessionId,
  asked: CreateSession & { readonly directory: string; readonly worktree: true | string },
): Promise<CreatedSession> {
  const { runtime } = table;
  const { worktree: _, nativeSessionId, ...rest } = asked;
  if (nativeSessionId !== undefined) {
    throw new ApiError("invalid_request", "`nativeSessionId` continues where that session worked: without `worktree`.");
  }
  if ((await runtime.log.find(id)) !== null) throw new ApiError("session_already_exists", `Session ${id} exists.`);
  const { entry, directory } = await openWorktree(runtime, { sessionId: id, ...asked });
  const { path, branch, repository, base } = entry;
  const worktree = { path, branch, repository, base };
  try {
    await storeSession(table, { id, settings: { create: { ...rest, directory }, forkOf: null, worktree } });
  } catch (error) {
    await dropWorktree(runtime, entry);
    throw error;
  }
  return { healthy: true, worktree };
}

/** Throws unless the agent is installed and supports these options, and the directory exists. */
export function checkAgent(runtime: Runtime, asked: CreateSession & { readonly directory: string }): void {
  const adapter = adapterOf(runtime, asked.agent);
  checkDirectory(asked.directory);
  checkOptions(adapter, asked);
  if (isDelegating(asked) && !runtime.delegateKeys.canServe) {
    throw new ApiError("not_supported", "A session that asks other agents needs a daemon: franca daemon start");
  }
  checkInstalled(runtime, adapter);
}

/** A new session that continues from another one's state; the agent forks its conversation at the first prompt. */
export async function forkSession(
  table: OpenSessions,
  open: OpenSession,
  { into, at }: { readonly into: SessionId; readonly at?: string | undefined },
): Promise<void> {
  const { adapter, settings, id } = open;
  const { fork } = ownCapabilities(adapter.capabilities, open.session.snapshot());
  if (!fork) throw cannot(adapter, "branch off from a session");
  if (at !== undefined && adapter.capabilities.forkAt !== true) {
    const can = whoCan(table.runtime, ({ forkAt }) => forkAt === true);
    throw cannot(adapter, `branch off before a message, only at the end of a conversation: ${can}`);
  }
  const { native_session_id, sequence } = open.session.snapshot();
  // Null where the agent has heard nothing yet: then the fork is a session with the same settings.
  const forkOf = native_session_id ?? settings.create.nativeSessionId ?? null;
  const { nativeSessionId: _native, ...create } = settings.create;
  const { keyNames, withheld, missing } = settings;
  table.runtime.keys.give(into, table.runtime.keys.of(id));
  const { log } = table.runtime;
  const kept = defined({ forkAt: at, keyNames, withheld, missing });
  await storeSession(table, { id: into, settings: { create, forkOf, ...kept } }, (fork) =>
    copyHistory(log, fork, { id, until: sequence, before: at }),
  );
}

export async function storeSession(
  table: OpenSessions,
  { id, settings }: { id: SessionId; settings: SessionSettings },
  fill: (open: OpenSession) => Promise<void> = async () => {},
): Promise<void> {
  const { runtime } = table;
  const { create } = settings;
  const now = new Date(runtime.system.wall()).toISOString();
  const snapshot = { ...emptySnapshot(), createdAt: now, time: now };
  await runtime.log.create({ id, settings, summary: summarise({ id, settings, snapshot }) }, runtime.owner);
  await withSession(table, id, async (open) => {
    const metadata = {
      agent: create.agent,
      agent_version: null,
      model: create.model ?? null,
      directory: create.directory ?? null,
      permission_mode: create.permissionMode ?? "default",
      tools: [],
      ...defined({ mode: create.agentMode, variant: create.variant, parent_id: create.parentId }),
    };
    const title = create.title === undefined ? {} : { title: create.title };
    try {
      await open.writer.submit({ type: "opened", metadata, ...title });
      await fill(open);
    } catch (error) {
      // Not acknowledged, so it must not exist: the same id may be used again.
      await deleteStored(table, id);
      throw error;
    }
  });
}

function checkDirectory(directory: string): void {
  if (isDirectory(directory)) return;
  throw new ApiError(
    "directory_not_found",
    `The directory ${directory} does not exist, or is not a directory: create it, or choose another.`,
  );
}

function checkInstalled({ binaries }: Runtime, adapter: Adapter): void {
  if (adapter.binary === null || binaries.find(adapter) !== null) return;
  const { agent, name, binary } = adapter;
  const remedy = binary.install.kind === "npm" ? `Run: franca agents install ${agent}` : binary.install.advice;
  throw new ApiError("agent_not_installed", `${name} is not installed: there is no ${binary.name} on PATH. ${remedy}`);
}

/** What an agent cannot do is refused, never ignored. */
function checkOptions(adapter: Adapter, asked: CreateSession): void {
  const { capabilities } = adapter;
  if (asked.permissionMode !== undefined) checkPermissionMode(adapter, asked.permissionMode);
  checkRules(adapter, asked);
  if (asked.agentMode !== undefined) checkMode(adapter, asked.agentMode);
  if (asked.systemPrompt !== undefined && !capabilities.systemPrompt) throw cannot(adapter, "take a system prompt");
  if (Object.keys(asked.mcp ?? {}).length > 0 && !capabilities.mcp) throw cannot(adapter, "use MCP servers");
  if (isDelegating(asked) && !capabilities.mcp) throw cannot(adapter, "use MCP servers, so it cannot ask other agents");
  if (isDelegating(asked) && asked.mcp?.[DELEGATE_SERVER] !== undefined) {
    throw new ApiError("invalid_request", `\`delegate\` adds an MCP server ${DELEGATE_SERVER}: name yours otherwise.`);
  }
  if (asked.nativeSessionId !== undefined && !capabilities.resume) throw cannot(adapter, "resume a session");
}
