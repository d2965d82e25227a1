/** Gives a session to another agent, as long as nothing has happened in it. */
import type { Session } from "../../core/session.ts";
import type { AgentSettings } from "../../protocol/commands.ts";
import { ApiError } from "../../protocol/errors.ts";
import type { CreateSession } from "../../protocol/resources.ts";
import type { SessionSettings } from "../log/contract.ts";
import type { Runtime } from "../runtime.ts";
import type { AgentChoice } from "./contract.ts";
import { checkAgent } from "./create.ts";
import { type Live, refuseEnded } from "./live.ts";
import { reopen } from "./table.ts";

/** Everything that can be refused is refused before anything changes. */
export async function changeAgent(runtime: Runtime, live: Live, choice: AgentChoice): Promise<void> {
  refuseEnded(live);
  refuseBegun(live, live.session);
  const create = withAgent(live.settings.create, choice);
  checkAgent(runtime, { ...create, directory: create.directory ?? process.cwd() });
  const before = live.settings;
  await store(runtime, { live, settings: { ...before, create } });
  try {
    const command = { type: "change_agent", agent: choice.agent, settings: settingsOf(choice) } as const;
    await live.drive.ask(command, (session) => refuseBegun(live, session));
  } catch (error) {
    // Somebody was faster, or the log cannot be written: the session stays with its agent.
    await store(runtime, { live, settings: before });
    throw error;
  }
  await reopen(runtime, live);
}

async function store(runtime: Runtime, { live, settings }: { live: Live; settings: SessionSettings }): Promise<void> {
  await runtime.log.changeSettings(live.id, settings);
  live.settings = settings;
}

function refuseBegun({ id, pins, link, settings }: Live, session: Session): void {
  const { turns, native_session_id, queue } = session.snapshot();
  const isNew = turns === 0 && native_session_id === null && settings.create.nativeSessionId === undefined;
  if (!isNew || link.isOpen() || queue.length > 0) {
    const { agent } = settings.create;
    throw new ApiError("not_supported", `Session ${id} has begun with ${agent}: use a new session for another agent.`);
  }
  if (pins > 1) throw new ApiError("session_busy", `Session ${id} is in use: change its agent when it is idle.`);
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
