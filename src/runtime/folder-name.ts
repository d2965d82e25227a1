/** A session's id as the name of a folder: ids may hold anything, slashes and dots that lead elsewhere among it. */
import { hashHex } from "../core/hash.ts";

const NAME_LENGTH = 60;

/** A name to recognise the session by, and one that no other session has. */
export const folderName = (session: string): string =>
  `${session.replaceAll(/[^\w-]/g, "_").slice(0, NAME_LENGTH)}-${hashHex(session)}`;
