/** npm's `prepack`: whatever is packed was built from the sources just now, with types, also in a fresh clone. */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { ensureInstalled, root, run } from "./ensure.js";

// With `npm pack --dry-run` npm passes this on to the installation, which must not be a dry run.
delete process.env.npm_config_dry_run;
ensureInstalled();
// Files of former builds must not be packed with it.
rmSync(join(root, "dist"), { recursive: true, force: true });
run(process.execPath, [join(root, "scripts", "build.js")]);
