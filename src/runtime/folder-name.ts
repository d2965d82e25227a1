/** A session's id as the name of a folder: ids may hold any character, including slashes and dots. */
import { hashHex } from "../core/hash.ts";

const NAME_LENGTH = 60;

/** Readable, and different for every session. */
export const folderName = (session: string): string =>
  `${session.replaceAll(/[^\w-]/g, "_").slice(0, NAME_LENGTH)}-${hashHex(session)}`;
