/** A program in the place of Amp's that will not end: it ignores signals and leaves a process outside its group. */
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const STUBBORN = `#!${process.execPath}
if (process.argv.includes("--version")) { console.log("0.0.1"); process.exit(0); }
const { spawn } = require("node:child_process");
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => {});
const line = (value) => process.stdout.write(JSON.stringify(value) + "\\n");
process.stdout.on("error", () => {});
line({ type: "system", subtype: "init", cwd: process.cwd(), session_id: "T-1", tools: ["Bash"], mcp_servers: [] });
const child = spawn("sleep", ["1000"], { stdio: "ignore", detached: true });
const text = "working " + process.pid + " " + child.pid + ".";
const message = { type: "message", role: "assistant", content: [{ type: "text", text }], stop_reason: "end_turn" };
line({ type: "assistant", message, parent_tool_use_id: null, session_id: "T-1" });
setInterval(() => {}, 1000);
`;

/** The environment in which it is found as Amp. */
export function installStubbornAmp(home: string): Readonly<Record<string, string>> {
  const bin = join(home, "bin");
  mkdirSync(bin);
  writeFileSync(join(bin, "amp"), STUBBORN);
  chmodSync(join(bin, "amp"), 0o755);
  return { PATH: `${bin}:${process.env.PATH}`, AMP_API_KEY: "none" };
}

/** The agent and the process that left its group, as it reports them; null until it has. */
export function stubbornPids(output: string): number[] | null {
  const [, agent, command] = /working (\d+) (\d+)\./.exec(output) ?? [];
  return agent === undefined || command === undefined ? null : [Number(agent), Number(command)];
}
