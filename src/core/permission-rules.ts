/**
 * Rules that answer a permission before a person is asked, in OpenCode's form: the last rule that matches wins. Agents
 * that know such rules are given them; for the others the turn machine answers by them. Pure.
 */

import { runsCode } from "../permissions/protected-files.ts";
import type { PermissionRule } from "../protocol/resources.ts";

export interface RulePolicy {
  readonly rules: readonly PermissionRule[];
  /** What relative paths are relative to. */
  readonly directory: string;
}

export const noRules: RulePolicy = { rules: [], directory: "" };

interface Asked {
  readonly action: string;
  readonly tool: string | null;
  readonly patterns: readonly string[];
}

/** Null where a person has to be asked. */
export function replyByRules({ rules, directory }: RulePolicy, asked: Asked): "allow" | "deny" | null {
  if (rules.length === 0) return null;
  const names = [...new Set([asked.action, asked.tool ?? asked.action].flatMap((name) => [name, permissionOf(name)]))];
  const patterns = asked.patterns.length === 0 ? ["*"] : asked.patterns;
  const isCommand = names.includes("bash");
  const found = patterns.map((pattern) => {
    if (isCommand) return commandReply(rules, { names, command: pattern });
    return pathReply(rules, { names, path: pattern, directory });
  });
  if (found.includes("deny")) return "deny";
  return found.every((one) => one === "allow") ? "allow" : null;
}

type Action = PermissionRule["action"] | null;

/** A rule names one command: what joins several of them, or hides one in another, is judged by each of its pieces. */
function commandReply(
  rules: readonly PermissionRule[],
  { names, command }: { names: readonly string[]; command: string },
): Action {
  const whole = lastRule(rules, { names, values: [command] });
  const pieces = command.split(/[;&|\n\r`()<>{}]|\$\(/).map((piece) => piece.trim());
  const parts = pieces.filter((piece) => piece !== "").map((piece) => lastRule(rules, { names, values: [piece] }));
  if (whole?.action === "deny" || parts.some((rule) => rule?.action === "deny")) return "deny";
  if (pieces.length === 1) return whole?.action ?? null;
  return whole?.action === "allow" && whole.pattern === "*" ? "allow" : "ask";
}

function pathReply(
  rules: readonly PermissionRule[],
  { names, path, directory }: { names: readonly string[]; path: string; directory: string },
): Action {
  const inside = directory !== "" && path.startsWith(`${directory}/`) ? [path.slice(directory.length + 1)] : [];
  const rule = lastRule(rules, { names, values: [path, ...inside] });
  if (rule === null || rule.action !== "allow") return rule?.action ?? null;
  // Files that run code need more than a rule for edits: only one that allows everything covers them.
  const covers = rule.permission === "*" && rule.pattern === "*";
  const isProtected = names.includes("edit") && runsCode(path, { directory, home: null });
  return isProtected && !covers ? "ask" : "allow";
}

export function deniesQuestions({ rules }: RulePolicy): boolean {
  return lastRule(rules, { names: ["question"], values: ["*"] })?.action === "deny";
}

function lastRule(
  rules: readonly PermissionRule[],
  { names, values }: { names: readonly string[]; values: readonly string[] },
): PermissionRule | null {
  const fits = ({ permission, pattern }: PermissionRule): boolean =>
    names.some((name) => isMatch(permission, name)) && values.some((value) => isMatch(pattern, value));
  return rules.findLast(fits) ?? null;
}

/** OpenCode's names for what agents ask about. */
const known: readonly (readonly [name: string, others: readonly string[]])[] = [
  ["bash", ["bash", "shell", "exec", "execcommand", "commandexecution", "runcommand", "execute"]],
  ["edit", ["edit", "write", "multiedit", "notebookedit", "applypatch", "filechange", "patch"]],
  ["webfetch", ["webfetch", "fetch"]],
  ["read", ["read", "readfile"]],
];

function permissionOf(name: string): string {
  const plain = name.toLowerCase().replaceAll(/[^a-z0-9]/g, "");
  return known.find(([, others]) => others.includes(plain))?.[0] ?? name;
}

/** What every agent that asks at all asks about, in its default mode; or what only OpenCode has. */
const askedAbout: readonly string[] = ["bash", "edit", "question", "doom_loop", "plan_enter", "plan_exit"];

/** Rules that nobody but the agent itself could keep: it does what they forbid without asking. */
export const unkeepable = (rules: readonly PermissionRule[]): readonly PermissionRule[] =>
  rules.filter(({ permission, action }) => action !== "allow" && !askedAbout.includes(permissionOf(permission)));

const TEXT_LIMIT = 10_000;

/** `*` is any characters, `?` is one; `git *` is also `git`. What is too long to compare matches nothing. */
function isMatch(pattern: string, text: string): boolean {
  if (pattern === "*" || pattern === text) return true;
  if (pattern.endsWith(" *") && isMatch(pattern.slice(0, -2), text)) return true;
  return text.length <= TEXT_LIMIT && matchesFrom(pattern, text);
}

/** After a mismatch it goes on from the last `*` alone: the cost is bounded by the two lengths. */
function matchesFrom(pattern: string, text: string): boolean {
  let at = 0;
  let star = -1;
  let from = 0;
  let index = 0;
  while (index < text.length) {
    if (pattern[at] === "*") {
      star = at;
      from = index;
      at += 1;
    } else if (at < pattern.length && (pattern[at] === "?" || pattern[at] === text[index])) {
      at += 1;
      index += 1;
    } else if (star === -1) return false;
    else {
      at = star + 1;
      from += 1;
      index = from;
    }
  }
  while (pattern[at] === "*") at += 1;
  return at === pattern.length;
}
