/**
 * What users have allowed for the rest of the session ("always"). Franca remembers it itself: agents are only ever
 * allowed one action at a time. Pure.
 */
import type { RememberedScope, Scope } from "../permissions/scopes.ts";
import type { Permission } from "../protocol/events.ts";

/** What an "always" can mean for a request. */
export interface Scopes {
  /** Null if the action has to be asked about every time. */
  readonly exact: Scope | null;
  readonly broader: readonly Scope[];
}

export const noScopes: Scopes = { exact: null, broader: [] };

/** Maximum number of remembered scopes. The oldest are forgotten first, and users are asked again. */
const MAX_REMEMBERED = 500;

export function remember(
  known: readonly RememberedScope[],
  added: readonly RememberedScope[],
): readonly RememberedScope[] {
  const isAdded = (one: RememberedScope): boolean => added.some((other) => isSame(one, other));
  return [...known.filter((one) => !isAdded(one)), ...added].slice(-MAX_REMEMBERED);
}

const isSame = (one: RememberedScope, other: RememberedScope): boolean =>
  one.permission === other.permission &&
  one.match === other.match &&
  one.pattern === other.pattern &&
  one.directory === other.directory;

/** The scopes that a resolved request added; none if it was not allowed for the session. */
export const rememberedIn = ({ status, metadata }: Permission): readonly RememberedScope[] =>
  status === "accept_for_session" ? (metadata.remembered ?? []) : [];
