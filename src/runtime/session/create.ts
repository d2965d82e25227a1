/** New sessions, and branches of old ones: everything that can be refused is refused before anything is stored. */
import { statSync } from "node:fs";
import { resolve } from "node:path";
import type { Adapter } from "../../core/adapter.ts";
import type { Capabilities } from "../../core/capabilities.ts";
import { emptySnapshot } from "../../core/snapshot.ts";
import { ApiError } from "../../protocol/errors.ts";
import type { PermissionMode } from "../../protocol/events.ts";
import type { SessionId } from "../../protocol/ids.ts";
import type { CreatedSession, CreateSession } from "../../protocol/resources.ts";
import type { SessionSettings } from "../log/contract.ts";
import type { Runtime } from "../runtime.ts";
import type { Live } from "./live.ts";
import { summarise } from "./summary.ts";
import { discard, withLive } from "./table.ts";

export async function createSession(runtime: Runtime, id: SessionId, asked: CreateSession): Promise<CreatedSession> {
  const directory = resolve(asked.directory ?? runtime.options.directory ?? process.cwd());
  checkAgent(runtime, { ...asked, directory });
  await store(runtime, { id, settings: { create: { ...asked, directory }, forkOf: null } });
  const { nativeSessionId } = asked;
  return { healthy: true, ...(nativeSessionId === undefined ? {} : { nativeSessionId }) };
}

/** Whether the agent is there and can do what is asked of it, in a directory that exists. */
export function checkAgent(runtime: Runtime, asked: CreateSession & { readonly directory: string }): void {
  const adapter = adapterOf(runtime, asked.agent);
  checkDirectory(asked.directory);
  checkOptions(adapter, asked);
  checkInstalled(runtime, adapter);
}

/** A session of its own that goes on from where the other stands; the agent branches when it is first asked. */
export async function forkSession(
  runtime: Runtime,
  live: Live,
  { into, at }: { readonly into: SessionId; readonly at?: string | undefined },
): Promise<void> {
  const { adapter, settings, id } = live;
  if (!adapter.capabilities.fork) throw cannot(adapter, "branch off from a session");
  if (at !== undefined && adapter.capabilities.forkAt !== true) {
    const can = whoCan(runtime, ({ forkAt }) => forkAt === true);
    throw cannot(adapter, `branch off before a message, only at the end of a conversation: ${can}`);
  }
  const { native_session_id } = live.session.snapshot();
  const forkOf = native_session_id ?? settings.create.nativeSessionId ?? null;
  if (forkOf === null) {
    throw new ApiError("invalid_request", `Session ${id} has not begun: there is nothing to branch off from.`);
  }
  const { nativeSessionId: _native, ...create } = settings.create;
  await store(runtime, { id: into, settings: { create, forkOf, ...(at === undefined ? {} : { forkAt: at }) } });
}

async function store(runtime: Runtime, { id, settings }: { id: SessionId; settings: SessionSettings }): Promise<void> {
  const { create } = settings;
  const now = new Date().toISOString();
  const snapshot = { ...emptySnapshot(), createdAt: now, time: now };
  await runtime.log.create({ id, settings, summary: summarise({ id, settings, snapshot }) }, runtime.owner);
  await withLive(runtime, id, async (live) => {
    const metadata = {
      agent: create.agent,
      agent_version: null,
      model: create.model ?? null,
      directory: create.directory ?? null,
      permission_mode: create.permissionMode ?? "default",
      tools: [],
    };
    const title = create.title === undefined ? {} : { title: create.title };
    try {
      await live.drive.put({ type: "opened", metadata, ...title, at: Date.now() });
    } catch (error) {
      // Not acknowledged, so not there: the same id may be asked for again.
      await discard(runtime, live);
      throw error;
    }
  });
}

export function adapterOf({ adapters }: Runtime, agent: string): Adapter {
  const adapter = adapters.get(agent);
  if (adapter !== undefined) return adapter;
  throw new ApiError(
    "unsupported_agent",
    `There is no agent ${agent}. Those there are: ${[...adapters.keys()].join(", ")}.`,
  );
}

function checkDirectory(directory: string): void {
  if (statSync(directory, { throwIfNoEntry: false })?.isDirectory() === true) return;
  throw new ApiError("directory_not_found", `${directory} is no directory.`);
}

function checkInstalled({ binaries }: Runtime, adapter: Adapter): void {
  if (adapter.binary === null || binaries.find(adapter) !== null) return;
  const { agent, binary } = adapter;
  throw new ApiError(
    "agent_not_installed",
    `${adapter.name} is not installed: there is no ${binary.name} on PATH. Run: franca agents install ${agent}`,
  );
}

/** What an agent cannot do is refused, never ignored. */
function checkOptions(adapter: Adapter, asked: CreateSession): void {
  const { capabilities } = adapter;
  if (asked.permissionMode !== undefined) checkPermissionMode(adapter, asked.permissionMode);
  if (asked.agentMode !== undefined) checkMode(adapter, asked.agentMode);
  if (asked.systemPrompt !== undefined && !capabilities.systemPrompt) throw cannot(adapter, "take a system prompt");
  if (Object.keys(asked.mcp ?? {}).length > 0 && !capabilities.mcp) throw cannot(adapter, "use MCP servers");
  if (asked.nativeSessionId !== undefined && !capabilities.resume) throw cannot(adapter, "resume a session");
}

export function checkPermissionMode({ name, capabilities }: Adapter, mode: PermissionMode): void {
  if (capabilities.permissionModes.includes(mode)) return;
  const known = capabilities.permissionModes.join(", ");
  throw new ApiError("mode_not_supported", `${name} does not have the permission mode ${mode}. It has: ${known}.`);
}

export function checkMode({ name, modes }: Adapter, mode: string): void {
  if (modes.some(({ id }) => id === mode)) return;
  const known = modes.map(({ id }) => id).join(", ");
  throw new ApiError("mode_not_supported", `${name} does not have the mode ${mode}. It has: ${known || "none"}.`);
}

export const cannot = ({ name }: Adapter, what: string): ApiError =>
  new ApiError("not_supported", `${name} cannot ${what}.`);

/** Which agents could do what this one cannot. */
export function whoCan({ adapters }: Runtime, can: (capabilities: Capabilities) => boolean): string {
  const names = [...adapters.values()].filter(({ capabilities }) => can(capabilities)).map(({ name }) => name);
  return names.length === 0 ? "no agent here can" : `${names.join(", ")} can`;
}
