/** The first minute of a stranger: `npm start`, and a terminal that asks before an agent does something. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect, onTestFinished, test } from "vitest";
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
    if (child.exitCode === null && child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
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

describeNeeding("in a terminal", { missing: hasTmux() ? null : "tmux is not installed" }, () => {
  const open = (prompt: string) => {
    const home = temporaryFolder();
    return openTerminal({
      command: ["sh", "-c", `'${process.execPath}' '${program}' run -- ${prompt}; echo "exit $?"; sleep 60`],
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

  test("Ctrl-C at a question stops the turn", async () => {
    const terminal = open("question");
    await terminal.shows(/Which language/);
    terminal.press("C-c");
    expect(await terminal.shows(/exit 130/)).toContain("✗ aborted");
  });
});
