/** `npm start`: a ready checkout, then the daemon with the arguments that were passed. */
import { spawn } from "node:child_process";
import { join } from "node:path";
import { ensureBuilt, ensureInstalled, root } from "./ensure.js";

ensureInstalled();
ensureBuilt();

const child = spawn(process.execPath, [join(root, "bin", "franca.js"), "serve", ...process.argv.slice(2)], {
  stdio: "inherit",
});
// The terminal sends Ctrl-C to both; a signal to this process alone must reach the daemon too.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
child.on("error", (error) => {
  console.error(`The daemon could not be started: ${error.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => {
  process.exitCode = code ?? (signal === "SIGINT" ? 130 : 143);
});
