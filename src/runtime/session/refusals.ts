/** What is refused before anything is stored: unknown agents and modes, what an agent cannot do, ended sessions. */
import type { Adapter } from "../../core/adapter.ts";
import type { Capabilities } from "../../core/capabilities.ts";
import { unkeepable } from "../../core/permission-rules.ts";
import { ApiError } from "../../protocol/errors.ts";
import type { PermissionMode } from "../../protocol/events.ts";
import type { CreateSession, PermissionRule } from "../../protocol/resources.ts";
import { isEnded, type OpenSession } from "./open-session.ts";
import type { Runtime } from "./runtime.ts";
import { DAMAGED_SETTINGS } from "./summary.ts";

export function adapterOf({ adapters }: Runtime, agent: string): Adapter {
  const adapter = adapters.get(agent);
  if (adapter !== undefined) return adapter;
  throw new ApiError(
    "unsupported_agent",
    `There is no agent ${agent}. Those there are: ${[...adapters.keys()].join(", ")}.`,
  );
}

export const shuttingDown = (): ApiError => new ApiError("internal", "Franca is shutting down.");

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

/** Refuses rules that cannot be enforced because the agent acts without a request: clients rely on their rules. */
export function checkRules(
  adapter: Adapter,
  {
    permissionRules: rules = [],
    permissionMode = "default",
  }: Pick<CreateSession, "permissionRules" | "permissionMode">,
): void {
  const { capabilities, name } = adapter;
  if (rules.length === 0 || capabilities.permissionRules === true) return;
  const strict = rules.filter(({ action, permission }) => action !== "allow" && !onlyOpenCode.has(permission));
  if (strict.length > 0 && !capabilities.permissions) {
    throw cannot(adapter, "keep permission rules: it does not ask before it acts");
  }
  const [kept] = strict;
  if (kept !== undefined && permissionMode === "bypass") {
    throw new ApiError(
      "not_supported",
      `${name} does not ask in the permission mode bypass, so the rule ${shownRule(kept)} cannot be kept. Choose another mode, or remove the rule.`,
    );
  }
  const [first] = unkeepable(rules);
  if (first === undefined) return;
  throw new ApiError(
    "not_supported",
    `${name} cannot keep the permission rule ${shownRule(first)}: it does not ask about that.`,
  );
}

const shownRule = ({ action, permission, pattern }: PermissionRule): string => `${action} ${permission} "${pattern}"`;

const onlyOpenCode: ReadonlySet<string> = new Set(["question", "plan_enter", "plan_exit"]);

export const cannot = ({ name }: Adapter, what: string): ApiError =>
  new ApiError("not_supported", `${name} cannot ${what}.`);

/** Which agents could do what this one cannot. */
export function whoCan({ adapters }: Runtime, can: (capabilities: Capabilities) => boolean): string {
  const names = [...adapters.values()].filter(({ capabilities }) => can(capabilities)).map(({ name }) => name);
  return names.length === 0 ? "no agent here can" : `${names.join(", ")} can`;
}

/** Refuses a session with damaged settings, because its agent could get rights that were never granted. */
export function refuseDamaged({ id, settings }: Pick<OpenSession, "id" | "settings">): void {
  if (settings.damaged === true) {
    throw new ApiError("session_damaged", `Session ${id} cannot be used. ${DAMAGED_SETTINGS}`);
  }
}

export function refuseEnded(open: OpenSession): void {
  if (isEnded(open)) {
    throw new ApiError("session_ended", `Session ${open.id} has ended: it can be read, but takes nothing more.`);
  }
}
