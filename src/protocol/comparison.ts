/** Which comparison a session belongs to: `franca compare` writes it into the session's metadata, clients read it. */
export interface Comparison {
  readonly id: string;
  /** The agent as the person wrote it, counted where it was written twice. */
  readonly name: string;
  /** In the order in which they were named, from 0. */
  readonly position: number;
}

export const comparisonMetadata = (comparison: Comparison): Record<string, unknown> => ({ compare: comparison });

export function comparisonOf(metadata: Readonly<Record<string, unknown>> | undefined): Comparison | null {
  const value = metadata?.compare;
  if (typeof value !== "object" || value === null || !("id" in value && "name" in value && "position" in value)) {
    return null;
  }
  const { id, name, position } = value;
  if (typeof id !== "string" || typeof name !== "string" || typeof position !== "number") return null;
  return { id, name, position };
}
