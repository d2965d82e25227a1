/** Breaks the turn machine on purpose, one hand-made bug at a time, and checks that the tests in test/turn notice. */
import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));

/** Each bug: what it does, the file, and the one text that is replaced. `docs/turn.md` lists them. */
export const mutants = [
  {
    bug: "says idle at the first end signal, though a call is open",
    file: "src/core/reports.ts",
    from: "else if (!holdsEnd(state)) settle(state, out, turn);",
    to: "else settle(state, out, turn);",
  },
  {
    bug: "forgets the grace: a call that never resolves holds the turn for ever",
    file: "src/core/clock.ts",
    from: "if (turn.end !== null) return state.heardAt + policy.graceMs;",
    to: "if (turn.end !== null) return Number.POSITIVE_INFINITY;",
  },
  {
    bug: "reopens a closed item on a late line",
    file: "src/core/items.ts",
    from: "  ledger.open.has(key) || ledger.closed.has(key) || ledger.older.has(key);",
    to: "  ledger.open.has(key);",
  },
  {
    bug: "leaves requests open when the turn ends",
    file: "src/core/lifecycle.ts",
    from: 'dropRequests(state, out, "turn.ended");',
    to: "",
  },
  {
    bug: "leaves items open when the turn ends",
    file: "src/core/lifecycle.ts",
    from: 'if (!keepBackground || !item.inBackground) failItem(state, out, { item, rule: "turn.ended" });',
    to: "void item;",
  },
  {
    bug: "ends the turn by silence although a tool is at work",
    file: "src/core/clock.ts",
    from: "if (isToolAtWork(state)) return Number.POSITIVE_INFINITY;",
    to: "",
  },
  {
    bug: "begins a second turn inside the open one",
    file: "src/core/reports.ts",
    from: "if (turn.end === null || turn.stop !== null) return;",
    to: "",
  },
  {
    bug: "approves when nobody answers in time",
    file: "src/core/requests.ts",
    from: 'resolvePermission(state, out, { request, reply: "reject", options: ours(rule) });',
    to: 'resolvePermission(state, out, { request, reply: "once", options: ours(rule) });',
  },
  {
    bug: "never stops an agent that ignores the abort",
    file: "src/core/clock.ts",
    from: "if (turn.shell === null) stopAgent(state, out);",
    to: "",
  },
  {
    bug: "runs the next prompt while the stopped agent is still dying",
    file: "src/core/lifecycle.ts",
    from: 'if (state.turn !== null || state.ended || state.connection === "closing") return;',
    to: "if (state.turn !== null || state.ended) return;",
  },
  {
    bug: "counts a session's counter as if it were the turn's",
    file: "src/core/usage.ts",
    from: "Math.max(0, total - (base?.tokens[field] ?? 0) - known),",
    to: "total,",
  },
  {
    bug: "repeats the whole text after it was streamed",
    file: "src/core/items.ts",
    from: "delta: text.slice(item.text.length)",
    to: "delta: text",
  },
  {
    bug: "forgets to say that the turn waits for a person",
    file: "src/core/lifecycle.ts",
    from: 'state.requests.size > 0 ? "requires_action" : turn.activity;',
    to: "turn.activity;",
  },
  {
    bug: "holds a request forever when its inspection is lost",
    file: "src/core/clock.ts",
    from: "if (deadline <= state.at) onInspected(state, out, { key: report.key, inspection: null });",
    to: "void deadline, report;",
  },
  {
    bug: "shows a request before it was inspected",
    file: "src/core/requests.ts",
    from: "if (state.recorded && state.policy.permissionRules.rules.length === 0) {",
    to: "if (state.policy.permissionRules.rules.length === 0) {",
  },
  {
    bug: "lets a plugin's deny lose to an allow rule",
    file: "src/core/permission-decision.ts",
    from: 'if (plugin === "deny") return',
    to: 'if (plugin === "deny" && verdict.action !== "allow") return',
  },
];

function runMutant(mutant) {
  const folder = mkdtempSync(join(tmpdir(), "franca-mutant-"));
  try {
    for (const path of ["src", "test/turn", "test/support", "package.json", "tsconfig.json", "vitest.config.ts"]) {
      cpSync(join(root, path), join(folder, path), { recursive: true });
    }
    symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
    const path = join(folder, mutant.file);
    const source = readFileSync(path, "utf8");
    if (source.split(mutant.from).length !== 2) throw new Error(`${mutant.file}: the text to break is not there once`);
    writeFileSync(path, source.replace(mutant.from, mutant.to));
    const vitest = join(root, "node_modules/vitest/vitest.mjs");
    const run = spawnSync(process.execPath, [vitest, "run", "test/turn"], { cwd: folder, encoding: "utf8" });
    return run.status !== 0 && /Tests .*failed/.test(run.stdout);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  let caught = 0;
  for (const mutant of mutants) {
    const seen = runMutant(mutant);
    if (seen) caught += 1;
    console.log(`${seen ? "caught" : "MISSED"}  ${mutant.bug}`);
  }
  console.log(`${caught} passed, ${mutants.length - caught} failed`);
  process.exitCode = caught === mutants.length ? 0 : 1;
}
