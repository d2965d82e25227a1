/** `npm run docs`: writes the generated pages and schemas again. A test says when they are out of date. */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { ensureInstalled, root } from "./ensure.js";

ensureInstalled();

const { bundle } = await import("./bundle.js");
const { generatedFiles } = await import(pathToFileURL(await bundle("test/support/generated.ts")).href);

for (const { path, text } of await generatedFiles()) {
  const file = join(root, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  console.log(path);
}
