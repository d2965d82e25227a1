/** What comes of a host call: a body with status 200, or why not. */

export interface Answer {
  readonly status: number;
  readonly body: unknown;
}

export const done = (body: unknown): Answer => ({ status: 200, body });

export const refused = (status: number, message: string): Answer => ({ status, body: { message } });

/** What the system says, as an answer. */
export function failed(error: unknown): Answer {
  const missing = error instanceof Error && "code" in error && (error.code === "ENOENT" || error.code === "ENOTDIR");
  return refused(missing ? 404 : 500, error instanceof Error ? error.message : String(error));
}
