/** `npm run dev [-- serve arguments]`: the daemon, built again and restarted at every change of a source. */
import { spawn } from "node:child_process";
import { mkdirSync, watch } from "node:fs";
import { join } from "node:path";
import { ensureInstalled, root, tryRun } from "./ensure.js";

const SETTLE_MS = 150;

ensureInstalled();
mkdirSync(join(root, "dist"), { recursive: true });

let daemon = null;
let pending = null;

restart();
const watchers = ["src", "web"].map((folder) =>
  watch(join(root, folder), { recursive: true }, () => {
    clearTimeout(pending);
    pending = setTimeout(restart, SETTLE_MS);
  }),
);
for (const signal of ["SIGINT", "SIGTERM"]) {
  process.on(signal, () => {
    for (const watcher of watchers) watcher.close();
    clearTimeout(pending);
    daemon?.kill("SIGTERM");
  });
}

function restart() {
  if (tryRun(process.execPath, [join(root, "scripts", "build.js"), "--no-types"]) !== 0) return;
  if (daemon === null) return start();
  daemon.once("exit", start);
  daemon.kill("SIGTERM");
}

function start() {
  const child = spawn(process.execPath, [join(root, "bin", "franca.js"), "serve", ...process.argv.slice(2)], {
    stdio: "inherit",
  });
  daemon = child;
  child.once("exit", () => {
    if (daemon === child) daemon = null;
  });
}
