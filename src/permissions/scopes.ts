/**
 * Scopes of an "always" answer: the exact command or file, and the broader scopes that a user can choose. A scope is
 * matched against the real action, never against the agent's suggestion. Pure.
 */
import type { InspectedCommand, InspectedPath, Inspection, RequestedAction } from "./inspection.ts";
import { permissionOf } from "./rules.ts";

/** What a session remembers of an "always" answer. */
export interface RememberedScope {
  /** OpenCode's name of the permission: `bash`, `edit`, `external_directory`, … */
  readonly permission: string;
  /**
   * `exact`: the same command line, file, address or tool. `prefix`: the command with any further arguments. `below`:
   * the folder and every file in it.
   */
  readonly match: "exact" | "prefix" | "below";
  readonly pattern: string;
  /** Working folder of an exact command, if it is not the session's folder. */
  readonly directory?: string | undefined;
}

/** A scope as it is offered to users. */
export interface Scope {
  /** Identifies the scope in a reply and shows what it covers. */
  readonly pattern: string;
  readonly label: string;
  readonly remembers: readonly RememberedScope[];
}

export interface ScopedAction {
  /** Names of the request: the action, then the tool if it has another name. */
  readonly names: readonly string[];
  readonly action: RequestedAction;
  readonly inspection: Inspection | null;
  readonly directory: string;
}

/** Returns the scope of exactly this action, or null if it has to be asked about every time. */
export function exactScope({ names, action, inspection }: ScopedAction): Scope | null {
  const permission = permissionOf(names[0] ?? "");
  if (changesProtectedFile(inspection)) return null;
  switch (action.kind) {
    case "command":
      return {
        pattern: action.command,
        label: "This exact command",
        remembers: [{ permission, match: "exact", pattern: action.command, directory: action.directory }],
      };
    case "paths": {
      const paths = inspection?.paths ?? [];
      if (paths.length === 0) return null;
      const shown = paths.map(({ written }) => written).join(", ");
      const remembers = paths.map(({ path }) => ({ permission, match: "exact", pattern: path }) as const);
      return { pattern: shown, label: paths.length === 1 ? "This file" : "These files", remembers };
    }
    case "url":
      return {
        pattern: action.url,
        label: "This address",
        remembers: [{ permission, match: "exact", pattern: action.url }],
      };
    case "tool":
      return { pattern: permission, label: "This tool", remembers: [{ permission, match: "exact", pattern: "*" }] };
    case "unknown":
      return null;
    default:
      return unreachable(action);
  }
}

const unreachable = (action: never): never => {
  throw new Error(`There is no action ${JSON.stringify(action)}.`);
};

/** Returns the broader scopes that can be offered for the action, the narrowest first. */
export function broaderScopes(_action: ScopedAction): readonly Scope[] {
  return [];
}

const changesProtectedFile = (inspection: Inspection | null): boolean =>
  (inspection?.paths ?? []).some(({ access, runsCode }) => runsCode && access !== "read");

/** Whether an exact scope covers the whole action, including what the parser did not understand. */
export function coversAction(
  remembered: readonly RememberedScope[],
  { names, action, inspection }: ScopedAction,
): boolean {
  if (inspection === null || changesProtectedFile(inspection)) return false;
  const permission = permissionOf(names[0] ?? "");
  const isExact = (pattern: string, directory?: string): boolean =>
    remembered.some(
      (one) =>
        one.match === "exact" &&
        one.permission === permission &&
        one.pattern === pattern &&
        one.directory === directory,
    );
  if (action.kind === "command") return isExact(action.command, action.directory);
  if (action.kind === "url") return isExact(action.url);
  return action.kind === "tool" && isExact("*");
}

/** Whether a broader scope covers one command of a command line. */
export function coversCommand(remembered: readonly RememberedScope[], { text }: InspectedCommand): boolean {
  return remembered.some(
    ({ permission, match, pattern }) =>
      permission === "bash" && match === "prefix" && (text === pattern || text.startsWith(`${pattern} `)),
  );
}

/** Whether a scope covers a path for one of the permissions. Files that run code are never covered. */
export function coversPath(
  remembered: readonly RememberedScope[],
  { path, names }: { readonly path: InspectedPath; readonly names: readonly string[] },
): boolean {
  if (path.runsCode && path.access !== "read") return false;
  const permissions = names.map(permissionOf);
  return remembered.some(({ permission, match, pattern }) => {
    if (!permissions.includes(permission) || match === "prefix") return false;
    return path.path === pattern || (match === "below" && path.path.startsWith(`${pattern}/`));
  });
}
