/** Bundles one TypeScript program of this repository on the fly and gives its path: Node 20 runs no TypeScript. */
import { join } from "node:path";
import { build } from "esbuild";
import { root } from "./ensure.js";

/** `plugins`: esbuild's; `name`: of the file, where it is not the usual one. */
export async function bundle(entry, { plugins = [], name } = {}) {
  // Below node_modules, so that packages left outside the bundle are found.
  const outfile = join(
    root,
    "node_modules",
    ".cache",
    "franca",
    `${name ?? entry.replaceAll("/", "-").replace(/\.ts$/, "")}.js`,
  );
  await build({
    absWorkingDir: root,
    entryPoints: [entry],
    outfile,
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node20",
    packages: "external",
    plugins,
    sourcemap: "inline",
    logLevel: "warning",
  });
  return outfile;
}
