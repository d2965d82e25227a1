/** The first minute of a stranger: `npm start`, and a terminal that asks before an agent does something. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect, onTestFinished, test } from "vitest";
import { connect } from "../../src/sdk/index.ts";
import { program, testEnvironment } from "../support/daemon.ts";
import { temporaryFolder } from "../support/folders.ts";
import { describeNeeding } from "../support/requires.ts";
import { hasTmux, openTerminal } from "../support/terminal.ts";

const root = join(import.meta.dirname, "..", "..");

test("npm start prints one line with the address, and the daemon is healthy", async () => {
  const home = temporaryFolder();
  const child = spawn("npm", ["start", "--", "--port", "0"], {
    cwd: root,
    env: testEnvironment(home),
    stdio: ["ignore", "pipe", "inherit"],
    detached: true,
  });
  onTestFinished(() => {
    const isOver = child.exitCode !== null || child.signalCode !== null;
    if (!isOver && child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
  });
  const lines: string[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    lines.push(line);
    if (line.startsWith("Try")) break;
  }
  const addressed = lines.filter((line) => line.includes("http://"));
  expect(addressed).toEqual([expect.stringMatching(/http:\/\/127\.0\.0\.1:\d+$/)]);
  const url = /http:\S+/.exec(addressed[0] ?? "")?.[0];
  expect(await (await fetch(`${url}/v1/health`)).json()).toMatchObject({ status: "ok" });
  const ended = once(child, "exit");
  if (child.pid !== undefined) process.kill(-child.pid, "SIGTERM");
  await ended;
  await expect(fetch(`${url}/v1/health`)).rejects.toThrow();
});

test("V8's optimizing compiler is off during the start and on afterwards", async () => {
  const home = temporaryFolder();
  const args = ["--trace-opt", program, "serve", "--no-token", "--port", "0"];
  const child = spawn(process.execPath, args, { env: testEnvironment(home), stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  const optimized = { inStart: 0, inTurn: 0 };
  let url = "";
  let turn: Promise<unknown> | null = null;
  for await (const line of createInterface({ input: child.stdout })) {
    url ||= /http:\S+/.exec(line)?.[0] ?? "";
    if (line.startsWith("Try")) turn = flood(url, home);
    else if (/completed optimizing.*TURBOFAN/.test(line)) optimized[turn === null ? "inStart" : "inTurn"] += 1;
    if (optimized.inTurn > 0) break;
  }
  child.stdout.resume();
  await turn;
  expect(optimized).toEqual({ inStart: 0, inTurn: 1 });
});

test("the young generation of V8's heap stays small in a flood", async () => {
  const home = temporaryFolder();
  const probe = `import { getHeapSpaceStatistics } from "node:v8";
    const young = () => getHeapSpaceStatistics().find(({ space_name }) => space_name === "new_space").space_size;
    process.on("SIGUSR2", () => console.log("young", young()));`;
  const args = ["--import", `data:text/javascript,${encodeURIComponent(probe)}`, program, "serve", "--no-token"];
  const child = spawn(process.execPath, [...args, "--port", "0"], {
    env: testEnvironment(home),
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  let url = "";
  let young = 0;
  for await (const line of createInterface({ input: child.stdout })) {
    url ||= /http:\S+/.exec(line)?.[0] ?? "";
    if (line.startsWith("Try")) void flood(url, home, 200_000).then(() => child.kill("SIGUSR2"));
    young = Number(/^young (\d+)/.exec(line)?.[1] ?? 0);
    if (young > 0) break;
  }
  expect(young).toBeLessThanOrEqual(16 * 1024 * 1024);
});

async function flood(url: string, directory: string, deltas = 20_000): Promise<void> {
  const session = await connect({ url, token: false }).create({ agent: "mock", directory });
  await session.run(`flood ${deltas}`);
}

describeNeeding("in a terminal", { missing: hasTmux() ? null : "tmux is not installed" }, () => {
  const open = (prompt: string) => {
    const home = temporaryFolder();
    return openTerminal({
      // The shell hears Ctrl-C too, until the question listens for keys.
      command: [
        "sh",
        "-c",
        `trap : INT; '${process.execPath}' '${program}' run -- ${prompt}; echo "exit $?"; sleep 60`,
      ],
      env: testEnvironment(home),
      screens: join(root, "test-output", "screens"),
    });
  };

  test("permissions are asked for, and the answer counts", async () => {
    const terminal = open("permission");
    await terminal.shows(/Allow bash\?[\s\S]*Yes, this time/);
    terminal.press("y");
    await terminal.shows(/Allow edit\?[\s\S]*Yes, this time/);
    terminal.press("Enter");
    const screen = await terminal.shows(/exit 0/);
    expect(screen).toContain("Done: bash was allowed, edit was rejected.");
    expect(screen).toMatch(/✓ completed · .* tokens in/);
    terminal.keep("run-permission");
  });

  test.each([
    ["at a question", /● TypeScript/],
    ["right before a question", /\? Which language/],
  ])("Ctrl-C %s stops the turn", async (_when, shown) => {
    const terminal = open("question");
    await terminal.shows(shown);
    terminal.press("C-c");
    expect(await terminal.shows(/exit 130/)).toContain("✗ aborted");
  });
});
