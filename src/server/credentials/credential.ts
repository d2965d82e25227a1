/**
 * A credential: what a client other than the owner may do. The owner holds the daemon's token and may do everything.
 * Every other client (a page, an agent that delegates, a program that Franca starts) holds a credential with limits.
 */
import { realpathSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { ApiError } from "../../protocol/errors.ts";
import type { Action, CredentialKind, CredentialSurface } from "../../protocol/tokens.ts";
import { isInside } from "../../runtime/confine.ts";
import type { ProcessIdentity } from "../../runtime/process-identity.ts";

export interface Grant {
  readonly kind: CredentialKind;
  readonly surface: CredentialSurface;
  /** Folders whose sessions and files it gives access to; null: all. */
  readonly folders: readonly string[] | null;
  /** Ids of further sessions, wherever they work. */
  readonly sessions: readonly string[];
  readonly actions: readonly Action[];
  /** Milliseconds since the epoch; null: valid until it is revoked. */
  readonly expiresAt: number | null;
  /** The credential ends with this process. */
  readonly process: ProcessIdentity | null;
}

export interface Credential extends Grant {
  /** Derived from the secret, which cannot be computed from it. */
  readonly id: string;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
}

/** Whether a path is in a folder of the credential. Symbolic links are resolved on both sides. */
export const holdsFolder = ({ folders }: Pick<Grant, "folders">, path: string): boolean =>
  folders === null || folders.some((folder) => isInside({ directory: realPath(folder), path: realPath(path) }));

/** The real path; of a path that does not exist, the real path of its nearest existing parent, with the rest. */
export function realPath(path: string): string {
  const absolute = resolve(path);
  try {
    return realpathSync(absolute);
  } catch {
    const parent = dirname(absolute);
    return parent === absolute ? absolute : join(realPath(parent), basename(absolute));
  }
}

export const ownerOnly = (what: string): ApiError =>
  new ApiError("person_only", `${what} needs the owner's token; this credential does not allow it.`);
