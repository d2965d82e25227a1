/**
 * Decides about one action by permission rules and remembered scopes. An action is allowed only if every command and
 * every path of it is; one denied part denies it; an action that is not fully understood is never allowed by a rule.
 * Pure.
 */
import type { PermissionRule } from "../protocol/requests.ts";
import type { InspectedCommand, InspectedPath, Inspection, RequestedAction } from "./inspection.ts";
import { findRule, pathSubject, permissionOf } from "./rules.ts";
import { coversAction, coversCommand, coversPath, type RememberedScope } from "./scopes.ts";
import { parseShellCommand } from "./shell-command.ts";

export interface PermissionQuery {
  readonly rules: readonly PermissionRule[];
  /** Scopes that a user allowed for the rest of the session. They never override a rule that denies. */
  readonly remembered: readonly RememberedScope[];
  /** Names of the request: the action, then the tool if it has another name. */
  readonly names: readonly string[];
  readonly action: RequestedAction;
  /** The result of the inspection by the edge. Without it no rule allows a command or a path. */
  readonly inspection: Inspection | null;
  /** The session's folder: paths of rules are relative to it. */
  readonly directory: string;
}

export interface Verdict {
  readonly action: PermissionRule["action"];
  /** Why, as a clause for users: "the rule bash "touch *" denies touch a". */
  readonly reason: string;
  /** The rule that decided. Null if no rule matches or a remembered scope decided. */
  readonly rule: PermissionRule | null;
}

/** Judges the whole action. */
export function judge(query: PermissionQuery): Verdict {
  const verdicts = judgeParts(query);
  const denied = verdicts.find(({ action }) => action === "deny");
  if (denied !== undefined) return denied;
  if (coversAction(query.remembered, query)) return allowed("it was allowed for the rest of the session");
  const unclear = whyUnclear(query);
  if (unclear !== null) return { action: "ask", reason: unclear, rule: null };
  return (
    verdicts.find(({ action }) => action === "ask") ??
    verdicts[0] ?? { action: "ask", reason: "it is empty", rule: null }
  );
}

/** Combines verdicts of several sources: a deny wins over an allow, an allow wins over a question. */
export function combineVerdicts(verdicts: readonly Verdict[]): Verdict | null {
  const first = (action: Verdict["action"]): Verdict | undefined => verdicts.find((one) => one.action === action);
  return first("deny") ?? first("allow") ?? first("ask") ?? null;
}

const allowed = (reason: string): Verdict => ({ action: "allow", reason, rule: null });

function whyUnclear({ action, inspection }: PermissionQuery): string | null {
  if (action.kind === "unknown") return "the agent did not report what it wants to do";
  if (action.kind !== "command" && action.kind !== "paths") return null;
  return inspection === null ? "the action was not inspected" : inspection.opaque;
}

function judgeParts(query: PermissionQuery): readonly Verdict[] {
  const { action, rules } = query;
  const names = [...new Set(query.names.flatMap((name) => [name, permissionOf(name)]))];
  switch (action.kind) {
    case "command":
      return judgeCommandLine(query, action.command);
    case "paths":
      return pathsOf(query, action).map((path) => judgeFile({ ...query, names }, path));
    case "url":
      return [verdictOf(findRule(rules, { names, texts: [action.url] }), action.url)];
    case "tool":
    case "unknown":
      return [verdictOf(findRule(rules, { names, texts: ["*"] }), names.join(", "))];
    default:
      return unreachable(action);
  }
}

const unreachable = (action: never): never => {
  throw new Error(`There is no action ${JSON.stringify(action)}.`);
};

function verdictOf(rule: PermissionRule | null, part: string): Verdict {
  if (rule === null) return { action: "ask", reason: "no rule matches it", rule };
  const verb = { allow: "allows", ask: "asks about", deny: "denies" }[rule.action];
  const shown = part.length > SHOWN_LENGTH ? `${part.slice(0, SHOWN_LENGTH)}…` : part;
  return { action: rule.action, reason: `the rule ${rule.permission} "${rule.pattern}" ${verb} ${shown}`, rule };
}

/** Maximum number of characters of a command or path in a reason. */
const SHOWN_LENGTH = 200;

/** Paths that were not inspected are compared as written, for rules that deny. */
const pathsOf = (
  { inspection }: PermissionQuery,
  { paths, access }: Extract<RequestedAction, { kind: "paths" }>,
): readonly InspectedPath[] =>
  inspection?.paths ?? paths.map((path) => ({ written: path, path, inside: true, access, runsCode: false }));

function judgeCommandLine(query: PermissionQuery, command: string): readonly Verdict[] {
  // Without an inspection the commands are still known, so that rules can deny them.
  const { commands, opaque } = query.inspection ?? parseShellCommand(command);
  const verdicts = commands.map((one) => judgeCommand(query, one));
  const paths = query.inspection?.paths ?? [];
  const rules = verdicts.map(({ rule }) => rule);
  const isRemembered = verdicts.some(({ action, rule }) => action === "allow" && rule === null);
  const touched = paths.map((path) => judgeTouchedPath(query, { path, rules, isRemembered }));
  // Rules about everything that is not named otherwise also apply to the parts that are not known.
  const whole =
    opaque === null ? [] : [verdictOf(findRule(query.rules, { names: ["bash"], texts: [command] }), command)];
  // A line without a command, such as a lone redirection, matches no rule.
  const empty = commands.length === 0 ? [asksAbout("it has no command")] : [];
  return [...empty, ...verdicts, ...touched, ...whole];
}

function judgeCommand({ rules, remembered }: PermissionQuery, command: InspectedCommand): Verdict {
  const { text, spellings, runsText } = command;
  const rule = findRule(rules, { names: ["bash"], texts: [text], spellings });
  const verdict = verdictOf(rule, text);
  if (verdict.action === "deny") return verdict;
  if (coversCommand(remembered, command)) return allowed(`${text} was allowed for the rest of the session`);
  if (verdict.action === "allow" && runsText && rule?.pattern.startsWith("*") && hasExceptions(rules)) {
    return { action: "ask", reason: "it runs a program text that could contain a command with a rule", rule: null };
  }
  return verdict;
}

/** Whether some commands are denied or asked about although others are allowed. */
const hasExceptions = (rules: readonly PermissionRule[]): boolean =>
  rules.some(
    ({ permission, pattern, action }) => action !== "allow" && pattern !== "*" && permissionOf(permission) === "bash",
  );

interface TouchedPath {
  readonly path: InspectedPath;
  /** The rules that decided about the commands. */
  readonly rules: readonly (PermissionRule | null)[];
  /** Whether a remembered scope allowed one of the commands. Such scopes are for commands that do not write. */
  readonly isRemembered: boolean;
}

/** Judges a path in a command: the command's rule covers it inside the folder, unless a rule for the file differs. */
function judgeTouchedPath(query: PermissionQuery, { path, rules, isRemembered }: TouchedPath): Verdict {
  const { access, runsCode, written } = path;
  const { directory } = query;
  const writes = access !== "read";
  const specific = query.rules.filter(({ permission, pattern }) => permission !== "*" || pattern !== "*");
  const read = access === "write" ? null : findRule(specific, pathSubject(path, { names: ["read"], directory }));
  const edit = writes ? findRule(specific, pathSubject(path, { names: ["edit"], directory })) : null;
  if (read?.action === "deny") return verdictOf(read, written);
  if (edit?.action === "deny" && access === "write") return verdictOf(edit, written);
  if (coversPath(query.remembered, { path, names: ["edit"] })) return allowed(`${written} was allowed for the session`);
  if (edit !== null && edit.action !== "allow") return { ...verdictOf(edit, written), action: "ask" };
  if (read?.action === "ask") return verdictOf(read, written);
  if (writes && runsCode && !rules.every(allowsEverything)) return asksAbout(`${written} can run code by itself`);
  if (access === "write" && isRemembered) return asksAbout(`${written} is written`);
  return path.inside ? allowed(`${written} is in the folder`) : judgeOutside(query, path);
}

const asksAbout = (reason: string): Verdict => ({ action: "ask", reason, rule: null });

const allowsEverything = (rule: PermissionRule | null): boolean =>
  rule !== null && rule.action === "allow" && rule.permission === "*" && rule.pattern === "*";

/** Judges the path of a file tool. */
function judgeFile(query: PermissionQuery, path: InspectedPath): Verdict {
  const rule = findRule(query.rules, pathSubject(path, query));
  const verdict = verdictOf(rule, path.written);
  const outside = path.inside ? null : judgeOutside(query, path);
  if (verdict.action === "deny") return verdict;
  if (outside?.action === "deny") return outside;
  if (path.access !== "read" && path.runsCode) {
    return allowsEverything(rule) ? verdict : asksAbout(`${path.written} can run code by itself`);
  }
  if (coversPath(query.remembered, { path, names: query.names })) {
    return allowed(`${path.written} was allowed for the rest of the session`);
  }
  if (verdict.action === "allow" && outside !== null && outside.action !== "allow") return outside;
  return verdict;
}

/** A path outside the folder needs a rule or a remembered scope for `external_directory`. */
function judgeOutside({ rules, remembered }: PermissionQuery, path: InspectedPath): Verdict {
  const names = ["external_directory"];
  const rule = findRule(rules, { names, texts: [path.path], spellings: [path.written] });
  if (rule?.action !== "deny" && coversPath(remembered, { path, names })) {
    return allowed(`${path.path} was allowed for the rest of the session`);
  }
  return rule === null ? asksAbout(`${path.path} is outside the folder`) : verdictOf(rule, path.path);
}
