/**
 * A small agent for tests: a real process that speaks JSON lines and misbehaves on request. The prompt's first word
 * says how; its dialect is that of test/support/fake-adapter.ts.
 */
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);
const speak = (text) => {
  say({ type: "text", id: `${turn}`, delta: text });
  say({ type: "done", id: `${turn}` });
};
const end = (reason = "completed") => say({ type: "end", reason });
const sleeper = ["-e", "process.on('SIGTERM',()=>{});process.on('SIGINT',()=>{});setInterval(()=>{},1000)"];

let turn = Date.now();
let answered = () => {};
let stubborn = false;

const plays = {
  echo(rest) {
    speak(rest);
    end();
  },
  env(name) {
    speak(process.env[name] ?? "(unset)");
    end();
  },
  /** As many deltas as asked, as fast as they are taken. */
  async flood(count) {
    for (let sent = 0; sent < Number(count); sent += 1) {
      const free = say({ type: "text", id: `${turn}`, delta: `word ${sent} ` });
      if (!free) await new Promise((resolve) => process.stdout.once("drain", resolve));
    }
    say({ type: "done", id: `${turn}` });
    end();
  },
  async ask() {
    say({ type: "ask", id: `${turn}` });
    const reply = await new Promise((resolve) => {
      answered = resolve;
    });
    speak(`The answer was ${reply}.`);
    end();
  },
  /** Never ends by itself, and heeds no polite signal. */
  stubborn() {
    stubborn = true;
    process.on("SIGTERM", () => {});
    process.on("SIGINT", () => {});
    speak("Nothing stops me.");
    setInterval(() => {}, 1_000);
  },
  /** Stubborn, with a stubborn grandchild in the group and another that leaves it. */
  family() {
    const child = spawn(process.execPath, sleeper, { stdio: "ignore" });
    const away = spawn(process.execPath, sleeper, { stdio: "ignore", detached: true });
    away.unref();
    say({ type: "pids", pids: [process.pid, child.pid, away.pid] });
    plays.stubborn();
  },
  /** Ends its turn, leaves a process behind and exits. */
  leave() {
    const away = spawn(process.execPath, sleeper, { stdio: "ignore", detached: true });
    away.unref();
    say({ type: "pids", pids: [away.pid] });
    setTimeout(() => process.exit(0), 200);
  },
  hang() {},
  crash(code) {
    process.stderr.write("It all went wrong.\n");
    process.exitCode = Number(code || 3);
    process.stdout.write("", () => process.exit());
  },
  /** One line longer than any limit, then an ordinary turn. */
  async huge(megabytes) {
    const part = "x".repeat(1024 * 1024);
    process.stdout.write('{"type":"text","id":"huge","delta":"');
    for (let sent = 0; sent < Number(megabytes); sent += 1) {
      if (!process.stdout.write(part)) await new Promise((resolve) => process.stdout.once("drain", resolve));
    }
    process.stdout.write('"}\n');
    plays.echo("after the huge line");
  },
  /** One line that is nested deeper than any stack, then an ordinary turn. */
  deep(levels) {
    const text = "[".repeat(Number(levels)) + "]".repeat(Number(levels));
    process.stdout.write(`{"type":"text","id":"deep","delta":"","more":${text}}\n`);
    plays.echo("after the deep line");
  },
  async halves() {
    const line = Buffer.from(`${JSON.stringify({ type: "text", id: `${turn}`, delta: "zwölf — \u2028 🎉" })}\n`);
    for (let at = 0; at < line.length; at += 5) {
      process.stdout.write(line.subarray(at, at + 5));
      await new Promise((resolve) => setImmediate(resolve));
    }
    say({ type: "done", id: `${turn}` });
    end();
  },
  garbage() {
    process.stdout.write('this is no JSON\n{"half": \n\n');
    process.stdout.write(Buffer.from([0xff, 0xfe, 0x0a]));
    process.stdout.write('{"type":"nothing we know"}\n');
    plays.echo("still here");
  },
  async stderr(megabytes) {
    const part = "noise\n".repeat(170_000);
    for (let sent = 0; sent < Number(megabytes); sent += 1) {
      if (!process.stderr.write(part)) await new Promise((resolve) => process.stderr.once("drain", resolve));
    }
    plays.echo("after the noise");
  },
};

say({ type: "hello", session: process.argv[2] ?? `fake-${process.pid}` });
createInterface({ input: process.stdin })
  .on("line", (text) => {
    const line = JSON.parse(text);
    if (line.type === "answer") answered(line.reply);
    if (line.type !== "prompt") return;
    turn += 1;
    const [word, ...rest] = line.text.split(" ");
    void (plays[word] ?? plays.echo)(rest.join(" "));
  })
  .on("close", () => {
    if (!stubborn) process.exit(0);
  });
