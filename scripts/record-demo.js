/**
 * `node scripts/record-demo.js`: records `franca run` with the real Claude Code on a scripted model, in a real terminal
 * (tmux), and writes docs/run.svg. No network beyond the installation of the agent, no tokens.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { bundle } from "./bundle.js";
import { ensureBuilt, ensureInstalled, root } from "./ensure.js";
import { terminalSvg } from "./terminal-svg.js";
import { installed } from "./tools.js";

const COLUMNS = 92;
const ROWS = 33;
const FRAME_MS = 60;
const TYPING_MS = 35;
/** Longer stretches without a change are shortened to this. */
const LONGEST_MS = 1_400;
const HOLD_MS = 6_000;
const TURN_MS = 90_000;

const PROMPT = "The greeting is wrong. Fix it and run the tests.";
const GREET = 'export const greet = (name) => "Helo, ".concat(name, "!");\n';
const TEST = `import assert from "node:assert/strict";
import { test } from "node:test";
import { greet } from "./greet.js";

test("greets by name", () => assert.equal(greet("Ada"), "Hello, Ada!"));
`;
const ANSWER = `The greeting had a typo. It is fixed, and the test passes.

## What changed

| File | Change |
|---|---|
| \`greet.js\` | \`Helo\` is now \`Hello\` |

- **1 test**, 1 passed
- Nothing else uses the old text
`;

ensureInstalled();
ensureBuilt();
const claude = installed("claude");
const folder = realpathSync(mkdtempSync(join(tmpdir(), "franca-demo-")));
const { serveAnthropic } = await import(await bundle("src/model-server/anthropic.ts"));
const project = join(folder, "home", "greeter");
const model = await serveAnthropic(scriptFor(project));
try {
  writeFileSync(join(root, "docs", "run.svg"), await record());
} finally {
  await model.close();
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}

function scriptFor(directory) {
  const text = (said, chunks) => ({ type: "text", text: said, chunks });
  const call = (name, input) => ({ type: "tool_call", name, input, chunks: 3 });
  const usage = { input: 2400, output: 180 };
  const answer = (...blocks) => ({ type: "answer", blocks, chunkDelayMs: 45, usage });
  const file = join(directory, "greet.js");
  return {
    turns: [
      answer(text("I'll look at the code first.", 5), call("Read", { file_path: file })),
      answer(
        text("There is a typo in the greeting.", 5),
        call("Edit", { file_path: file, old_string: "Helo", new_string: "Hello" }),
      ),
      answer(call("Bash", { command: "node --test", description: "Run the tests" })),
      answer(text(ANSWER, 40)),
    ],
  };
}

function prepare() {
  const bin = join(folder, "bin");
  for (const path of [project, bin, join(folder, "tmp")]) mkdirSync(path, { recursive: true });
  writeFileSync(join(project, "package.json"), '{ "type": "module" }\n');
  writeFileSync(join(project, "greet.js"), GREET);
  writeFileSync(join(project, "greet.test.js"), TEST);
  symlinkSync(join(root, "bin", "franca.js"), join(bin, "franca"));
  return {
    PATH: [bin, dirname(claude), dirname(process.execPath), "/usr/bin", "/bin"].join(":"),
    HOME: join(folder, "home"),
    TMPDIR: join(folder, "tmp"),
    TERM: "xterm-256color",
    LANG: "C.UTF-8",
    ANTHROPIC_BASE_URL: model.url,
    ANTHROPIC_API_KEY: "scripted",
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    DISABLE_TELEMETRY: "1",
    DISABLE_ERROR_REPORTING: "1",
  };
}

async function record() {
  const env = prepare();
  const socket = `franca-demo-${process.pid}`;
  const tmux = (...args) => execFileSync("tmux", ["-L", socket, ...args], { env, encoding: "utf8", cwd: project });
  execFileSync(process.execPath, [join(root, "bin", "franca.js"), "trust", "add", "--force", project], { env });
  tmux("new-session", "-d", "-x", String(COLUMNS), "-y", String(ROWS), "bash --norc --noprofile");
  try {
    return await film(tmux);
  } finally {
    tmux("kill-server");
  }
}

async function film(tmux) {
  tmux("send-keys", "PS1='$ '; clear", "Enter");
  await pause(1_000);
  const screens = [];
  const started = Date.now();
  /** Looking takes longer than typing. */
  let late = 0;
  const shot = () => {
    // The folder of a user, not of this recording.
    const text = tmux("capture-pane", "-e", "-p").trimEnd().replaceAll(join(folder, "home"), "/home/ada");
    if (screens.at(-1)?.text !== text) screens.push({ at: Date.now() - started - late, text });
    return text;
  };
  await pause(500);
  shot();
  for (const letter of `franca run -a claude --permission-mode acceptEdits "${PROMPT}"`) {
    tmux("send-keys", "-l", letter);
    const before = Date.now();
    shot();
    late += Math.max(0, Date.now() - before - TYPING_MS);
  }
  tmux("send-keys", "Enter");
  let answered = false;
  for (const until = Date.now() + TURN_MS; ; await pause(FRAME_MS)) {
    const text = shot();
    if (!answered && /Allow/.test(text) && /Yes, this time/.test(text)) {
      answered = true;
      await pause(1_200);
      tmux("send-keys", "y");
    }
    if (/continue it with/.test(text)) break;
    if (Date.now() > until) throw new Error(`The turn did not end:\n${text}`);
  }
  await pause(300);
  shot();
  return terminalSvg({
    screens: shortened(screens),
    columns: COLUMNS,
    rows: ROWS,
    title: "franca run with Claude Code: reads a file, fixes it, asks before it runs the tests, reports",
    holdMs: HOLD_MS,
  });
}

/** Waits of the machine are of no interest. */
function shortened(screens) {
  let skipped = 0;
  return screens.map(({ at, text }, index) => {
    const former = screens[index - 1]?.at ?? at;
    skipped += Math.max(0, at - former - LONGEST_MS);
    return { at: at - skipped, text };
  });
}
