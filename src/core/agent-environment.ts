/** What of the user's environment belongs to an agent: variables for its processes, and what lets it log in. */

/** Variables of Franca's own environment, by their names or by how their names begin. */
export interface AgentEnvironment {
  readonly names?: readonly string[];
  readonly prefixes?: readonly string[];
}

/** One of these suffices to run. */
export interface Credentials {
  readonly variables: readonly string[];
  /** Below HOME. */
  readonly files: readonly string[];
}

export interface OwnVariables {
  readonly environment?: AgentEnvironment;
  readonly credentials?: Credentials;
}

/** Whether a variable is the agent's own. */
export function variablesOf({ environment, credentials }: OwnVariables): (name: string) => boolean {
  const names = new Set([...(environment?.names ?? []), ...(credentials?.variables ?? [])]);
  const prefixes = environment?.prefixes ?? [];
  return (name) => names.has(name) || prefixes.some((prefix) => name.startsWith(prefix));
}
