/** Which agent a session gets that names none: the rule for the command line, the API and OpenCode clients alike. */

/** What of an agent counts. */
export interface Candidate {
  readonly id: string;
  /** It can be started here. */
  readonly installed: boolean;
  readonly credentialsAvailable: boolean;
  /** It is a program of its own, not a part of Franca. */
  readonly isProgram: boolean;
}

/** Scripted answers for trying things out: never chosen while something real can be. */
export const MOCK = "mock";

/**
 * The only installed agent with credentials; null when there is none, or more than one to choose from. An installed
 * program comes before the builtin agent, which takes the same keys.
 */
export function onlyAgent(candidates: readonly Candidate[]): string | null {
  const ready = candidates.filter(
    ({ id, installed, credentialsAvailable }) => id !== MOCK && installed && credentialsAvailable,
  );
  const programs = ready.filter(({ isProgram }) => isProgram);
  const [only, another] = programs.length > 0 ? programs : ready;
  return only === undefined || another !== undefined ? null : only.id;
}
