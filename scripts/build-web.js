/**
 * Builds the inspector into dist/web: `index.html` with its assets for the daemon, and `recording.html`, the same page
 * in one file, into which `franca lanes --html` puts a recording.
 */
import { readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { build } from "esbuild";
import { root } from "./ensure.js";

const folder = join(root, "dist", "web");

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
  outdir: join(folder, "assets"),
  splitting: true,
  entryNames: "[name]-[hash]",
  chunkNames: "[name]-[hash]",
  assetNames: "[name]-[hash]",
  loader: { ".woff2": "file" },
};

/** In one piece, for a file that needs nothing but itself. */
export const fileBuild = { ...shared, outdir: folder, splitting: false, loader: { ".woff2": "dataurl" } };

/** The files of dist/web, as `{path, contents}`. */
export async function buildWeb() {
  const [page, file] = await Promise.all([build(pageBuild), build(fileBuild)]);
  const template = readFileSync(join(root, "web", "index.html"), "utf8");
  const named = (ending) => basename(outputOf(page, new RegExp(`/inspector-\\w+\\.${ending}$`)).path);
  const index = template
    .replace("<!-- style -->", () => `<link rel="stylesheet" href="assets/${named("css")}">`)
    .replace("<!-- script -->", () => `<script type="module" src="assets/${named("js")}"></script>`);
  return [
    ...page.outputFiles,
    { path: join(folder, "index.html"), contents: index },
    { path: join(folder, "recording.html"), contents: wholePage(template, file) },
  ];
}

/** Nothing may be loaded from anywhere, and nothing of a recording may run: the only scripts are those of the page. */
const POLICY =
  "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; font-src data:; " +
  "base-uri 'none'; form-action 'none'";

function wholePage(template, file) {
  const style = outputOf(file, /\.css$/).text;
  const script = outputOf(file, /\.js$/).text.replaceAll("</script", "<\\/script");
  return template
    .replace(
      "<!-- style -->",
      () => `<meta http-equiv="Content-Security-Policy" content="${POLICY}">\n<style>${style}</style>`,
    )
    .replace("<!-- script -->", () => `<!-- recording -->\n<script type="module">${script}</script>`);
}

function outputOf({ outputFiles }, pattern) {
  const found = outputFiles.find(({ path }) => pattern.test(path));
  if (found === undefined) throw new Error(`The build of the inspector has no file like ${pattern}.`);
  return found;
}
