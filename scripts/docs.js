/** `npm run docs`: writes the generated pages and schemas again. The same tests say when they are out of date. */
import { ensureInstalled, run, tool } from "./ensure.js";

ensureInstalled();
run(tool("vitest"), ["run", "document"], { env: { UPDATE: "1" } });
