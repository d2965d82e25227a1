/** Cursors of lists: opaque to clients, and refused when they are not ours. */
import * as z from "zod";
import { ApiError } from "../../protocol/errors.ts";

const Cursor = z.object({
  id: z.string().max(200),
  order: z.enum(["asc", "desc"]),
  direction: z.enum(["next", "previous"]),
});
export type Cursor = z.infer<typeof Cursor>;

/** Null where there is nothing to go on from. */
export const cursorOf = (id: string | undefined, rest: Omit<Cursor, "id">): string | null =>
  id === undefined ? null : Buffer.from(JSON.stringify({ id, ...rest })).toString("base64url");

export function readCursor(text: string): Cursor {
  try {
    return Cursor.parse(JSON.parse(Buffer.from(text, "base64url").toString("utf8")));
  } catch (cause) {
    throw new ApiError("invalid_request", `${JSON.stringify(text.slice(0, 100))} is no cursor of this list.`, {
      cause,
    });
  }
}
