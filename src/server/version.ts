/** The version of this package, read from its manifest: code runs from `src`, from `dist` and from chunks below it. */
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const version: string = findVersion(dirname(fileURLToPath(import.meta.url)));

function findVersion(folder: string): string {
  const found = versionIn(join(folder, "package.json"));
  if (found !== null) return found;
  const parent = dirname(folder);
  return parent === folder ? "unknown" : findVersion(parent);
}

function versionIn(file: string): string | null {
  try {
    const manifest: unknown = JSON.parse(readFileSync(file, "utf8"));
    if (typeof manifest !== "object" || manifest === null) return null;
    return "name" in manifest && manifest.name === "franca" && "version" in manifest ? String(manifest.version) : null;
  } catch {
    // Most folders on the way up have no manifest.
    return null;
  }
}
