/**
 * Who may do what: rules `allow | ask | deny` with patterns, the last one that matches wins. The mode of the session
 * comes after the rules of the configuration; what a person allowed "always" comes last. Pure.
 */

import { matchesPattern } from "../../permissions/wildcard.ts";
import type { PermissionMode } from "../../protocol/events.ts";
import { readCommandLine } from "./command-line.ts";

/** An "always" answer: what it allows from now on. */
export interface Remembered {
  readonly action: string;
  readonly pattern: string;
}

export type Effect = "allow" | "ask" | "deny";

export interface Rule {
  readonly action: string;
  readonly pattern: string;
  readonly effect: Effect;
}

export type PermissionConfig = Readonly<Record<string, Effect | Readonly<Record<string, Effect>>>>;

/** What a tool wants to do. A rule speaks of it when it names one of `actions`. */
export interface Wish {
  /** The name it is asked under, then the tool's own name where that differs. */
  readonly actions: readonly string[];
  /** What is matched: a path, a command, a URL, a host. */
  readonly subject: string;
  /** Why a person is asked whatever was allowed before: only `bypass` allows it, and a rule can forbid it. */
  readonly guarded?: string | null;
}

export interface Verdict {
  readonly effect: Effect;
  /** Whose word it is: shown to the model and the user. */
  readonly because: string;
}

const base: readonly Rule[] = [
  rule("*", "ask"),
  rule("read", "allow"),
  rule("glob", "allow"),
  rule("grep", "allow"),
  rule("list", "allow"),
  rule("todowrite", "allow"),
  rule("todoread", "allow"),
  rule("question", "allow"),
  rule("private_address", "deny"),
];

/** Not what a tool does but where or how often: a rule for `*` speaks of tools, so these must be named. */
const named: ReadonlySet<string> = new Set(["external_directory", "private_address", "doom_loop"]);

/** Actions that change files or run programs: plan mode has none of them. */
const changing: ReadonlySet<string> = new Set(["edit", "bash"]);

/**
 * `*` first, then the family name `edit`, then what is more special: the order in a file does not matter between them.
 */
export function readRules(config: PermissionConfig): Rule[] {
  const rank = (action: string): number => (action === "*" ? 0 : action === "edit" ? 1 : 2);
  return Object.entries(config)
    .sort(([left], [right]) => rank(left) - rank(right))
    .flatMap(([action, effect]) =>
      typeof effect === "string"
        ? [{ action, pattern: "*", effect }]
        : Object.entries(effect).map(([pattern, one]) => ({ action, pattern, effect: one })),
    );
}

export interface Law {
  readonly mode: PermissionMode;
  readonly rules: readonly Rule[];
  readonly remembered: readonly Remembered[];
}

export function judge(law: Law, wish: Wish): Verdict {
  const { mode, rules, remembered } = law;
  const [action = ""] = wish.actions;
  if (mode === "plan" && changing.has(action)) {
    return { effect: "deny", because: "the session is in plan mode, which changes nothing and runs no commands" };
  }
  const configured = rules.findLast((one) => speaksOf(one, wish));
  if (configured?.effect === "deny") return { effect: "deny", because: ruleName(configured) };
  if (mode === "bypass") return judgeBypass(action, configured);
  if (typeof wish.guarded === "string") return { effect: "ask", because: wish.guarded };
  if (remembered.some((one) => speaksOf(one, wish))) {
    return { effect: "allow", because: "it was allowed for the rest of the session" };
  }
  if (configured?.effect === "allow") return { effect: "allow", because: ruleName(configured) };
  if (mode === "acceptEdits" && action === "edit") {
    return { effect: "allow", because: "the session accepts edits" };
  }
  if (configured !== undefined) return { effect: configured.effect, because: ruleName(configured) };
  const given = base.findLast((one) => speaksOf(one, wish));
  return { effect: given?.effect ?? "ask", because: "of the default rules" };
}

/** All is allowed and nobody is asked: a loop that a person would be asked about is refused unless a rule allows it. */
function judgeBypass(action: string, configured: Rule | undefined): Verdict {
  if (action !== "doom_loop" || configured?.effect === "allow") {
    return { effect: "allow", because: "the session is in bypass mode" };
  }
  const because = "the same call had the same result before, and in bypass mode nobody is asked; do something else";
  return { effect: "deny", because };
}

/**
 * A shell command is allowed when every command in it is. What cannot be taken apart is allowed only by a rule for
 * all commands, and not even by that while other rules forbid or ask about some: they could not be applied.
 */
export function judgeCommand(law: Law, command: string, { guarded = null }: Pick<Wish, "guarded"> = {}): Verdict {
  const line = readCommandLine(command);
  const wishes = (line.opaque ? [command, ...line.commands] : line.commands).map(commandWish);
  const verdicts = wishes.map((wish) => judge(law, wish));
  const denied = verdicts.find(({ effect }) => effect === "deny");
  if (denied !== undefined) return denied;
  if (guarded !== null && law.mode !== "bypass") return { effect: "ask", because: guarded };
  if (line.opaque && law.mode !== "bypass") return judgeOpaque(law, command);
  return verdicts.find(({ effect }) => effect === "ask") ?? verdicts[0] ?? { effect: "ask", because: "it is empty" };
}

function judgeOpaque(law: Law, command: string): Verdict {
  const rules = law.rules.filter((one) => isBash(one) && (one.pattern === "*" || one.effect !== "allow"));
  const special = rules.some(({ pattern, effect }) => pattern !== "*" && effect !== "allow");
  const exact = law.remembered.filter((one) => isBash(one) && (one.pattern === "*" || one.pattern === command));
  const verdict = judge({ ...law, rules, remembered: exact }, commandWish(command));
  if (verdict.effect !== "allow" || !special || exact.length > 0) return verdict;
  return { effect: "ask", because: "the command could hide one that the rules speak of" };
}

export const commandWish = (command: string): Wish => ({ actions: ["bash"], subject: command });

const isBash = ({ action }: { readonly action: string }): boolean => action === "bash" || action === "*";

function speaksOf(one: { readonly action: string; readonly pattern: string }, wish: Wish): boolean {
  const isMeant =
    one.action === "*" ? !wish.actions.some((action) => named.has(action)) : wish.actions.includes(one.action);
  return isMeant && matchesPattern({ pattern: one.pattern, text: wish.subject });
}

const ruleName = ({ action, pattern }: Rule): string =>
  pattern === "*" ? `the rule for ${action} says so` : `the rule ${action} "${pattern}" says so`;

function rule(action: string, effect: Effect): Rule {
  return { action, pattern: "*", effect };
}
