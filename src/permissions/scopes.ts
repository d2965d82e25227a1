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
export function broaderScopes(scoped: ScopedAction): readonly Scope[] {
  const { names, action, inspection, directory } = scoped;
  if (inspection === null || inspection.opaque !== null || changesProtectedFile(inspection)) return [];
  const permission = permissionOf(names[0] ?? "");
  if (action.kind === "command") return commandScopes(inspection);
  if (action.kind === "url") {
    const origin = /^https?:\/\/[^/?#\\@\s]+(?=\/)/i.exec(action.url)?.[0];
    if (origin === undefined) return [];
    const remembers = [{ permission, match: "below", pattern: origin } as const];
    return [{ pattern: `${origin}/*`, label: `Every page of ${origin}`, remembers }];
  }
  if (action.kind !== "paths" || inspection.paths.length === 0) return [];
  const isInside = inspection.paths.every(({ inside }) => inside);
  const folders = isInside
    ? [directory]
    : [...new Set(inspection.paths.map(({ path }) => path.replace(/\/[^/]*$/, "")))];
  if (folders.includes("")) return [];
  const below = folders.map((pattern) => ({ permission, match: "below", pattern }) as const);
  const label = isInside ? "Every file in the folder" : `Every file in ${folders.join(", ")}`;
  return [{ pattern: folders.map((folder) => `${folder}/*`).join(", "), label, remembers: below }];
}

function commandScopes({ commands, paths }: Inspection): readonly Scope[] {
  if (commands.length === 0 || paths.some(({ access, inside }) => access === "write" || !inside)) return [];
  const prefixes = commands.map(({ text }) => prefixOf(text));
  const known = [...new Set(prefixes.flatMap((prefix) => (prefix === null ? [] : [prefix])))];
  if (prefixes.includes(null)) return [];
  const label = known.map((prefix) => `${prefix} with any arguments`).join(", ");
  const remembers = known.map((pattern) => ({ permission: "bash", match: "prefix", pattern }) as const);
  return [{ pattern: known.map((prefix) => `${prefix} *`).join(", "), label, remembers }];
}

const prefixOf = (text: string): string | null =>
  harmlessPrefixes.find(({ prefix, except }) => hasPrefix(text, prefix) && !hasOption(text, except))?.prefix ??
  projectCommand.exec(text)?.[0] ??
  null;

const hasPrefix = (text: string, prefix: string): boolean => text === prefix || text.startsWith(`${prefix} `);

const hasOption = (text: string, except: RegExp | null): boolean =>
  except !== null && text.split(/\s/).some((word) => except.test(word));

// Programs accept the start of a long option, so the expressions match those too.
const gitOutput = /^--(ou|ext|textc|show-s|open)|^-O|%G/;

/** Commands that run no other code and write no file, except with the options named here. */
const harmlessPrefixes: readonly { readonly prefix: string; readonly except: RegExp | null }[] = [
  ...[
    "git status",
    "git log",
    "git diff",
    "git show",
    "git blame",
    "git shortlog",
    "git ls-files",
    "git rev-parse",
  ].map((prefix) => ({ prefix, except: gitOutput })),
  ...(
    "ls pwd cat head tail wc stat du df cut nl tac rev comm cmp diff basename dirname realpath readlink which whoami id " +
    "uname true false echo grep egrep fgrep md5sum sha1sum sha256sum cd jq"
  )
    .split(" ")
    .map((prefix) => ({ prefix, except: null })),
  { prefix: "date", except: /^(-\w*s|--s)/ },
  { prefix: "rg", except: /^(--(pre|hostname|search-zip)|-\w*z)/ },
];

/** Commands that run code of the project. A user can allow them with any arguments. */
const projectCommand = new RegExp(
  `^(?:${[
    "(?:npm|pnpm|yarn|bun) (?:run [\\w:.-]+|test|build|lint|typecheck)",
    "cargo (?:test|build|check|clippy|fmt|bench|doc)",
    "go (?:test|build|vet)",
    "(?:make|just)(?: [\\w.-]+)?",
    "(?:mvn|gradle|\\./gradlew|\\./mvnw|dotnet|swift|mix) (?:test|build|check)",
    "deno (?:test|lint|check|task [\\w:.-]+)",
    "(?:pytest|tox|tsc|eslint|ruff|vitest|jest|mypy|rspec|phpunit)",
  ].join("|")})(?= |$)`,
);

const changesProtectedFile = (inspection: Inspection | null): boolean =>
  (inspection?.paths ?? []).some(({ access, runsCode }) => runsCode && access !== "read");

/** Whether a scope covers the whole action. An exact scope also covers what the parser did not understand. */
export function coversAction(
  remembered: readonly RememberedScope[],
  { names, action, inspection }: ScopedAction,
): boolean {
  if (inspection === null || changesProtectedFile(inspection)) return false;
  const permission = permissionOf(names[0] ?? "");
  const own = remembered.filter((one) => one.permission === permission);
  switch (action.kind) {
    case "command":
      return own.some(
        ({ match, pattern, directory }) =>
          match === "exact" && pattern === action.command && directory === action.directory,
      );
    case "url":
      return own.some(
        ({ match, pattern }) => pattern === action.url || (match === "below" && action.url.startsWith(`${pattern}/`)),
      );
    case "tool":
      return own.some(({ match, pattern }) => match === "exact" && pattern === "*");
    case "paths":
    case "unknown":
      return false;
    default:
      return unreachable(action);
  }
}

/** Whether a broader scope covers one command of a command line. */
export const coversCommand = (remembered: readonly RememberedScope[], { text }: InspectedCommand): boolean =>
  remembered.some(
    ({ permission, match, pattern }) => permission === "bash" && match === "prefix" && prefixOf(text) === pattern,
  );

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
