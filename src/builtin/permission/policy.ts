/**
 * Permissions of the builtin agent: the rules of its configuration by the shared engine, the mode of the session, the
 * files that are always asked about, and the default rules. Pure.
 */

import { judge as judgeByRules, type Verdict } from "../../permissions/engine.ts";
import type { Inspection } from "../../permissions/inspection.ts";
import { findRule } from "../../permissions/rules.ts";
import type { RememberedScope } from "../../permissions/scopes.ts";
import type { PermissionMode } from "../../protocol/events.ts";
import type { PermissionRule } from "../../protocol/requests.ts";

export type { Verdict } from "../../permissions/engine.ts";

type Action = PermissionRule["action"];
export type PermissionConfig = Readonly<Record<string, Action | Readonly<Record<string, Action>>>>;

/** The rules, the mode and the remembered scopes that apply now. */
export interface Policy {
  readonly mode: PermissionMode;
  readonly rules: readonly PermissionRule[];
  readonly remembered: readonly RememberedScope[];
}

/** Why the user is asked in every mode except `bypass`, regardless of earlier approvals. Null if the rules decide. */
type Guard = string | null;

/** An action that rules match as one text: a path, a URL, a host, a tool. */
export interface TextRequest {
  /** The name of the permission, then the tool's own name if it differs. */
  readonly names: readonly string[];
  /** The text in the forms a rule may have: for a path relative and absolute. */
  readonly texts: readonly string[];
  /** Other spellings, which only rules that deny or ask match. */
  readonly spellings?: readonly string[];
  readonly guarded?: Guard;
}

export interface CommandRequest {
  readonly command: string;
  readonly inspection: Inspection;
  readonly directory: string;
  readonly guarded?: Guard;
}

const defaultRules: readonly PermissionRule[] = [
  defaultRule("*", "ask"),
  ...["read", "glob", "grep", "list", "todowrite", "todoread", "question"].map((name) => defaultRule(name, "allow")),
  defaultRule("private_address", "deny"),
];

function defaultRule(permission: string, action: Action): PermissionRule {
  return { permission, pattern: "*", action };
}

/** Permissions that change files or run programs. Plan mode denies them. */
const changing: ReadonlySet<string> = new Set(["edit", "bash"]);

/** Reads the configuration. Rules for `*` come first, then `edit`, then the others: their order in the file is free. */
export function readRules(config: PermissionConfig): PermissionRule[] {
  const rank = (permission: string): number => (permission === "*" ? 0 : permission === "edit" ? 1 : 2);
  return Object.entries(config)
    .sort(([left], [right]) => rank(left) - rank(right))
    .flatMap(([permission, action]) =>
      typeof action === "string"
        ? [{ permission, pattern: "*", action }]
        : Object.entries(action).map(([pattern, one]) => ({ permission, pattern, action: one })),
    );
}

/** Judges an action that is matched as one text. */
export function judge(policy: Policy, { names, texts, spellings = [], guarded = null }: TextRequest): Verdict {
  const [permission = ""] = names;
  const isRemembered = policy.remembered.some(
    (one) => one.match === "exact" && one.permission === permission && texts.includes(one.pattern),
  );
  const byRules = verdictOf(findRule(policy.rules, { names, texts, spellings }));
  const configured = isRemembered && byRules.action !== "deny" ? allowed(REMEMBERED) : byRules;
  return decide(policy, { permission, configured, guarded, byDefault: findRule(defaultRules, { names, texts }) });
}

/** Judges a shell command: every command and every path of it has to be allowed. */
export function judgeCommand(policy: Policy, request: CommandRequest): Verdict {
  const { command, inspection, directory, guarded = null } = request;
  const { rules, remembered } = policy;
  const action = { kind: "command", command } as const;
  const configured = judgeByRules({ rules, remembered, names: ["bash"], action, inspection, directory });
  return decide(policy, { permission: "bash", configured, guarded, byDefault: null });
}

const REMEMBERED = "it was allowed for the rest of the session";

const allowed = (reason: string): Verdict => ({ action: "allow", reason, rule: null });

function verdictOf(rule: PermissionRule | null): Verdict {
  if (rule === null) return { action: "ask", reason: "no rule matches it", rule };
  const verb = { allow: "allows", ask: "asks about", deny: "denies" }[rule.action];
  return { action: rule.action, reason: `the rule ${rule.permission} "${rule.pattern}" ${verb} it`, rule };
}

interface Decision {
  readonly permission: string;
  /** The verdict of the configured rules and the remembered scopes. */
  readonly configured: Verdict;
  readonly guarded: Guard;
  /** The default rule that applies if none is configured. */
  readonly byDefault: PermissionRule | null;
}

function decide({ mode }: Policy, { permission, configured, guarded, byDefault }: Decision): Verdict {
  if (mode === "plan" && changing.has(permission)) {
    return denied("the session is in plan mode, which changes nothing and runs no commands");
  }
  if (configured.action === "deny") return configured;
  if (mode === "bypass") return decideInBypass(permission, configured);
  if (guarded !== null) return { action: "ask", reason: guarded, rule: null };
  if (configured.action === "allow") return configured;
  if (mode === "acceptEdits" && permission === "edit") return allowed("the session accepts edits");
  if (configured.rule !== null || byDefault === null) return configured;
  return { action: byDefault.action, reason: "a default rule applies", rule: byDefault };
}

const denied = (reason: string): Verdict => ({ action: "deny", reason, rule: null });

/** Allows everything. A repeated call that would be asked about is denied unless a rule allows it. */
function decideInBypass(permission: string, configured: Verdict): Verdict {
  if (permission !== "doom_loop" || configured.action === "allow") return allowed("the session is in bypass mode");
  return denied("the same call had the same result before, and bypass mode has no questions; do something else");
}
