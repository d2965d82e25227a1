/**
 * Who sends a request, and what a route needs. Every route of every surface declares the access that it needs; a route
 * without a declaration is for the owner alone.
 */
import { ApiError } from "../../protocol/errors.ts";
import type { Action, CredentialSurface } from "../../protocol/tokens.ts";
import type { Credential } from "./credential.ts";

/** Needs a credential of this surface with this action. */
export interface LimitedAccess {
  readonly surface: CredentialSurface;
  readonly action: Action;
  /** Not for credentials that are limited to folders: what it returns is about all of them. */
  readonly everywhere?: true;
}

/** `open`: no credential is needed. `any`: whichever credential. `owner`: the daemon's token. */
export type Access = "open" | "any" | "owner" | LimitedAccess;

/** `owner`: a client with the token, another host of the log, or anyone on a daemon without a token. */
export type Caller =
  | { readonly type: "owner" }
  | { readonly type: "limited"; readonly credential: Credential; readonly ended: AbortSignal };

export const OWNER: Caller = { type: "owner" };

/** Throws unless the caller may use a route. */
export function checkAccess(access: Access, caller: Caller): void {
  if (caller.type === "owner" || access === "open" || access === "any") return;
  const { credential } = caller;
  if (access === "owner") throw refused(`A ${nameOf(credential)} may not do this; it needs the owner's token.`);
  const { surface, action, everywhere = false } = access;
  if (credential.surface !== surface) {
    throw refused(`A ${nameOf(credential)} is for the ${credential.surface} API only; this route needs ${surface}.`);
  }
  if (!credential.actions.includes(action)) {
    throw refused(`This ${nameOf(credential)} does not allow the action \`${action}\`.`);
  }
  if (everywhere && credential.folders !== null) {
    throw refused(`This ${nameOf(credential)} is limited to folders, and this route is about all of them.`);
  }
}

const nameOf = ({ kind }: Credential): string => `credential of kind ${kind}`;

const refused = (why: string): ApiError => new ApiError("person_only", why);
