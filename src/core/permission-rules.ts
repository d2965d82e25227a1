/** Permission rules of a session: which of them the turn machine reads itself, and which no one could keep. Pure. */
import { findRule, permissionOf } from "../permissions/rules.ts";
import type { PermissionRule } from "../protocol/resources.ts";

export interface RulePolicy {
  readonly rules: readonly PermissionRule[];
  /** The session's folder: paths of rules are relative to it. */
  readonly directory: string;
}

export const noRules: RulePolicy = { rules: [], directory: "" };

export const deniesQuestions = ({ rules }: RulePolicy): boolean =>
  findRule(rules, { names: ["question"], texts: ["*"] })?.action === "deny";

/** What every agent that asks at all asks about, in its default mode; or what only OpenCode has. */
const askedAbout: readonly string[] = ["bash", "edit", "question", "doom_loop", "plan_enter", "plan_exit"];

/** Rules that only the agent itself could keep: it does what they forbid without asking. */
export const unkeepable = (rules: readonly PermissionRule[]): readonly PermissionRule[] =>
  rules.filter(({ permission, action }) => action !== "allow" && !askedAbout.includes(permissionOf(permission)));
