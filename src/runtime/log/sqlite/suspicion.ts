/**
 * A large log is not checked whole when it is opened. When damage shows while it is read, an empty file beside it makes
 * the next start check everything, and salvage it.
 */
import { existsSync, rmSync, writeFileSync } from "node:fs";

const markOf = (file: string): string => `${file}.suspect`;

export const isSuspect = (file: string): boolean => existsSync(markOf(file));

export const clearSuspicion = (file: string): void => rmSync(markOf(file), { force: true });

export function suspect(file: string): void {
  try {
    writeFileSync(markOf(file), "", { mode: 0o600 });
  } catch {
    // The error that showed the damage is reported in any case.
  }
}
