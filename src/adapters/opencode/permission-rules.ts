/**
 * Permission rules as OpenCode gets them. It enforces `deny` rules itself. For everything that
 * a rule would allow, it requests permission, and the turn machine answers by the real command or path.
 */
import { unreachable } from "../../core/fold.ts";
import type { LaunchOptions } from "../../core/launch.ts";
import type { OpenCodePermissionRule } from "../../dialects/opencode.ts";
import { matchesPattern } from "../../permissions/wildcard.ts";
import type { PermissionMode } from "../../protocol/events.ts";

type Rules = readonly OpenCodePermissionRule[];

/** Permissions that the turn machine decides by the real action. */
const inspected: readonly string[] = ["bash", "edit", "read", "webfetch", "external_directory"];

/** Those of them that OpenCode is made to ask about where a rule for any permission (`*`) allows everything. */
const alwaysInspected: readonly string[] = ["bash", "edit", "external_directory"];

/** The rules of the mode, then those of the session: the last one that matches counts. */
export const rulesOf = ({ permission_mode, permission_rules = [] }: LaunchOptions): Rules => [
  ...modeRules(permission_mode, permission_rules),
  ...nativeRules(permission_rules),
];

function modeRules(mode: PermissionMode, rules: Rules): Rules {
  switch (mode) {
    case "bypass": {
      const all = { permission: "*", pattern: "*", action: "allow" } as const;
      return rules.some(({ action }) => action === "deny") ? askFirst(all) : [all];
    }
    case "acceptEdits":
      return [{ permission: "edit", pattern: "*", action: "ask" }];
    case "default":
    case "plan":
      return [];
    default:
      return unreachable(mode);
  }
}

export const nativeRules = (rules: Rules): Rules =>
  rules.flatMap((rule) => (rule.action === "allow" ? askFirst(rule) : [rule]));

function askFirst(rule: OpenCodePermissionRule): Rules {
  const { permission, pattern } = rule;
  if (inspected.includes(permission)) return [{ ...rule, action: "ask" }];
  const matched = alwaysInspected.filter((name) => matchesPattern({ pattern: permission, text: name }));
  return [rule, ...matched.map((name) => ({ permission: name, pattern, action: "ask" }) as const)];
}
