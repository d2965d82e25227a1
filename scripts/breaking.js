/** Hand-made bugs: sources with one text replaced, as esbuild reads them. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "./ensure.js";

/** A plugin for esbuild that puts one bug into the bundle. */
export function breaking({ file, from, to }) {
  const path = join(root, file);
  const source = readFileSync(path, "utf8");
  if (source.split(from).length !== 2) throw new Error(`${file}: the text to break is not there once`);
  return {
    name: "breaking",
    setup(work) {
      work.onLoad({ filter: /\.ts$/ }, (loaded) =>
        loaded.path === path ? { contents: source.replace(from, () => to), loader: "ts" } : undefined,
      );
    },
  };
}
