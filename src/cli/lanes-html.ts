/** Lanes as a page that needs nothing but itself: the inspector, its assets and the recording in one file. */
import { readInspector } from "../runtime/inspector-files.ts";
import { CommandError } from "./usage.ts";

interface Recording {
  readonly name: string;
  readonly text: string;
  /** Which agent it is of; `auto` where the page shall find out. */
  readonly from: string;
}

/** Nothing may be loaded from anywhere, and nothing of a recording may run: the only scripts are those of the page. */
const POLICY =
  "default-src 'none'; script-src 'unsafe-inline' blob:; style-src 'unsafe-inline'; img-src data: blob:; " +
  "base-uri 'none'; form-action 'none'";

/**
 * Runs in the page: makes an address for each module when it is first imported. Modules name each other by relative
 * paths, which mean nothing in a file.
 */
const LOADER = `
const modules = JSON.parse(document.getElementById("modules").textContent);
const addresses = {};
globalThis.francaModule = (name) => (addresses[name] ??= URL.createObjectURL(new Blob([modules[name]
  .replace(/(from|import)"\\.\\/([^"]+)"/g, (_, word, other) => word + JSON.stringify(francaModule(other)))
  .replace(/import\\("\\.\\/([^"]+)"\\)/g, 'import(francaModule("$1"))')], { type: "text/javascript" })));
import(francaModule(document.getElementById("modules").dataset.entry));`;

export function pageWith({ name, text, from }: Recording): string {
  const files = readInspector();
  const page = files?.get("index.html");
  if (page === undefined) throw new CommandError("The inspector is not built: run npm run build.");
  const asset = (file: string): string => files?.get(`assets/${file}`) ?? "";
  const [, style = ""] = /href="assets\/([^"]+\.css)"/.exec(page) ?? [];
  const [, entry = ""] = /src="assets\/([^"]+\.js)"/.exec(page) ?? [];
  const modules = modulesFrom(entry, asset);
  const css = asset(style);
  const scripts = [
    // As base64, and with every < escaped: nothing in them can end the element that holds them.
    element({ id: "recording", "data-name": name, "data-from": from }, Buffer.from(text).toString("base64")),
    element({ id: "modules", "data-entry": entry }, JSON.stringify(modules).replaceAll("<", "\\u003c")),
    `<script type="module">${LOADER}</script>`,
  ];
  return page
    .replace(
      /<link rel="stylesheet"[^>]*>/,
      () => `<meta http-equiv="Content-Security-Policy" content="${POLICY}">\n<style>${css}</style>`,
    )
    .replace(/<script type="module" src=[^>]*><\/script>/, () => scripts.join("\n"));
}

/** A module and all that it names. */
function modulesFrom(entry: string, read: (file: string) => string): Readonly<Record<string, string>> {
  const found: Record<string, string> = {};
  const waiting = [entry];
  for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
    if (file in found) continue;
    const text = read(file);
    found[file] = text;
    for (const [, other = ""] of text.matchAll(/"\.\/([\w-]+\.js)"/g)) waiting.push(other);
  }
  return found;
}

/** A script element that holds data and runs nothing. */
function element(attributes: Readonly<Record<string, string>>, content: string): string {
  const written = Object.entries(attributes).map(([name, value]) => `${name}="${escaped(value)}"`);
  return `<script type="application/octet-stream" ${written.join(" ")}>${content}</script>`;
}

const entities: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
const escaped = (text: string): string => text.replaceAll(/[&<>"]/g, (character) => entities[character] ?? character);
