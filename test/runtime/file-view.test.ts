/** Programs in the view: their signals, exit codes and output are those of the program, not of its wrapper. */
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Exit } from "../../src/core/agent-io.ts";
import { openFileView } from "../../src/runtime/agent/file-view.ts";
import { type AgentProcess, startProcess } from "../../src/runtime/agent/process.ts";
import { bubblewrap, findViewProgram, sandboxExec } from "../../src/runtime/agent/view-program.ts";
import { temporaryFolder } from "../support/folders.ts";
import { describeNeeding } from "../support/requires.ts";

const program = await findViewProgram();
const missing = "reason" in program ? program.reason : null;
const agent = { name: "Test", capabilities: {} };

function viewOf(folder: string) {
  const [tools, attachments, outputs] = ["tools", "attachments", "outputs"].map((name) => join(folder, "data", name));
  const places = { tools: tools ?? "", attachments: attachments ?? "", outputs: outputs ?? "" };
  const view = openFileView({ mode: "require", folder: join(folder, "data"), files: [], ...places });
  return view.open({ session: "s", agent, shared: false });
}

/** Starts a shell script in the view; `onText` gets its output. */
async function start(script: string, onText: (text: string, running: AgentProcess) => void = () => {}) {
  const directory = temporaryFolder();
  const environment = { PATH: process.env.PATH ?? "", FRANCA_RUN_ID: `view-${directory}` };
  const shell = { command: "/bin/sh", args: ["-c", script], directory, path: environment.PATH };
  const started = await viewOf(directory).start(shell);
  return new Promise<Exit>((resolve) => {
    const running: AgentProcess = startProcess({
      ...started,
      environment,
      runId: environment.FRANCA_RUN_ID,
      onText: (text) => onText(text, running),
      onOverlong: () => {},
      onExit: resolve,
      onStuck: () => {},
    });
  });
}

const trap = (code: number): string => `trap 'exit ${code}' INT TERM; echo ready; while :; do sleep 0.1; done`;

describeNeeding("a program in the view", { missing }, () => {
  test("its exit code is passed on", async () => {
    expect(await start("exit 3")).toMatchObject({ code: 3, signal: null });
  });

  test("the signal that ended it is passed on", async () => {
    expect(await start("kill -KILL $$")).toMatchObject({ code: null, signal: "SIGKILL" });
  });

  test("an interrupt reaches the program, which ends as it wants", async () => {
    const exit = await start(trap(7), (_text, running) => running.signal("SIGINT"));
    expect(exit).toMatchObject({ code: 7, signal: null });
  });

  test("a stop lets the program end by itself", async () => {
    const exit = await start(trap(8), (_text, running) => void running.stop());
    expect(exit).toMatchObject({ code: 8, signal: null });
  });

  test("a program that ignores signals is killed", async () => {
    const stubborn = "trap '' INT TERM; echo ready; while :; do sleep 0.1; done";
    const ladder = [{ signal: "SIGTERM", waitMs: 50 }] as const;
    const exit = await start(stubborn, (_text, running) => void running.stop(ladder));
    expect(exit).toMatchObject({ code: null, signal: "SIGKILL" });
  });
});

test("a directory in the data folder is refused", async () => {
  if (missing !== null) return;
  const folder = temporaryFolder();
  const inside = { command: "/bin/sh", args: [], directory: join(folder, "data", "work"), path: "" };
  await expect(viewOf(folder).start(inside)).rejects.toThrow(/is in Franca's data folder/);
});

test("the command lines of both programs", () => {
  const places = { hiddenFolder: "/no/data", hiddenFiles: ["/no/token"], readable: ["/no/data/tools"] };
  const asked = { command: "agent", args: ["--acp"] };
  expect(bubblewrap("/usr/bin/bwrap", { asRoot: false }).commandLine(places, asked)).toEqual({
    command: "/usr/bin/bwrap",
    args: ["--dev-bind", "/", "/", "--ro-bind-try", "/no/data/tools", "/no/data/tools", "--", "agent", "--acp"],
  });
  const { args } = sandboxExec("/usr/bin/sandbox-exec").commandLine(places, asked);
  expect(args[1]?.split("\n")).toEqual([
    "(version 1)",
    "(allow default)",
    '(deny file-read* file-write* (subpath "/no/data"))',
    '(allow file-read-metadata (literal "/no/data"))',
    '(allow file-read* (subpath "/no/data/tools"))',
    '(deny file-read* file-write* (literal "/no/token"))',
  ]);
  expect(args.slice(2)).toEqual(["agent", "--acp"]);
});
