/** Finds the rule that applies to one part of an action: OpenCode's form, the last rule that matches wins. Pure. */
import type { PermissionRule } from "../protocol/requests.ts";
import type { InspectedPath } from "./inspection.ts";
import { matchesPattern } from "./wildcard.ts";

/** Permissions about a place or a repetition, not about a tool. A rule for the permission `*` does not include them. */
const namedPermissions: ReadonlySet<string> = new Set(["external_directory", "private_address", "doom_loop"]);

/** One part of an action as rules match it. */
export interface RuleSubject {
  /** Names of the permission: a rule for one of them applies. */
  readonly names: readonly string[];
  /** The real command, path or address in the forms a rule may have. Rules that allow match only these. */
  readonly texts: readonly string[];
  /** Other spellings of the same part. Rules that deny or ask match them too. */
  readonly spellings?: readonly string[];
}

/** Returns the last rule that matches, or null. */
export function findRule(
  rules: readonly PermissionRule[],
  { names, texts, spellings = [] }: RuleSubject,
): PermissionRule | null {
  const all = [...texts, ...spellings];
  const applies = ({ permission, pattern, action }: PermissionRule): boolean =>
    names.some((name) => coversName(permission, name)) &&
    (action === "allow" ? texts : all).some((text) => matchesPattern({ pattern, text }));
  return rules.findLast(applies) ?? null;
}

function coversName(permission: string, name: string): boolean {
  if (permission === name) return true;
  return !namedPermissions.has(name) && matchesPattern({ pattern: permission, text: name });
}

/** A path as rules match it: allowed as the real path, relative or absolute; denied as written too. */
export function pathSubject(
  { written, path, inside }: Pick<InspectedPath, "written" | "path" | "inside">,
  { names, directory }: { readonly names: readonly string[]; readonly directory: string },
): RuleSubject {
  const relative = (full: string): string[] =>
    full.startsWith(`${directory}/`) ? [full.slice(directory.length + 1)] : [];
  const texts = inside ? [...(path === directory ? ["."] : relative(path)), path] : [path];
  const plain = withoutDots(written);
  return { names, texts, spellings: [written, ...relative(written), plain, ...relative(plain)] };
}

/** The path without `.` and `..`: `src/../secret` is also compared as `secret`. */
function withoutDots(path: string): string {
  const names: string[] = [];
  for (const name of path.split("/")) {
    if (name === "." || (name === "" && names.length > 0)) continue;
    if (name === ".." && names.length > 0 && names.at(-1) !== "..") names.pop();
    else names.push(name);
  }
  return names.join("/");
}

/** OpenCode's names for the actions of all agents. */
const knownNames: readonly (readonly [name: string, others: readonly string[]])[] = [
  ["bash", ["bash", "shell", "exec", "execcommand", "commandexecution", "runcommand", "execute"]],
  ["edit", ["edit", "write", "multiedit", "notebookedit", "applypatch", "filechange", "patch"]],
  ["webfetch", ["webfetch", "fetch"]],
  ["read", ["read", "readfile"]],
];

/** Returns OpenCode's name for an action or tool of any agent, or the name itself. */
export function permissionOf(name: string): string {
  const plain = name.toLowerCase().replaceAll(/[^a-z0-9]/g, "");
  return knownNames.find(([, others]) => others.includes(plain))?.[0] ?? name;
}
