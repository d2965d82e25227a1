/**
 * Actions that users have allowed for the rest of the session ("always"). Franca remembers them itself: agents are only
 * ever allowed one action at a time. Pure.
 */
import type { Inspection, RequestedAction } from "../permissions/inspection.ts";
import type { Permission } from "../protocol/events.ts";
import { type RulePolicy, replyByRules } from "./permission-rules.ts";

/** Maximum number of remembered answers. The oldest are forgotten first, and users are asked again. */
const MAX_GRANTS = 500;

export interface Grant {
  readonly action: string;
  readonly tool: string | null;
  /** The exact action. */
  readonly patterns: readonly string[];
  /** Working folder of a command, if it is not the session's. */
  readonly directory: string | null;
  /** The broader pattern that the user chose instead of the exact action, or null. */
  readonly scope: string | null;
}

export interface Request {
  readonly action: string;
  readonly tool: string | null;
  readonly requested: RequestedAction;
  readonly inspection: Inspection | null;
}

/** What "always" remembers without a scope, or null where nothing identifies the action. */
export function exactGrant(request: Request): Grant | null {
  const { action, tool, requested } = request;
  const patterns = patternsOf(request);
  if (patterns.length === 0) return null;
  const directory = requested.kind === "command" ? (requested.directory ?? null) : null;
  return { action, tool, patterns, directory, scope: null };
}

/** The exact action in words: the whole command, the files, the address or the name of the tool. */
export function patternsOf({ action, tool, requested, inspection }: Request): readonly string[] {
  switch (requested.kind) {
    case "command":
      return [requested.command];
    case "paths":
      // Real paths: users must see where a symlink leads, and it may lead elsewhere the next time.
      return inspection === null ? requested.paths : inspection.paths.map(({ path }) => path);
    case "url":
      return [requested.url];
    case "tool":
      return [tool ?? action];
    case "unknown":
      return [];
  }
}

/** Whether users have allowed this action before. Without its inspection it is never recognized. */
export function isGranted(grants: readonly Grant[], request: Request, { directory }: RulePolicy): boolean {
  const exact = request.inspection === null ? null : exactGrant(request);
  if (exact === null) return false;
  return grants.some((grant) => {
    if (grant.action !== exact.action || grant.tool !== exact.tool) return false;
    if (grant.scope === null) return isSame(grant, exact);
    return isInScope(grant.scope, request, directory);
  });
}

const isSame = (one: Grant, other: Grant): boolean =>
  one.directory === other.directory &&
  one.patterns.length === other.patterns.length &&
  one.patterns.every((pattern, index) => pattern === other.patterns[index]);

/** Decided as an allow rule of that pattern would be, so that a scope never allows more than such a rule. */
function isInScope(pattern: string, request: Request, directory: string): boolean {
  const rule = { permission: request.action, pattern, action: "allow" } as const;
  return replyByRules({ rules: [rule], directory }, request) === "allow";
}

export const addGrant = (grants: readonly Grant[], grant: Grant): readonly Grant[] => [
  ...grants.slice(1 - MAX_GRANTS),
  grant,
];

/** The grant that a resolved request stands for, as its event tells it; null if it was not allowed for the session. */
export function grantIn({ action, status, metadata }: Permission): Grant | null {
  const { tool, patterns, scope = null, directory, delegate } = metadata;
  if (status !== "accept_for_session" || patterns.length === 0 || delegate !== undefined) return null;
  return { action, tool, patterns, scope, directory: typeof directory === "string" ? directory : null };
}
