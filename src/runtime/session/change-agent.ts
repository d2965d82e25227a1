/** Gives a session to another agent, as long as nothing has happened in it. */
import type { Session } from "../../core/session.ts";
import type { AgentSettings } from "../../protocol/commands.ts";
import { ApiError } from "../../protocol/errors.ts";
import type { CreateSession } from "../../protocol/resources.ts";
import type { SessionSettings } from "../log/contract.ts";
import type { AgentChoice } from "./contract.ts";
import { checkAgent } from "./create.ts";
import type { OpenSession, OpenSessions } from "./open-session.ts";
import { reopen } from "./open-sessions.ts";
import { refuseEnded } from "./refusals.ts";

/** Whatever can be refused is refused before anything changes. */
export async function changeAgent(table: OpenSessions, open: OpenSession, choice: AgentChoice): Promise<void> {
  refuseEnded(open);
  refuseBegun(open, open.session);
  const create = withAgent(open.settings.create, choice);
  checkAgent(table.runtime, { ...create, directory: create.directory ?? process.cwd() });
  const before = open.settings;
  await store(table, { open, settings: { ...before, create } });
  try {
    const command = { type: "change_agent", agent: choice.agent, settings: settingsOf(choice) } as const;
    await open.writer.command(command, (session) => refuseBegun(open, session));
  } catch (error) {
    // Another command came first, or the log cannot be written: the session stays with its agent.
    await store(table, { open, settings: before });
    throw error;
  }
  await reopen(table, open);
}

async function store(
  table: OpenSessions,
  { open, settings }: { open: OpenSession; settings: SessionSettings },
): Promise<void> {
  await table.runtime.log.changeSettings(open.id, settings);
  open.settings = settings;
}

function refuseBegun({ id, users, link, settings }: OpenSession, session: Session): void {
  const { turns, native_session_id, queue } = session.snapshot();
  const isNew = turns === 0 && native_session_id === null && settings.create.nativeSessionId === undefined;
  if (!isNew || link.isOpen() || queue.length > 0) {
    const { agent } = settings.create;
    throw new ApiError("not_supported", `Session ${id} has begun with ${agent}: use a new session for another agent.`);
  }
  if (users > 1) throw new ApiError("session_busy", `Session ${id} is in use: change its agent when it is idle.`);
}

/** What depends on the agent comes from the choice alone; the rest of the settings stays. */
function withAgent(
  { model: _model, variant: _variant, agentMode: _mode, permissionMode: _permissions, ...rest }: CreateSession,
  choice: AgentChoice,
): CreateSession {
  return { ...rest, ...choice };
}

const settingsOf = ({ model, variant, agentMode, permissionMode }: AgentChoice): AgentSettings => ({
  model: model ?? null,
  variant: variant ?? null,
  mode: agentMode ?? null,
  permission_mode: permissionMode ?? "default",
});
