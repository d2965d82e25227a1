/** Cursors of lists: opaque to clients, and refused when they are not ours. */
import * as z from "zod";
import type { OpenCodeAnswer, OpenCodeCall } from "./route.ts";

const Cursor = z.object({
  id: z.string().max(200),
  order: z.enum(["asc", "desc"]),
  direction: z.enum(["next", "previous"]),
});
export type Cursor = z.infer<typeof Cursor>;

/** Null where there is nothing to go on from. */
export const cursorOf = (id: string | undefined, rest: Omit<Cursor, "id">): string | null =>
  id === undefined ? null : Buffer.from(JSON.stringify({ id, ...rest })).toString("base64url");

/** Where in a list a request is, and in which order; an answer where the cursor is none of ours. */
export function placeIn({ query: { cursor, order } }: Pick<OpenCodeCall, "query">): Place | OpenCodeAnswer {
  if (cursor === undefined) return { given: null, order: order === "asc" ? "asc" : "desc" };
  if (order !== undefined) return invalidCursor("A cursor has its order already: send it without one.");
  const given = readCursor(cursor);
  return given === null ? invalidCursor("Invalid cursor") : { given, order: given.order };
}

export interface Place {
  readonly given: Cursor | null;
  readonly order: "asc" | "desc";
}

const invalidCursor = (message: string): OpenCodeAnswer => ({
  json: { _tag: "InvalidCursorError", message },
  status: 400,
});

function readCursor(text: string): Cursor | null {
  try {
    return Cursor.parse(JSON.parse(Buffer.from(text, "base64url").toString("utf8")));
  } catch {
    return null;
  }
}
