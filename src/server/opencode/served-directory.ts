/** Which directories files are served from: those of sessions, and trusted ones. Any other stays as if unknown. */
import { realpath } from "node:fs/promises";
import { sep } from "node:path";
import { ApiError } from "../../protocol/errors.ts";
import { allSessions } from "../../runtime/session/every-session.ts";
import type { OpenCodeCall } from "./route.ts";

/** The directory of a request, without links. */
export async function servedDirectory({ directory, sessions }: OpenCodeCall): Promise<string> {
  const base = await realpath(directory).catch(() => {
    throw new ApiError("directory_not_found", `The directory ${directory} does not exist.`);
  });
  if (sessions.trust.isTrusted(base)) return base;
  const used = await Promise.all((await allSessions(sessions)).map((one) => realpath(one.directory).catch(() => null)));
  if (used.some((known) => known !== null && isWithin(base, known))) return base;
  throw new ApiError(
    "folder_not_trusted",
    `${directory} is neither a session's directory nor trusted: franca trust add ${directory}`,
  );
}

export const isWithin = (path: string, folder: string): boolean =>
  path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep);
