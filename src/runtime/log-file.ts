/**
 * The log of a daemon in the background, kept small: beyond a size it moves on to `daemon.log.1`, `.2` and so on. Its
 * content is copied and the file is cut, because standard output and error of the daemon stay open on it.
 */
import { copyFileSync, existsSync, fstatSync, renameSync, rmSync, statSync, truncateSync, writeSync } from "node:fs";

export const LOG_MAX_BYTES = 10 * 1024 * 1024;
/** Former parts that are kept. */
export const LOG_KEPT_FILES = 5;

const STDERR = 2;

export interface LogFile {
  readonly write: (line: string) => void;
}

export interface LogFileOptions {
  readonly file: string;
  readonly maxBytes?: number;
  readonly descriptor?: number;
}

/** Null when standard error is not open on that file: nobody's file is cut by mistake. */
export function openLogFile({ file, maxBytes = LOG_MAX_BYTES, descriptor = STDERR }: LogFileOptions): LogFile | null {
  if (!isSame(file, descriptor)) return null;
  let size = fstatSync(descriptor).size;
  return {
    write(line) {
      const bytes = Buffer.from(line);
      try {
        if (size > 0 && size + bytes.length > maxBytes) {
          moveOn(file);
          size = 0;
        }
        writeSync(descriptor, bytes);
        size += bytes.length;
      } catch {
        // A line that cannot be written, on a full disk for example, is lost. The caller continues.
      }
    },
  };
}

function isSame(file: string, descriptor: number): boolean {
  const named = statSync(file, { throwIfNoEntry: false });
  const open = fstatSync(descriptor);
  return named?.isFile() === true && named.ino === open.ino && named.dev === open.dev;
}

function moveOn(file: string): void {
  rmSync(`${file}.${LOG_KEPT_FILES}`, { force: true });
  for (let part = LOG_KEPT_FILES - 1; part >= 1; part -= 1) {
    if (existsSync(`${file}.${part}`)) renameSync(`${file}.${part}`, `${file}.${part + 1}`);
  }
  // A copy has the rights of its original.
  copyFileSync(file, `${file}.1`);
  truncateSync(file);
}
