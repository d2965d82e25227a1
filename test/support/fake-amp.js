#!/usr/bin/env node
/**
 * Stands in for `amp`: the prompt names a recording in transcripts/amp, which it plays on stdout, then it exits as the
 * recorded process did. What waited for a signal waits for one here, and what hung hangs.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";

const recordings = join(import.meta.dirname, "..", "..", "transcripts", "amp");
const [continued, prompt] = readArguments(process.argv.slice(2));
const [scenario = ""] = prompt.trim().split(" ");

const lines = readFileSync(join(recordings, scenario, "native.jsonl"), "utf8")
  .split("\n")
  .filter((line) => line !== "")
  .map((line) => JSON.parse(line));
const told = lines.filter(({ from }) => from === "agent").map(({ line }) => line);
const exit = lines.find(({ from }) => from === "process").line.exit;
const isCancelled = (line) => line?.type === "result" && /^User cancelled/.test(line.error ?? "");

const cancelled = { type: "result", subtype: "error_during_execution", duration_ms: 1, is_error: true, num_turns: 0 };
for (const signal of ["SIGINT", "SIGTERM"]) {
  process.on(signal, () => {
    say({ ...cancelled, error: "User cancelled (SIGINT/SIGTERM)", session_id: thread() });
    process.exitCode = 1;
    process.stdout.end(() => process.exit(1));
  });
}

for (const line of told.filter((one) => !isCancelled(one))) say(asPrompted(line));
if (told.some(isCancelled) || told.at(-1)?.type !== "result") wait();
else process.exitCode = exit.code;

/** A process that was waiting when it was recorded: for a signal, for ever, or until it was killed. */
function wait() {
  if (exit.signal === "SIGKILL" && scenario.includes("kill9")) process.kill(process.pid, "SIGKILL");
  setInterval(() => {}, 1_000_000);
}

/** The thread and the prompt are those we were called with. */
function asPrompted(line) {
  const spoken = { ...line, session_id: thread() };
  if (line.type !== "user" || line.message.content[0]?.type !== "text") return spoken;
  return { ...spoken, message: { ...line.message, content: [{ type: "text", text: prompt }] } };
}

function thread() {
  return continued ?? told[0].session_id;
}

function say(line) {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

/** The documented command lines, and no others. */
function readArguments(args) {
  const rest = [...args];
  let thread = null;
  if (rest[0] === "threads" && rest[1] === "continue") [, , thread] = rest.splice(0, 3);
  if (rest[0] === "--version") {
    console.log("0.0.0-fake");
    process.exit(0);
  }
  const [flag, text, ...options] = rest;
  const known = ["--stream-json", "--stream-json-thinking", "--no-archive-after-execute", "--mode", "low", "high"];
  const unknown = options.filter((option) => !known.includes(option));
  if (flag !== "-x" || text === undefined || unknown.length > 0 || !options.includes("--stream-json")) {
    console.error(`error: unknown arguments ${JSON.stringify(args)}`);
    process.exit(2);
  }
  return [thread, text];
}
