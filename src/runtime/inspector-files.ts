/**
 * The inspector's page and its assets, as the build packed them: one file, so that a new build under a running daemon
 * never mixes with the old one, and so that the package stays small.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { brotliDecompressSync } from "node:zlib";
import { packageFolder } from "./package-folder.ts";

/** Text by name: `index.html`, and `assets/…`. Null where nothing was built. */
export type InspectorFiles = ReadonlyMap<string, string>;

export function readInspector(file = join(packageFolder(), "dist", "inspector.br")): InspectorFiles | null {
  let packed: Buffer;
  try {
    packed = readFileSync(file);
  } catch {
    return null;
  }
  const files: Readonly<Record<string, string>> = JSON.parse(brotliDecompressSync(packed).toString("utf8"));
  return new Map(Object.entries(files));
}
