/** Writes dist-sdk/, the package @franca/sdk: the client alone, with a manifest made from franca's own. */
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "./ensure.js";

export const sdkFolder = join(root, "dist-sdk");

/** Its files, by their names in dist/. npm sorts a tarball by extension: the two builds compress best side by side. */
const FILES = { "index.js": "sdk.cjs", "index.mjs": "sdk.js" };
const TYPES = "index.d.ts";
const MODULE_TYPES = "index.d.mts";
/** Fields that both packages share. */
const SHARED = ["version", "license", "repository", "homepage", "bugs"];

export function writeSdkPackage({ dist, types }) {
  const franca = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  rmSync(sdkFolder, { recursive: true, force: true });
  mkdirSync(sdkFolder);
  for (const [name, built] of Object.entries(FILES)) copyFileSync(join(dist, built), join(sdkFolder, name));
  writeFileSync(join(sdkFolder, TYPES), types);
  writeFileSync(join(sdkFolder, MODULE_TYPES), 'export * from "./index.js";\n');
  // On one line: the package has a size to keep.
  writeFileSync(join(sdkFolder, "package.json"), `${JSON.stringify(manifest(franca))}\n`);
  writeFileSync(join(sdkFolder, "README.md"), readme(franca));
}

function manifest(franca) {
  const shared = Object.fromEntries(SHARED.filter((name) => name in franca).map((name) => [name, franca[name]]));
  return {
    name: "@franca/sdk",
    description: "Client of the Franca daemon: one API for every coding agent. For Node and browsers.",
    ...shared,
    keywords: ["coding-agent", "claude-code", "codex", "opencode", "sdk"],
    sideEffects: false,
    engines: franca.engines,
    main: "./index.js",
    types: "./index.d.ts",
    exports: {
      ".": {
        import: { types: "./index.d.mts", default: "./index.mjs" },
        require: { types: "./index.d.ts", default: "./index.js" },
      },
      "./package.json": "./package.json",
    },
    files: [...Object.keys(FILES), TYPES, MODULE_TYPES],
  };
}

const readme = ({ homepage }) => `# @franca/sdk

The client of a ${homepage === undefined ? "Franca" : `[Franca](${homepage})`} daemon: run any coding agent and read
one event stream for all of them. No dependencies; for Node 20 and later, and for browsers.

\`\`\`js
import { connect } from "@franca/sdk";

const franca = connect();
const session = await franca.create({ agent: "mock" });
const { text, reason } = await session.run("echo Hello, world");
console.log(reason, text);
\`\`\`

\`connect()\` finds the daemon of this machine. Start one with \`npx franca daemon start\`, or pass \`{ start: true }\`.
The package \`franca\` has the same client, a guide with examples (\`docs/sdk.md\`) and the licence.

Licence: Apache-2.0, http://www.apache.org/licenses/LICENSE-2.0
`;
