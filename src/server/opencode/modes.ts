/**
 * OpenCode's agents (`build`, `plan` …) are the modes of an agent. Where an agent has no mode called `plan` it is its
 * permission mode, and `build` is how it is by itself.
 */
import { DEFAULT_MODE } from "../../projections/opencode/index.ts";
import { ApiError } from "../../protocol/errors.ts";
import type { UpdateSession } from "../../protocol/resources.ts";
import type { Sessions } from "../../runtime/session/contract.ts";

export const PLAN_MODE = "plan";

export interface ModeNow {
  readonly agent: string;
  readonly agentMode: string | null;
  readonly permissionMode: string;
}

/** What to change so that the session is in the mode that was asked for; nothing where it is already. */
export async function modeChange(
  sessions: Pick<Sessions, "modes">,
  wanted: string | undefined,
  { agent, agentMode, permissionMode }: ModeNow,
): Promise<Pick<UpdateSession, "agentMode" | "permissionMode">> {
  const isPlanning = permissionMode === PLAN_MODE;
  const now = isPlanning ? PLAN_MODE : (agentMode ?? DEFAULT_MODE);
  if (wanted === undefined || wanted === now) return {};
  const modes = (await sessions.modes(agent)).map(({ id }) => id);
  if (modes.includes(wanted)) return { agentMode: wanted };
  if (wanted === PLAN_MODE) return { permissionMode: PLAN_MODE };
  const leaves = isPlanning ? { permissionMode: "default" as const } : {};
  if (wanted !== DEFAULT_MODE) return { ...leaves, agentMode: wanted };
  if (agentMode === null) return leaves;
  if (modes.includes("default")) return { ...leaves, agentMode: "default" };
  throw new ApiError("mode_not_supported", `${agent} has no mode ${DEFAULT_MODE}. It has: ${modes.join(", ")}.`);
}

/** For a session that begins. */
export const modeOptions = (
  sessions: Pick<Sessions, "modes">,
  wanted: string | undefined,
  agent: string,
): Promise<Pick<UpdateSession, "agentMode" | "permissionMode">> =>
  modeChange(sessions, wanted, { agent, agentMode: null, permissionMode: "default" });
