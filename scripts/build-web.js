/**
 * Builds the inspector into dist/inspector.br, compressed: a line of JSON with the names and lengths of `index.html`
 * and its assets, then all of them as they are.
 */
import { readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { brotliCompressSync, constants } from "node:zlib";
import { build } from "esbuild";
import { root } from "./ensure.js";

/** Messages of zod in other languages are the larger part of it, and nothing of ours shows them. */
export const onlyEnglish = {
  name: "only-english",
  setup(work) {
    work.onLoad({ filter: /\/zod\/v4\/locales\/index\.js$/ }, () => ({
      contents: 'export { default as en } from "./en.js";',
    }));
  },
};

const shared = {
  absWorkingDir: root,
  bundle: true,
  format: "esm",
  platform: "browser",
  target: "es2022",
  minify: true,
  write: false,
  metafile: true,
  logLevel: "warning",
  charset: "utf8",
  legalComments: "none",
  plugins: [onlyEnglish],
  jsx: "automatic",
  jsxImportSource: "preact",
  // virtua is written for React; Preact's compatibility layer is the same interface.
  alias: { react: "preact/compat", "react-dom": "preact/compat", "react/jsx-runtime": "preact/jsx-runtime" },
  entryPoints: [
    { in: "web/main.tsx", out: "inspector" },
    { in: "web/style/index.css", out: "inspector" },
  ],
};

/** In pieces: what the first screen does not need is loaded when it is asked for. */
export const pageBuild = {
  ...shared,
  // Never written: names only.
  outdir: join(root, "dist", "assets"),
  splitting: true,
  entryNames: "[name]-[hash]",
  chunkNames: "[name]-[hash]",
};

/** The one file of the inspector, as `{path, contents}`. `isSmall` takes a second more. */
export async function buildWeb({ isSmall }) {
  const page = await build(pageBuild);
  const template = readFileSync(join(root, "web", "index.html"), "utf8");
  const named = (ending) => basename(outputOf(page, new RegExp(`/inspector-\\w+\\.${ending}$`)).path);
  const index = template
    .replace("<!-- style -->", () => `<link rel="stylesheet" href="assets/${named("css")}">`)
    .replace("<!-- script -->", () => `<script type="module" src="assets/${named("js")}"></script>`);
  const files = { "index.html": index };
  for (const { path, text } of page.outputFiles) files[`assets/${basename(path)}`] = text;
  return { path: join(root, "dist", "inspector.br"), contents: compressed(packed(files), isSmall) };
}

const packed = (files) => {
  const lengths = Object.entries(files).map(([name, text]) => [name, Buffer.byteLength(text)]);
  return `${JSON.stringify(lengths)}\n${Object.values(files).join("")}`;
};

function compressed(text, isSmall) {
  const { BROTLI_PARAM_LGWIN, BROTLI_PARAM_QUALITY, BROTLI_MAX_WINDOW_BITS, BROTLI_MAX_QUALITY } = constants;
  const quality = isSmall ? BROTLI_MAX_QUALITY : 5;
  const params = { [BROTLI_PARAM_QUALITY]: quality, [BROTLI_PARAM_LGWIN]: BROTLI_MAX_WINDOW_BITS };
  return brotliCompressSync(text, { params });
}

function outputOf({ outputFiles }, pattern) {
  const found = outputFiles.find(({ path }) => pattern.test(path));
  if (found === undefined) throw new Error(`The build of the inspector has no file like ${pattern}.`);
  return found;
}
