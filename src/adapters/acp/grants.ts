/**
 * What a person has allowed, for the calls that follow: an agent asks for an edit, and then has the client write the
 * file. A call whose permission was just granted is not asked about twice; anything else is.
 */

export interface Grants {
  /** What may be done once more, and the text that a person was shown of it. */
  readonly once: Map<string, { readonly left: number; readonly shown: readonly string[] }>;
}

export const startGrants = (): Grants => ({ once: new Map() });

export const pathGrant = (path: string): string => `write ${path}`;
export const commandGrant = (command: string): string => `run ${command.trim()}`;

export function grantOnce(grants: Grants, name: string, shown: readonly string[]): void {
  const before = grants.once.get(name);
  grants.once.set(name, { left: (before?.left ?? 0) + 1, shown });
}

/** Uses one grant up. What is written must contain what was shown. */
export function isGranted(grants: Grants, name: string, content: string): boolean {
  const once = grants.once.get(name);
  if (once === undefined || !once.shown.every((text) => content.includes(text))) return false;
  if (once.left === 1) grants.once.delete(name);
  else grants.once.set(name, { ...once, left: once.left - 1 });
  return true;
}

/** Permissions that were given once end with their turn. */
export function endGrants(grants: Grants): void {
  grants.once.clear();
}
