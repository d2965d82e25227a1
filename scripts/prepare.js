/**
 * npm's `prepare`: an installation from a git address builds the package here. In a checkout it does so once, after the
 * first installation; later builds are made when they are needed. Without the tools for it nothing is built.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { builtStamp, root, run } from "./ensure.js";

const hasTools = ["esbuild", "typescript"].every((name) => existsSync(join(root, "node_modules", name)));
const isWanted = process.env.FRANCA_PREPARE !== "no" && !existsSync(builtStamp);
if (hasTools && isWanted) run(process.execPath, [join(root, "scripts", "build.js")]);
