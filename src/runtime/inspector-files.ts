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
  const bytes = brotliDecompressSync(packed);
  let at = bytes.indexOf("\n");
  const lengths: readonly (readonly [string, number])[] = JSON.parse(bytes.toString("utf8", 0, at));
  at += 1;
  const files = new Map<string, string>();
  for (const [name, length] of lengths) {
    files.set(name, bytes.toString("utf8", at, at + length));
    at += length;
  }
  return files;
}
