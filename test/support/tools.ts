/** Tools of the builtin agent without a model: called by hand, with a law that says who would have been asked. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { type PermissionConfig, type Policy, readRules } from "../../src/builtin/permission/policy.ts";
import { fileLedger } from "../../src/builtin/tools/files.ts";
import { findTool, tools } from "../../src/builtin/tools/index.ts";
import { Denied, type ToolContext, ToolFailure, type ToolOutcome } from "../../src/builtin/tools/tool.ts";
import type { PermissionMode } from "../../src/protocol/events.ts";
import { fullView } from "../../src/runtime/agent/file-view.ts";
import { isInside } from "../../src/runtime/confine.ts";

export interface Bench {
  readonly directory: string;
  /** A folder beside it: whatever reaches it has got out. */
  readonly outside: string;
  readonly outputs: string;
  /** What a person would have been asked, `action: patterns`. */
  readonly asked: string[];
  /** Pieces of output, as they came. */
  readonly said: string[];
  readonly run: (tool: string, input: unknown) => Promise<ToolOutcome | { denied: string } | { failure: string }>;
  readonly abort: () => void;
}

export interface BenchOptions {
  readonly mode?: PermissionMode;
  readonly permission?: PermissionConfig;
  /** What the person says to every request. */
  readonly reply?: "once" | "reject";
  readonly ripgrep?: string | null;
  /** Hides the data folder, `data` in the working directory. */
  readonly hidden?: boolean;
}

export function openBench({
  mode = "default",
  permission = {},
  reply = "reject",
  ripgrep = null,
  hidden = false,
}: BenchOptions = {}): Bench {
  const house = realpathSync(mkdtempSync(join(tmpdir(), "franca-tools-")));
  onTestFinished(() => rmSync(house, { recursive: true, force: true }));
  const [directory, outside, outputs, data] = ["inside", "outside", "outputs", "inside/data"].map((name) =>
    join(house, name),
  );
  if (directory === undefined || outside === undefined || outputs === undefined || data === undefined)
    throw new Error("no folders");
  for (const folder of [directory, outside, outputs]) mkdirSync(folder);
  const policy: Policy = { mode, rules: readRules(permission), remembered: [] };
  const view = { ...fullView, hides: (path: string) => hidden && isInside({ directory: data, path }) };
  const asked: string[] = [];
  const said: string[] = [];
  const stop = new AbortController();
  let calls = 0;
  const context = (): ToolContext => {
    calls += 1;
    return {
      ...{
        directory,
        outputDirectory: outputs,
        dataDirectory: data,
        sessionId: "s",
        callId: `call_${calls}`,
        signal: stop.signal,
        ripgrep,
      },
      files,
      environment: { PATH: process.env.PATH ?? "", HOME: outside },
      emit: (delta) => void said.push(delta),
      view,
      processes: { begin: async () => `run-${directory}-${calls}`, ended: () => {} },
      todos: { read: () => [], write: () => {} },
      ask: async () => [],
      delegate: async () => "",
      async permit({ judge, action, patterns }) {
        const verdict = judge(policy);
        if (verdict.action === "deny") throw new Denied(verdict.reason, { by: "rule", silent: false });
        if (verdict.action === "allow") return;
        asked.push(`${action}: ${patterns.join(", ")}`);
        if (reply === "reject") throw new Denied("no", { by: "person", silent: true });
      },
    };
  };
  const files = fileLedger();
  return {
    ...{ directory, outside, outputs, asked, said },
    abort: () => stop.abort(),
    async run(name, input) {
      try {
        const tool = findTool(tools, name);
        if (tool === null) throw new Error(`no tool ${name}`);
        return await tool.prepare(input).run(context());
      } catch (error) {
        if (error instanceof Denied) return { denied: error.message };
        if (error instanceof ToolFailure) return { failure: error.message };
        throw error;
      }
    },
  };
}
