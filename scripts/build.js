/**
 * Builds dist/: the CLI and the server for Node (split into chunks, so that a command loads only what it needs),
 * the SDK, the protocol and the rules for any runtime, the inspector, types, and dist-sdk/, the package @franca/sdk.
 * `--no-types` leaves out the types and the package; `--clean` removes chunks of former builds at once.
 */
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";
import { buildWeb, onlyEnglish } from "./build-web.js";
import { builtStamp, root } from "./ensure.js";

const dist = join(root, "dist");

/** Chunks of former builds are kept this long, because a daemon that still runs may yet load one. */
const OLD_CHUNK_MS = 3_600_000;

// Few modules to open make a quick start, so most packages are bundled. These are not: native code, packages that
// load files beside themselves, the model SDKs, which only the builtin agent loads, and what few commands load late.
const external = [
  "@photostructure/sqlite",
  "postgres",
  "ai",
  "@ai-sdk/*",
  "jiti",
  "esbuild",
  "vitest",
  "@opencode-ai/sdk",
  "@clack/prompts",
];

// Bundled CommonJS packages call `require` for Node's own modules; files without one are written without this.
const requireBanner =
  'import { createRequire as __createRequire } from "node:module"; const require = __createRequire(import.meta.url);\n';

const shared = {
  absWorkingDir: root,
  bundle: true,
  format: "esm",
  target: "node20",
  plugins: [onlyEnglish],
  write: false,
  metafile: true,
  logLevel: "warning",
  charset: "utf8",
  outdir: dist,
};

const nodeBuild = {
  ...shared,
  platform: "node",
  splitting: true,
  chunkNames: "chunks/[name]-[hash]",
  minify: true,
  external,
  // V8 keeps the text of each file, with two bytes a letter if it holds any beyond Latin-1.
  charset: "ascii",
  banner: { js: requireBanner },
  inject: [join(root, "scripts", "every-program.js")],
  entryPoints: entries({ cli: "src/cli/main.ts", server: "src/server/index.ts" }),
};

// One file each, loaded whole at its start: it must do its work even when the package was replaced meanwhile.
const guardBuild = {
  ...shared,
  platform: "node",
  minify: true,
  entryPoints: entries({
    guard: "src/runtime/guard/program.ts",
    "checkpoint-worker": "src/runtime/log/sqlite/checkpoint-worker.ts",
  }),
};

// Browser-safe: an import of a Node module fails the build. zod stays outside, so that schemas can be combined.
const libraryBuild = {
  ...shared,
  platform: "browser",
  target: "es2022",
  minify: true,
  external: ["zod"],
  entryPoints: entries({ protocol: "src/protocol/index.ts", rules: "src/server/rules.ts" }),
};

// The client alone, also for `require`. Both packages, franca and @franca/sdk, contain these two files.
const sdkBuild = {
  ...shared,
  platform: "browser",
  target: "es2022",
  minify: true,
  entryPoints: entries({ sdk: "src/sdk/index.ts" }),
};
const sdkBuilds = [sdkBuild, { ...sdkBuild, format: "cjs", outExtension: { ".js": ".cjs" } }];

export const builds = [nodeBuild, guardBuild, libraryBuild, ...sdkBuilds];

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
  for (const options of builds) {
    const { outputFiles } = await build(options);
    files.push(...outputFiles);
  }
  const isWhole = !process.argv.includes("--no-types");
  files.push(await buildWeb({ isSmall: isWhole }));
  for (const file of files) writeWhole(withoutBanner(file));
  const keepMs = process.argv.includes("--clean") ? 0 : OLD_CHUNK_MS;
  const current = new Set(files.map(({ path }) => path));
  removeOld(join(dist, "chunks"), { current, keepMs });
  rmSync(join(dist, "compile-cache"), { recursive: true, force: true });
  if (isWhole) {
    const { writeTypes } = await import("./build-types.js");
    const types = await writeTypes(dist);
    const { writeSdkPackage } = await import("./sdk-package.js");
    writeSdkPackage({ dist, types });
  }
  writeFileSync(builtStamp, startedAt.toISOString());
  // A source that changed while we built is newer than the build.
  utimesSync(builtStamp, startedAt, startedAt);
}

function entries(table) {
  return Object.entries(table).map(([out, path]) => ({ in: path, out }));
}

function withoutBanner(file) {
  if (!file.path.endsWith(".js")) return file;
  const text = Buffer.from(file.contents).toString("utf8");
  const isNeeded = !text.startsWith(requireBanner) || /\brequire\b/.test(text.slice(requireBanner.length));
  return isNeeded ? file : { ...file, contents: text.slice(requireBanner.length) };
}

/** By way of a rename: whoever loads a file while it is built sees the old one or the new one. */
function writeWhole({ path, contents }) {
  mkdirSync(dirname(path), { recursive: true });
  const temporary = `${path}.${process.pid}`;
  writeFileSync(temporary, contents);
  renameSync(temporary, path);
}

function removeOld(folder, { current, keepMs }) {
  if (!existsSync(folder)) return;
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    if (!current.has(path) && Date.now() - statSync(path).mtimeMs >= keepMs) rmSync(path);
  }
}
