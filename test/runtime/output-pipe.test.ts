/** Agents write to a pipe, as in a shell: nothing is lost, mixed or left open; and without pipes they run too. */
import { readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { afterEach, describe, expect, test, vi } from "vitest";
import type { Exit } from "../../src/core/agent-io.ts";
import { openOutputPipe } from "../../src/runtime/agent/output-pipe.ts";
import { startProcess } from "../../src/runtime/agent/process.ts";

const { PATH } = process.env;
afterEach(() => {
  process.env.PATH = PATH;
});

const isUnix = process.platform !== "win32";

interface Ended {
  readonly text: string;
  readonly exit: Exit;
}

function run(script: string, output: Awaited<ReturnType<typeof openOutputPipe>>): Promise<Ended> {
  return new Promise((resolve) => {
    const heard: string[] = [];
    startProcess({
      command: process.execPath,
      args: ["-e", script],
      directory: tmpdir(),
      environment: {},
      runId: "test",
      output,
      onText: (text) => heard.push(text),
      onOverlong: () => {},
      onExit: (exit) => resolve({ text: heard.join("\n"), exit }),
      onStuck: () => {},
    });
  });
}

const kind = 'const s = require("fs").fstatSync(1); console.log(s.isFIFO() ? "pipe" : "no pipe");';

describe.skipIf(!isUnix)("a pipe for output", () => {
  test("is what the agent writes to, and all of it is read, the last line without its newline too", async () => {
    const script = `${kind} for (let i = 0; i < 20000; i += 1) console.log("line " + i); process.stdout.write("last")`;
    const { text, exit } = await run(script, await openOutputPipe());
    const lines = text.split("\n");
    expect(exit).toMatchObject({ code: 0 });
    expect(lines[0]).toBe("pipe");
    expect(lines.slice(1)).toEqual([...Array.from({ length: 20_000 }, (_, index) => `line ${index}`), "last"]);
  });

  test("belongs to one agent, and none is left open", async () => {
    const sayings = Array.from({ length: 6 }, (_, index) => `agent ${index}`);
    const runOnce = () =>
      Promise.all(sayings.map(async (said) => (await run(`console.log("${said}")`, await openOutputPipe())).text));
    expect(await runOnce()).toEqual(sayings);
    const before = readdirSync("/dev/fd").length;
    for (let round = 0; round < 4; round += 1) expect(await runOnce()).toEqual(sayings);
    // A few are made ahead, and as many again while the last ones were taken.
    expect(readdirSync("/dev/fd").length - before).toBeLessThanOrEqual(16);
  });

  test("a program that cannot be started leaves none open either", async () => {
    const output = await openOutputPipe();
    const exit = await new Promise<Exit>((resolve) =>
      startProcess({
        command: "/no/such/program",
        args: [],
        directory: tmpdir(),
        environment: {},
        runId: "test",
        output,
        onText: () => {},
        onOverlong: () => {},
        onExit: resolve,
        onStuck: () => {},
      }),
    );
    expect(exit).toMatchObject({ error_code: "agent_not_installed" });
  });

  test("where none can be made, a pair of sockets does", async () => {
    vi.resetModules();
    process.env.PATH = "/no/such/folder";
    const fresh = await import("../../src/runtime/agent/output-pipe.ts");
    const output = await fresh.openOutputPipe();
    expect(output).toBeNull();
    const { text } = await run(kind, output);
    expect(text).toBe("no pipe");
  });
});
