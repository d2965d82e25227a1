/**
 * Breaks the daemon on purpose, one hand-made bug at a time, and checks that `npm run test:faults` notices: plans of
 * faults are carried out against the broken build until one of them breaks a promise.
 */
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { build } from "esbuild";
import { breaking } from "./breaking.js";
import { builds } from "./build.js";
import { bundle } from "./bundle.js";
import { ensureBuilt, ensureInstalled, root, tryRun } from "./ensure.js";

/** So many plans may hold before a bug counts as missed. */
const SEEDS = 40;
/** Shorter than usual: some of the bugs keep a session from ever coming to rest. */
const SETTLE_MS = 15_000;
const REPORT = "broken-builds";

/** Each bug: what it does, what may be seen of it first, the file, and the one text that is replaced. */
export const brokenBuilds = [
  {
    bug: "publishes events before they are stored",
    shows: /^(lost|changed|prompts|twice|out of order)|There is no session/,
    file: "src/runtime/log/sqlite/store.ts",
    from: 'prepare("BEGIN IMMEDIATE").run();\n        try {\n          const result = work();\n          prepare("COMMIT").run();',
    to: 'if (!database.late) prepare("BEGIN IMMEDIATE").run();\n        try {\n          const result = work();\n          database.late = (database.late ?? 0) + 1;\n          if (database.late > 40) { database.late = 0; prepare("COMMIT").run(); }',
  },
  {
    bug: "skips a sequence",
    shows: /^(rules|out of order)|Another process has written/,
    file: "src/core/stamp.ts",
    from: "state.sequence += 1;",
    to: "state.sequence += state.sequence % 50 === 49 ? 2 : 1;",
  },
  {
    bug: "forgets the end of a turn that a restart interrupted",
    shows: /^rules|is running/,
    file: "src/core/turn.ts",
    from: 'if (state.turn !== null) finishTurn(state, out, { reason: "interrupted", evidence: "restart", error: null });',
    to: "state.turn = null;",
  },
  {
    bug: "skips what a client that comes back has missed",
    // Of a rendered stream, the rules notice it first where a turn's start is missing.
    shows: /^(out of order|lost|rules: \/v1\/\S+\/sse)/,
    file: "src/runtime/log/follow.ts",
    from: "if (next !== undefined && next.first <= cursor + 1) ready = [next];",
    to: "if (next !== undefined) ready = [next];",
  },
];

/** The program of a package that is like ours, but for one bug. */
async function programWith(bug, folder) {
  for (const name of ["package.json", "bin"]) cpSync(join(root, name), join(folder, name), { recursive: true });
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  // The CLI with its server, and the guard: what a daemon runs.
  for (const options of builds.slice(0, 2)) {
    const { outputFiles } = await build({ ...options, plugins: [...options.plugins, breaking(bug)] });
    for (const { path, contents } of outputFiles) {
      const target = join(folder, relative(root, path));
      mkdirSync(dirname(target), { recursive: true });
      writeFileSync(target, contents);
    }
  }
  return join(folder, "bin", "franca.js");
}

/** What the first plan that failed has shown. A daemon that does not even start shows something else. */
function seen() {
  const { testResults } = JSON.parse(readFileSync(join(root, "test-output", `${REPORT}.json`), "utf8"));
  return testResults[0]?.message ?? "";
}

ensureInstalled();
ensureBuilt();
const faults = await bundle("test/faults/main.ts");
let caught = 0;
for (const bug of brokenBuilds) {
  const folder = mkdtempSync(join(tmpdir(), "franca-broken-"));
  try {
    const program = await programWith(bug, folder);
    const bounds = ["--until-broken", "--seeds", String(SEEDS), "--settle-ms", String(SETTLE_MS)];
    tryRun(process.execPath, [faults, "--program", program, "--report", REPORT, ...bounds]);
    const isCaught = bug.shows.test(seen());
    if (isCaught) caught += 1;
    console.log(`${isCaught ? "caught" : `MISSED (${seen()})`}  ${bug.bug}`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
console.log(`${caught} passed, ${brokenBuilds.length - caught} failed`);
process.exitCode = caught === brokenBuilds.length ? 0 : 1;
