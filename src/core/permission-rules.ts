/** Permission rules of a session: those that the turn machine applies, and those that cannot be enforced. Pure. */
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

/** Rules that Franca cannot enforce, because the agent performs these actions without a request. */
export const unkeepable = (rules: readonly PermissionRule[]): readonly PermissionRule[] =>
  rules.filter(({ permission, action }) => action !== "allow" && !askedAbout.includes(permissionOf(permission)));
