/** `franca doctor`: what is well, what is not understood, what is absent, and the exit code that goes with it. */
import { expect, test } from "vitest";
import { adapters } from "../../src/adapters/index.ts";
import { doctor, findings } from "../support/doctor.ts";

test("the agents that need no program are well, and nothing is left behind", async () => {
  const ran = await doctor(["builtin", "mock", "--json"]);
  expect(findings(ran)).toEqual([
    expect.objectContaining({ agent: "builtin", state: "well", turn: "completed", changed: true, unparsed: 0 }),
    expect.objectContaining({ agent: "mock", state: "well", turn: "completed", changed: null, unparsed: 0 }),
  ]);
  for (const { nativeLines, violations } of findings(ran)) expect([nativeLines > 10, violations]).toEqual([true, []]);
  expect([ran.code, ran.left]).toEqual([0, []]);
});

test("without any program installed it says so; asked for by name, an absent one is wrong", async () => {
  const all = await doctor([]);
  expect(all.stdout).toMatch(/^claude +not installed .* franca agents install claude$/m);
  expect(all.stdout).toMatch(/^builtin +found +completed +changed +\d+ +0 +nothing: all is well$/m);
  expect(all.stderr).toContain("no agent's program is installed");
  expect(all.code).toBe(0);
  const [named, unknown] = await Promise.all([doctor(["codex"]), doctor(["nobody"])]);
  expect([named.code, unknown.code]).toEqual([1, 2]);
  expect(unknown.stderr).toContain("There is no agent nobody. There are: ");
});

test("every agent is tried but those that need their own servers, a second program, or a command of the user's", () => {
  const untried = adapters.filter(({ trial, offline }) => trial === null && !offline).map(({ agent }) => agent);
  expect(untried.sort()).toEqual(["acp", "amp", "pi"]);
});

/** Says one line of a shape that nobody knows, tells which key it was given, and ends the turn. */
const drifted = `
if (process.argv.includes("--version")) { console.log("9.9.9"); process.exit(); }
const say = (line) => console.log(JSON.stringify({ session_id: "a", uuid: String(Math.random()), ...line }));
require("node:readline").createInterface({ input: process.stdin }).on("line", (text) => {
  if (JSON.parse(text).type !== "user") return;
  say({ type: "glyph", key: process.env.ANTHROPIC_API_KEY });
  say({ type: "result", subtype: "success", is_error: false, duration_ms: 1, duration_api_ms: 1, num_turns: 1,
    result: "", total_cost_usd: 0, usage: {}, modelUsage: {}, permission_denials: [] });
});`;

test("lines of an unknown shape are counted and shown, and are wrong; the user's key is not handed out", async () => {
  const ran = await doctor(["claude"], { claude: { script: drifted } });
  expect(ran.stdout).toMatch(
    /^claude +9\.9\.9 +found +completed +unchanged +2 +1 +it says what this Franca does not know/m,
  );
  expect(ran.stdout).toMatch(/^claude: Not a line of claude as we know it: .*"type":"glyph","key":"dummy"/m);
  expect(ran.code).toBe(1);
});

test("a program that dies is wrong, and one that cannot be scripted is only looked at", async () => {
  const [dying, amp] = await Promise.all([
    doctor(["claude", "mock", "--json"], { claude: { script: "process.exit(3)" } }),
    doctor(["amp"], { amp: { script: 'console.log("0.0.1")' } }),
  ]);
  expect(findings(dying)).toEqual([
    expect.objectContaining({ agent: "claude", state: "wrong", turn: "error", advice: expect.stringContaining("3") }),
    expect.objectContaining({ agent: "mock", state: "well" }),
  ]);
  expect(dying.code).toBe(1);
  expect(amp.stdout).toMatch(/^amp +0\.0\.1 +missing .*no login: set AMP_API_KEY.*only looked at/m);
  expect(amp.code).toBe(1);
});
