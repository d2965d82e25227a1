/**
 * Builds dist/: the CLI and the server for Node (split into chunks, so that a command loads only what it needs),
 * the SDK, the protocol and the rules for any runtime, and their types. `--no-types` leaves the types out.
 */
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";
import { builtStamp, root, run, tool } from "./ensure.js";

const dist = join(root, "dist");

/** Chunks of former builds are kept this long, because a daemon that still runs may yet load one. */
const OLD_CHUNK_MS = 3_600_000;

// Few modules to open make a quick start, so most packages are bundled. These are not: native code, packages that
// load files beside themselves, and the model SDKs, which only the builtin agent loads.
const external = ["@photostructure/sqlite", "ai", "@ai-sdk/*", "jiti", "esbuild", "vitest"];

// Bundled CommonJS packages call `require` for Node's own modules.
const requireBanner =
  'import { createRequire as __createRequire } from "node:module"; const require = __createRequire(import.meta.url);';

const shared = {
  absWorkingDir: root,
  bundle: true,
  format: "esm",
  target: "node20",
  sourcemap: true,
  write: false,
  metafile: true,
  logLevel: "warning",
  outdir: dist,
};

export const nodeBuild = {
  ...shared,
  platform: "node",
  splitting: true,
  chunkNames: "chunks/[name]-[hash]",
  minifySyntax: true,
  external,
  banner: { js: requireBanner },
  entryPoints: entries({ cli: "src/cli/main.ts", server: "src/server/index.ts" }),
};

// One file, loaded whole at its start: it must do its work even when the package was replaced meanwhile.
export const guardBuild = {
  ...shared,
  platform: "node",
  minifySyntax: true,
  entryPoints: entries({ guard: "src/runtime/guard/program.ts" }),
};

// Browser-safe: an import of a Node module fails the build. zod stays outside, so that schemas can be combined.
export const libraryBuild = {
  ...shared,
  platform: "browser",
  target: "es2022",
  external: ["zod"],
  entryPoints: entries({ sdk: "src/sdk/index.ts", protocol: "src/protocol/index.ts", rules: "src/server/rules.ts" }),
};

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  // esbuild has told its errors already.
  await main().catch((error) => {
    console.error(error.errors ? "The build failed." : error);
    process.exit(1);
  });
}

async function main() {
  const startedAt = new Date();
  const files = [];
  for (const options of [nodeBuild, guardBuild, libraryBuild]) {
    const { outputFiles } = await build(options);
    files.push(...outputFiles);
  }
  for (const file of files) writeWhole(file);
  removeOldChunks(new Set(files.map(({ path }) => path)));
  if (!process.argv.includes("--no-types")) {
    rmSync(join(dist, "types"), { recursive: true, force: true });
    run(tool("tsc"), ["-p", "tsconfig.build.json"]);
  }
  writeFileSync(builtStamp, startedAt.toISOString());
  // A source that changed while we built is newer than the build.
  utimesSync(builtStamp, startedAt, startedAt);
}

function entries(table) {
  return Object.entries(table).map(([out, path]) => ({ in: path, out }));
}

/** By way of a rename: whoever loads a file while it is built sees the old one or the new one. */
function writeWhole({ path, contents }) {
  mkdirSync(dirname(path), { recursive: true });
  const temporary = `${path}.${process.pid}`;
  writeFileSync(temporary, contents);
  renameSync(temporary, path);
}

function removeOldChunks(current) {
  const chunks = join(dist, "chunks");
  if (!existsSync(chunks)) return;
  for (const name of readdirSync(chunks)) {
    const path = join(chunks, name);
    if (!current.has(path) && Date.now() - statSync(path).mtimeMs > OLD_CHUNK_MS) rmSync(path);
  }
}
