/**
 * Breaks the sessions on purpose, one hand-made bug at a time, and checks that the simulation (`npm run simulate`)
 * notices within a bounded number of seeds.
 */
import { spawnSync } from "node:child_process";
import { rmSync } from "node:fs";
import { breaking } from "./breaking.js";
import { bundle } from "./bundle.js";
import { ensureInstalled, root } from "./ensure.js";

/** So many seeds may hold before a bug counts as missed, where it does not say more. */
const SEEDS = 800;

/** Each bug: what it does, what must be seen of it, the file, and the one text that is replaced. */
const bugs = [
  {
    bug: "acts and acknowledges before anything is stored",
    shows: /acknowledged|does not say so|not stored|was shown|twice|sent to an agent|replay/,
    file: "src/runtime/session/writer.ts",
    from: "else storeInBackground(state, { append, done, after });",
    to: "else { after(); storeInBackground(state, { append, done: [], after: () => {} }); }",
  },
  {
    bug: "skips a sequence",
    shows: /order of|rules of|after \d|liveness/,
    file: "src/core/stamp.ts",
    from: "state.sequence += 1;",
    to: "state.sequence += state.sequence % 12 === 11 ? 2 : 1;",
  },
  {
    bug: "forgets the end of a turn that a restart interrupted",
    shows: /never ended|has no end|begins inside|is running/,
    file: "src/core/turn.ts",
    from: 'if (state.turn !== null) finishTurn(state, out, { reason: "interrupted", evidence: "restart", error: null });',
    to: "state.turn = null;",
  },
  {
    bug: "forgets idempotency keys at recovery",
    shows: /was given \d ids|was fresh twice|was said \d times/,
    file: "src/runtime/session/prompt.ts",
    from: "idempotencyKey: request.idempotencyKey ?? null,",
    to: "idempotencyKey: runtime.recovered.has(open.id) ? null : (request.idempotencyKey ?? null),",
  },
  {
    bug: "loses the queue at a restart",
    shows: /never run|began no turn/,
    file: "src/runtime/session/open-sessions.ts",
    from: "const queued = mayRun ? await log.queuedPrompts(id) : [];",
    to: "const queued = [];",
  },
  {
    bug: "runs a prompt again after a crash",
    shows: /began 2 turns|was said 2 times|sent to an agent 2 times/,
    file: "src/runtime/log/memory/open.ts",
    from: 'filter(({ status }) => status === "queued"),',
    to: 'filter(({ status }) => status === "queued" || status === "started"),',
  },
  {
    bug: "skips what a client that comes back has missed",
    shows: /client .*: \d+ after \d+/,
    file: "src/runtime/log/follow.ts",
    from: "if (next !== undefined && next.first <= cursor + 1) ready = [next];",
    to: "if (next !== undefined) ready = [next];",
  },
  {
    bug: "shows a session ahead of what is stored",
    shows: /was shown/,
    file: "src/runtime/session/writer.ts",
    from: "isAhead: () => state.busy,\n    stored: () => (state.busy ? waitIn(state, state.storedWaiters) : Promise.resolve()),",
    to: "isAhead: () => false,\n    stored: () => Promise.resolve(),",
  },
  {
    bug: "leaves a turn open that began while the daemon was stopping",
    shows: /never ended|is running|replay/,
    file: "src/runtime/session/shutdown.ts",
    from: "while (open.session.snapshot().turn !== null && !hasQueue()) {",
    to: "if (Date.now() < 0) {",
  },
  {
    bug: "never tries again to recover a session",
    shows: /replay|never ended|never run/,
    file: "src/runtime/session/recovery.ts",
    from: "else unrecovered.add(id);",
    to: "",
  },
  {
    bug: "announces a queue that has run",
    shows: /prompts in its queue/,
    // It takes a crash at one moment: after the end of a turn, and before the next has begun.
    seeds: 8_000,
    file: "src/core/commands.ts",
    from: "if (wasQueued) announceQueue(state, out);",
    to: "",
  },
  {
    bug: "forgets the usage of a turn that a crash cut off",
    shows: /usage-total/,
    file: "src/core/resume.ts",
    from: "state.usage.turn = snapshot.turnUsage.turn;",
    to: "",
  },
];

ensureInstalled();
process.chdir(root);
let caught = 0;
for (const bug of bugs) {
  const program = await bundle("test/simulation/main.ts", { plugins: [breaking(bug)], name: "broken-simulation" });
  const bounds = ["--until-broken", "--no-shrink", "--seeds", String(bug.seeds ?? SEEDS)];
  const { stdout } = spawnSync(process.execPath, [program, ...bounds], { encoding: "utf8", timeout: 300_000 });
  rmSync(program);
  const isCaught = bug.shows.test(stdout);
  if (isCaught) caught += 1;
  const seed = /seed (\d+): BROKEN/.exec(stdout)?.[1];
  console.log(`${isCaught ? `caught by seed ${seed}` : `MISSED (${stdout.slice(0, 300)})`}  ${bug.bug}`);
}
console.log(`${caught} passed, ${bugs.length - caught} failed`);
process.exitCode = caught === bugs.length ? 0 : 1;
