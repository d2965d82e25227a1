/** What went wrong with a file of the data folder, to what, and what to do next: by SQLite's codes or the system's. */
import { ApiError } from "../protocol/errors.ts";

/** SQLite's primary result codes that say what to do. */
const FULL = 13;
const READ_ONLY = 8;
const CANNOT_OPEN = 14;
const CORRUPT = 11;
const NOT_A_DATABASE = 26;
const BUSY = 5;
const LOCKED = 6;

/** What went wrong, to what, and what to do next. */
export function storageError(file: string, error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  const cause = error instanceof Error ? error : new Error(String(error));
  return new ApiError("storage_error", `${adviceFor(file, codeOf(cause))} (${cause.message})`, { cause });
}

/** Whether SQLite found that the file is damaged. With a damaged header it may not look like a database any more. */
export const isDamaged = (error: unknown): boolean =>
  error instanceof Error && [CORRUPT, NOT_A_DATABASE].includes(codeOf(error) ?? 0);

const codeOf = (error: Error): number | null =>
  "errcode" in error && typeof error.errcode === "number" ? error.errcode & 0xff : codeIn(error.message);

function adviceFor(file: string, code: number | null): string {
  switch (code) {
    case FULL:
      return `There is no room left for ${file}: free some space or delete sessions, then it goes on by itself.`;
    case READ_ONLY:
    case CANNOT_OPEN:
      return `${file} cannot be written: make the file and its folder writable, or choose another data folder.`;
    case CORRUPT:
    case NOT_A_DATABASE:
      return `${file} is damaged or is no Franca log: start Franca again, and what can be read is copied into a new file.`;
    case BUSY:
    case LOCKED:
      return `${file} is held by another process that is writing: try again.`;
    default:
      return `${file} could not be read or written.`;
  }
}

/** Not every driver gives the number; the words are SQLite's own, or the system's. */
function codeIn(message: string): number | null {
  if (/disk is full|ENOSPC|EDQUOT/i.test(message)) return FULL;
  if (/readonly database|EROFS|EACCES|EPERM|ENOTDIR/i.test(message)) return READ_ONLY;
  if (/unable to open/i.test(message)) return CANNOT_OPEN;
  if (/malformed/i.test(message)) return CORRUPT;
  if (/not a database/i.test(message)) return NOT_A_DATABASE;
  if (/is locked/i.test(message)) return BUSY;
  return null;
}
