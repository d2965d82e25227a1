/** Whether a path that a caller named is a directory. One that the system cannot even look up is none. */
import { statSync } from "node:fs";

export function isDirectory(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    // Not there, too long, a circle of links, not ours to see, or with a NUL byte, which no path has.
    return false;
  }
}
