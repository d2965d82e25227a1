/**
 * Decides about a permission request by the session's rules, its mode, plugins and what users have allowed before.
 * A deny always wins. Pure.
 */
import { judge, type Verdict } from "../permissions/engine.ts";
import type { Inspection } from "../permissions/inspection.ts";
import { broaderScopes, exactScope, type ScopedAction } from "../permissions/scopes.ts";
import type { InspectedRequest } from "./input.ts";
import type { MachineState } from "./machine-state.ts";
import { noScopes, type Scopes } from "./remembered.ts";
import type { PermissionReport } from "./report.ts";

export interface Inspected {
  readonly report: PermissionReport;
  /** Null if the action was not inspected: no rule allows it. */
  readonly inspection: Inspection | null;
  readonly plugin?: InspectedRequest["plugin"];
}

export type Decision =
  | { readonly reply: "reject"; readonly rule: string; readonly message: string }
  | { readonly reply: "once"; readonly rule: string }
  /** Users have allowed it before, so there is no request to show. */
  | { readonly reply: "silent" }
  | { readonly reply: "ask" };

export function decide(state: MachineState, inspected: Inspected): Decision {
  const { plugin } = inspected;
  const verdict = judgeReport(state, inspected);
  if (verdict.action === "deny") {
    return { reply: "reject", rule: "permission_rules.deny", message: `Denied: ${verdict.reason}.` };
  }
  if (plugin === "deny") return { reply: "reject", rule: "plugin.deny", message: "A plugin denies it." };
  if (isAcceptedEdit(state, inspected) || isBypassed(state, inspected, verdict)) return { reply: "silent" };
  // No rule decided, so a user has allowed it for the rest of the session.
  if (verdict.action === "allow" && verdict.rule === null) return { reply: "silent" };
  if (verdict.action === "allow") return { reply: "once", rule: "permission_rules.allow" };
  if (plugin === "allow") return { reply: "once", rule: "plugin.allow" };
  return decideUnattended(state, inspected);
}

/** Whether a rule or a plugin denies it. */
export const isDenied = (state: MachineState, inspected: Inspected): boolean =>
  inspected.plugin === "deny" || judgeReport(state, inspected).action === "deny";

function judgeReport(state: MachineState, inspected: Inspected): Verdict {
  const { rules } = state.policy.permissionRules;
  return judge({ rules, remembered: state.remembered, ...scopedAction(state, inspected) });
}

function scopedAction({ policy }: MachineState, { report, inspection }: Inspected): ScopedAction {
  const { directory } = policy.permissionRules;
  return { names: namesOf(report), action: report.requested, inspection, directory };
}

/** Names that rules match. The first one is remembered for an "always", so of a tool it is the most specific. */
function namesOf({ action, tool, requested }: PermissionReport): readonly string[] {
  if (tool === null || placed.has(action)) return [action];
  return requested.kind === "tool" ? [tool, action] : [action, tool];
}

/** Permissions about a place or a repetition: rules about the tool do not apply to them. */
const placed: ReadonlySet<string> = new Set(["external_directory", "private_address", "doom_loop"]);

/** Whether this is an ordinary edit inside the folder of a session that accepts edits. Symlinks were followed. */
function isAcceptedEdit(state: MachineState, { report, inspection }: Inspected): boolean {
  const { requested, byHost = false } = report;
  if (state.known.get("permission_mode") !== "acceptEdits" || inspection?.opaque !== null) return false;
  // A program in the folder could replace a link while the agent writes.
  if (state.known.get("trusted") === false && !byHost) return false;
  if (requested.kind !== "paths" || requested.access !== "write" || inspection.paths.length === 0) return false;
  return inspection.paths.every(({ inside, runsCode }) => inside && !runsCode);
}

/** An agent that asks in `bypass`, because rules of the session deny something, is allowed everything else. */
const isBypassed = (state: MachineState, inspected: Inspected, { rule }: Verdict): boolean =>
  state.known.get("permission_mode") === "bypass" && rule === null && !couldBeDenied(state, inspected);

/** Whether some rule denies, and this action cannot be proven to avoid what it denies. */
function couldBeDenied({ policy }: MachineState, { report: { requested }, inspection }: Inspected): boolean {
  if (!policy.permissionRules.rules.some(({ action }) => action === "deny")) return false;
  if (requested.kind === "url" || requested.kind === "tool") return false;
  if (requested.kind === "unknown" || inspection === null || inspection.opaque !== null) return true;
  return inspection.commands.some(({ runsText }) => runsText);
}

function decideUnattended(state: MachineState, inspected: Inspected): Decision {
  const { policy, allow } = state.policy.unattended;
  const { action, tool } = inspected.report;
  if (policy === "park") return { reply: "ask" };
  const isListed = allow === undefined || allow.includes(action) || allow.includes(tool ?? action);
  if (policy === "allow" && isListed && !couldBeDenied(state, inspected)) {
    return { reply: "once", rule: "unattended.allow" };
  }
  // Includes the reason, so that the agent can try another way.
  const message = "No user is there to ask, and the policy of the session denies it.";
  return { reply: "reject", rule: "unattended.deny", message };
}

export function scopesOf(state: MachineState, inspected: Inspected): Scopes {
  // Only a rule can lift this limit. A single reply cannot, because the next loop is a different one.
  if (inspected.report.action === "doom_loop") return noScopes;
  const action = scopedAction(state, inspected);
  return { exact: exactScope(action), broader: inspected.inspection === null ? [] : broaderScopes(action) };
}

/** The exact action as text: the whole command, the real paths, the address or the name of the tool. */
export function patternsOf({ report, inspection }: Inspected): readonly string[] {
  const { requested } = report;
  switch (requested.kind) {
    case "command":
      return [requested.command];
    case "paths":
      // Users must see the target of a symlink.
      return inspection === null ? requested.paths : inspection.paths.map(({ path }) => path);
    case "url":
      return [requested.url];
    case "tool":
      return [report.tool ?? report.action];
    case "unknown":
      return [];
  }
}
