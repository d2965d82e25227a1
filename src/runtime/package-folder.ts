/** Where this package is installed: code runs from `src`, from `dist` and from chunks below it. */
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

interface Manifest {
  readonly folder: string;
  readonly version: string;
}

const manifest = findManifest(dirname(fileURLToPath(import.meta.url)));

export const packageFolder = (): string => manifest.folder;
export const packageVersion = (): string => manifest.version;

function findManifest(folder: string): Manifest {
  const version = versionIn(join(folder, "package.json"));
  if (version !== null) return { folder, version };
  const parent = dirname(folder);
  return parent === folder ? { folder, version: "unknown" } : findManifest(parent);
}

function versionIn(file: string): string | null {
  try {
    const parsed: unknown = JSON.parse(readFileSync(file, "utf8"));
    if (typeof parsed !== "object" || parsed === null) return null;
    return "name" in parsed && parsed.name === "franca" && "version" in parsed ? String(parsed.version) : null;
  } catch {
    // Most folders on the way up have no manifest.
    return null;
  }
}
