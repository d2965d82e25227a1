/** The program as people type it: output, exit codes, signals, and the way to a daemon. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { UniversalEvent } from "../../src/protocol/events.ts";
import { franca, program, serve, testEnvironment } from "../support/daemon.ts";
import { temporaryFolder } from "../support/folders.ts";

const eventsIn = (stdout: string): UniversalEvent[] =>
  stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));

test("version and help come at once; a wrong word is wrong usage", async () => {
  const home = temporaryFolder();
  const manifest = JSON.parse(readFileSync(join(import.meta.dirname, "..", "..", "package.json"), "utf8"));
  const [version, help, runHelp, wrong, flag, nothing] = await Promise.all([
    franca(["--version"], { home }),
    franca(["--help"], { home }),
    franca(["run", "--help"], { home }),
    franca(["dance"], { home }),
    franca(["run", "--colour", "red", "--", "x"], { home }),
    franca(["run"], { home }),
  ]);
  expect([version.code, version.stdout]).toEqual([0, `${manifest.version}\n`]);
  expect(help.code).toBe(0);
  for (const name of ["run", "serve", "daemon", "attach", "sessions", "agents", "events", "convert", "lint"]) {
    expect(help.stdout).toMatch(new RegExp(`^  ${name}\\b`, "m"));
  }
  expect(runHelp.stdout).toContain("Examples:");
  expect([wrong.code, flag.code, nothing.code]).toEqual([2, 2, 2]);
  expect(nothing.stderr).toContain("There is no prompt");
  const branch = await franca(["run", "--worktree", "hi"], { home });
  expect(branch.stderr).toContain('--worktree took "hi" for its branch. Write -- before the prompt.');
});

test("run, without a daemon: the answer on standard output, the rest beside it, and an exit code", async () => {
  const home = temporaryFolder();
  const [echo, piped, failed, unknown] = await Promise.all([
    franca(["run", "--", "echo", "hello world"], { home }),
    franca(["run", "--agent", "mock"], { home, input: "echo from a pipe\n" }),
    franca(["run", "--", "error"], { home }),
    franca(["run", "--agent", "nobody", "--", "x"], { home }),
  ]);
  expect([echo.code, echo.stdout]).toEqual([0, "hello world\n"]);
  expect(echo.stderr).toMatch(/✓ completed · \d+ .* tokens in, \d+ out/);
  expect([piped.code, piped.stdout]).toEqual([0, "from a pipe\n"]);
  expect(failed.code).toBe(1);
  expect(failed.stderr).toContain("✗ error: The scripted model failed.");
  expect([unknown.code, unknown.stderr]).toEqual([1, expect.stringContaining("(unsupported_agent)")]);
});

test("run --format universal is events and nothing else; --resume goes on", async () => {
  const home = temporaryFolder();
  const first = await franca(["run", "--format", "universal", "--", "tool"], { home });
  const events = eventsIn(first.stdout);
  expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, index) => index + 1));
  expect(events.at(-1)?.type).toBe("turn.ended");
  const id = events[0]?.session_id ?? "";

  const again = await franca(["run", "--resume", id, "--", "echo more"], { home });
  expect([again.code, again.stdout]).toEqual([0, "more\n"]);
  const native = events.find(({ native_session_id }) => native_session_id !== null)?.native_session_id ?? "";
  const byNative = await franca(["run", "--resume", native, "--", "echo yet more"], { home });
  expect([byNative.code, byNative.stdout]).toEqual([0, "yet more\n"]);
  const listed = JSON.parse((await franca(["sessions", "list", "--json"], { home })).stdout);
  expect(listed.sessions).toMatchObject([{ sessionId: id, status: "idle", agent: "mock" }]);
  const missing = await franca(["run", "--resume", "nobody", "--", "x"], { home });
  expect([missing.code, missing.stderr]).toEqual([1, expect.stringContaining("(session_not_found)")]);
});

test("without a terminal, permissions and questions are rejected at once, and it is said; flags decide otherwise", async () => {
  const home = temporaryFolder();
  const run = (flags: string[], prompt: string) => franca(["run", ...flags, "--", prompt], { home });
  const [absent, approved, denied, question] = await Promise.all([
    run([], "permission"),
    run(["--auto-approve"], "permission"),
    run(["--deny"], "permission"),
    run([], "question"),
  ]);
  expect(absent.stdout).toContain("bash was rejected, edit was rejected");
  expect(absent.stderr).toContain("there is no terminal to ask on");
  expect(approved.stdout).toContain("bash was allowed, edit was allowed");
  expect(denied.stdout).toContain("bash was rejected, edit was rejected");
  expect(denied.stderr).not.toContain("no terminal");
  expect(question.stderr).toContain("The question is rejected");
  expect([absent, approved, denied, question].map(({ code }) => code)).toEqual([0, 0, 0, 0]);
  expect((await run(["--deny", "--auto-approve"], "x")).code).toBe(2);
});

interface Running {
  readonly stdout: () => string;
  readonly exit: Promise<[number | null, NodeJS.Signals | null]>;
  readonly kill: (signal: NodeJS.Signals) => void;
  readonly untilPrinted: (text: string) => Promise<void>;
}

function start(args: readonly string[], home: string): Running {
  const child = spawn(process.execPath, [program, ...args], { env: testEnvironment(home), cwd: home });
  onTestFinished(() => void child.kill("SIGKILL"));
  let stdout = "";
  let check = (): void => {};
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
    check();
  });
  return {
    stdout: () => stdout,
    exit: once(child, "close") as Promise<[number | null, NodeJS.Signals | null]>,
    kill: (signal) => void child.kill(signal),
    untilPrinted: (text) =>
      new Promise((resolve) => {
        check = () => {
          if (stdout.includes(text)) resolve();
        };
        check();
      }),
  };
}

test("Ctrl-C aborts the turn and exits with 130; SIGTERM aborts it too", async () => {
  const home = temporaryFolder();
  const args = ["run", "--format", "universal", "--", "hang"];
  const interrupted = start(args, home);
  await interrupted.untilPrinted('"turn.started"');
  interrupted.kill("SIGINT");
  expect(await interrupted.exit).toEqual([130, null]);
  expect(eventsIn(interrupted.stdout()).at(-1)).toMatchObject({ type: "turn.ended", data: { reason: "aborted" } });

  const terminated = start(args, home);
  await terminated.untilPrinted('"turn.started"');
  terminated.kill("SIGTERM");
  expect(await terminated.exit).toEqual([1, null]);
  expect(eventsIn(terminated.stdout()).at(-1)).toMatchObject({ type: "turn.ended", data: { reason: "aborted" } });
});

test("sessions: show, export, events, prune and delete", async () => {
  const home = temporaryFolder();
  const ran = await franca(["run", "--format", "universal", "--", "todo"], { home });
  const id = eventsIn(ran.stdout)[0]?.session_id ?? "";
  const [shown, exported, printed, native, kept, dry] = await Promise.all([
    franca(["sessions", "show", id.slice(0, 8)], { home }),
    franca(["sessions", "export", id], { home }),
    franca(["events", id, "--offset", "2"], { home }),
    franca(["sessions", "export", "--native", id], { home }),
    franca(["sessions", "prune", "--older-than", "1h", "--json"], { home }),
    franca(["sessions", "prune", "--older-than", "0s", "--dry-run"], { home }),
  ]);
  expect(shown.stdout).toMatch(/status\s+idle[\s\S]*› todo\n[\s\S]*✓ completed/);
  expect(dry.stdout).toContain("1 session would be deleted.");
  const back = await franca(["convert", "--to", "text"], { home, input: exported.stdout });
  expect([back.code, back.stdout]).toEqual([0, expect.stringContaining("› todo\n")]);
  await franca(["sessions", "rename", id, "A", "new", "title"], { home });
  expect((await franca(["sessions"], { home })).stdout).toMatch(new RegExp(`^${id.slice(0, 8)} .* A new title$`, "m"));
  const events = eventsIn(exported.stdout);
  expect(events.slice(0, eventsIn(ran.stdout).length)).toEqual(eventsIn(ran.stdout));
  expect(eventsIn(printed.stdout)).toEqual(events.slice(2));
  expect(native.stdout.trim().split("\n").length).toBeGreaterThan(3);
  expect(JSON.parse(kept.stdout)).toEqual({ deleted: [] });
  expect((await franca(["sessions", "prune", "--older-than", "0s", "--json", "--yes"], { home })).stdout).toContain(id);
  expect((await franca(["sessions", "list"], { home })).stdout).toContain("There are no sessions yet.");
  expect((await franca(["sessions", "delete", id], { home })).stderr).toContain("(session_not_found)");
  expect((await franca(["sessions", "prune", "--older-than", "soon"], { home })).code).toBe(2);
});

test("where a daemon holds the data folder, commands talk to it", async () => {
  const home = temporaryFolder();
  const { url, child, token } = await serve({ home, args: ["--port", "0"] });
  const ran = await franca(["run", "--", "echo through the daemon"], { home });
  expect(ran.stdout).toBe("through the daemon\n");
  const { sessions } = (await fetchJson(`${url}/v1/sessions`, token)) as { sessions: { sessionId: string }[] };
  expect(sessions).toHaveLength(1);
  const id = sessions[0]?.sessionId ?? "";
  const attached = await franca(["attach", id], { home, input: "echo typed here\n" });
  expect([attached.code, attached.stdout]).toEqual([0, expect.stringContaining("typed here\n")]);
  expect(attached.stdout).toContain("through the daemon");
  const status = await franca(["daemon", "status", "--json"], { home });
  expect(JSON.parse(status.stdout)).toMatchObject({ running: true, url, pid: child.pid });

  const second = await franca(["serve", "--port", "0"], { home });
  expect([second.code, second.stderr]).toEqual([1, expect.stringContaining(url)]);
  const elsewhere = temporaryFolder();
  const stranger = await franca(["sessions", "list", "--json", "--attach", url], { home: elsewhere });
  expect([stranger.code, stranger.stderr]).toEqual([1, expect.stringContaining("franca token")]);
  const tokenFile = join(home, "share", "franca", "token");
  const known = ["sessions", "list", "--json", "--attach", url, "--token-file", tokenFile];
  const remote = await franca(known, { home: elsewhere });
  expect(JSON.parse(remote.stdout).sessions).toMatchObject([{ sessionId: id }]);
  const dead = await franca(["sessions", "list", "--attach", "http://127.0.0.1:1"], { home: elsewhere });
  expect([dead.code, dead.stderr]).toEqual([1, expect.stringContaining("No daemon answers at http://127.0.0.1:1")]);
  expect(dead.stderr).toContain("franca serve");
  for (const address of ["nowhere", "ftp://127.0.0.1"]) {
    const wrong = await franca(["run", "--attach", address, "--", "echo"], { home: elsewhere });
    expect([wrong.code, wrong.stderr]).toEqual([
      2,
      `franca: "${address}" is no address of a daemon; write it like http://127.0.0.1:7717.\n`,
    ]);
  }
});

test("serve says where it listens on one line, what it found, what to try, and stops on SIGTERM", async () => {
  const home = temporaryFolder();
  writeFileSync(join(home, "franca.json"), '{ "port": 0, "token": "secret" }');
  const running = start(["server", "--config", join(home, "franca.json")], home);
  await running.untilPrinted("Try");
  const [first, ...rest] = running.stdout().trim().split("\n");
  const url = /http:\/\/127\.0\.0\.1:\d+/.exec(first ?? "")?.[0];
  expect((await fetch(`${url}/v1/health`)).status).toBe(200);
  expect((await fetch(`${url}/v1/sessions`)).status).toBe(401);
  expect(rest.join("\n")).not.toContain("http://");
  expect(rest.join("\n")).toMatch(/^Agents: .*\bmock\b/m);
  expect(running.stdout()).not.toContain("secret");
  running.kill("SIGTERM");
  expect(await running.exit).toEqual([0, null]);
});

test("serve refuses what is unsafe or impossible", async () => {
  const home = temporaryFolder();
  const { url } = await serve({ home: temporaryFolder(), args: ["--port", "0"] });
  const port = new URL(url).port;
  const [open, origins, opaque, busy, unwritable, level, agent] = await Promise.all([
    franca(["serve", "--host", "0.0.0.0", "--no-token"], { home }),
    franca(["serve", "--no-token", "--cors-allow-origin", "*"], { home }),
    franca(["serve", "--cors-allow-origin", "null"], { home }),
    franca(["serve", "--port", port], { home }),
    franca(["serve", "--port", "0", "--data", "/proc/version/franca"], { home }),
    franca(["serve", "--log-level", "loud"], { home }),
    franca(["serve", "--port", "0", "--default-agent", "nobody"], { home }),
  ]);
  expect([open.code, open.stderr]).toEqual([2, expect.stringContaining("--no-token")]);
  expect([origins.code, origins.stderr]).toEqual([2, expect.stringContaining("--cors-allow-origin")]);
  expect([opaque.code, opaque.stderr]).toEqual([2, expect.stringContaining("--cors-allow-origin")]);
  expect([busy.code, busy.stderr]).toEqual([1, expect.stringContaining(`Port ${port}`)]);
  expect([unwritable.code, unwritable.stderr]).toEqual([1, expect.stringContaining("/proc/version/franca")]);
  expect(level.code).toBe(2);
  expect([agent.code, agent.stderr]).toEqual([2, expect.stringMatching(/no agent nobody\..* mock,/)]);
});

test("daemon start, status and stop", async () => {
  const home = temporaryFolder();
  const started = await franca(["daemon", "start", "--port", "0"], { home });
  expect([started.code, started.stdout]).toEqual([0, expect.stringMatching(/listens on http:\/\/127\.0\.0\.1:\d+/)]);
  onTestFinished(() => void franca(["daemon", "stop"], { home }));
  const again = await franca(["daemon", "start", "--port", "0"], { home });
  expect([again.code, again.stdout]).toEqual([0, expect.stringContaining("runs already")]);
  expect((await franca(["run", "--", "echo hi"], { home })).stdout).toBe("hi\n");
  expect((await franca(["daemon", "stop"], { home })).stdout).toBe("The daemon is stopped.\n");
  expect((await franca(["daemon", "status"], { home })).code).toBe(1);
});

async function fetchJson(url: string, token: string | null): Promise<unknown> {
  return (await fetch(url, { headers: { authorization: `Bearer ${token}` } })).json();
}
