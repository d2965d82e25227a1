/**
 * The real OpenCode against a scripted model: folders of its own, no network, and a way to kill it and to cut its
 * stream.
 */
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import { opencode } from "../../src/adapters/opencode/index.ts";
import { serveOpenAi } from "../../src/model-server/openai.ts";
import type { ScriptBlock, ScriptTurn } from "../../src/model-server/script.ts";
import type { ModelServer } from "../../src/model-server/serve.ts";
import type { EventOf } from "../../src/protocol/events.ts";
import type { SessionId } from "../../src/protocol/ids.ts";
import type { CreateSession } from "../../src/protocol/resources.ts";
import type { Sessions } from "../../src/runtime/session/contract.ts";
import { allSessions } from "../../src/runtime/session/every-session.ts";
import { soundness } from "./agent-turns.ts";
import { opencodeEnvironment, opencodeScript } from "./opencode-trial.ts";
import { open, session, until } from "./sessions.ts";

export interface OpenCodeLab {
  readonly sessions: Sessions;
  readonly model: ModelServer;
  /** A new session in a folder of its own, with this script. */
  readonly begin: (turns: readonly ScriptTurn[], options?: Partial<CreateSession>) => Promise<Begun>;
  /** The process id of the server that was started last. */
  readonly pid: () => number;
  readonly environment: Readonly<Record<string, string>>;
  readonly program: string;
  readonly close: () => Promise<void>;
}

export interface Begun {
  readonly id: SessionId;
  readonly directory: string;
}

export async function openLab(program: string): Promise<OpenCodeLab> {
  const home = mkdtempSync(join(tmpdir(), "franca-opencode-"));
  const model = await serveOpenAi(opencodeScript([]));
  const pidFile = join(home, "pid");
  const wrapper = wrap(home, { program, pidFile });
  const permission = { edit: "allow", bash: { "*": "allow", "touch *": "ask", "echo denied*": "deny" } };
  const environment = opencodeEnvironment({ folder: home, url: model.url }, { permission });
  const before = process.env.PATH;
  process.env.PATH = `${wrapper}:${before}`;
  const sessions = await open(null, { adapters: [opencode] });
  let count = 0;
  return {
    sessions,
    model,
    environment,
    program,
    pid: () => Number(readFileSync(pidFile, "utf8")),
    async begin(turns, options = {}) {
      count += 1;
      const directory = join(home, `work-${count}`);
      mkdirSync(directory);
      writeFileSync(join(directory, "README.md"), "# Demo\n\nA small demo project.\n");
      model.load(opencodeScript(turns));
      const id = session(`s${count}`);
      await sessions.create(id, { agent: "opencode", directory, env: environment, ...options });
      return { id, directory };
    },
    async close() {
      await record(sessions);
      await sessions.close();
      await model.close();
      process.env.PATH = before;
      rmSync(home, { recursive: true, force: true });
    },
  };
}

/** With FRANCA_RECORD, a folder, what was said to and by the agent is kept there: that is how transcripts are made. */
async function record(sessions: Sessions): Promise<void> {
  const folder = process.env.FRANCA_RECORD;
  if (folder === undefined) return;
  for (const { sessionId } of await allSessions(sessions)) {
    const { lines } = await sessions.native(session(sessionId), { offset: 0, limit: 5_000 });
    const kept = lines.map(({ time, from, native }) => JSON.stringify({ t: Date.parse(time), from, line: native }));
    writeFileSync(join(folder, `${sessionId}.jsonl`), `${kept.join("\n")}\n`);
  }
}

/** A program of that name that leaves its process id behind and becomes the real one. */
function wrap(home: string, { program, pidFile }: { program: string; pidFile: string }): string {
  const folder = join(home, "bin");
  mkdirSync(folder);
  const file = join(folder, "opencode");
  writeFileSync(file, `#!/bin/sh\necho $$ > '${pidFile}'\nexec '${program}' "$@"\n`);
  chmodSync(file, 0o755);
  return folder;
}

export const says = (text: string, more: Partial<Extract<ScriptTurn, { type: "answer" }>> = {}): ScriptTurn => ({
  type: "answer",
  blocks: [{ type: "text", text, chunks: 4 }],
  usage: { input: 100, output: 20 },
  ...more,
});

export const calls = (...tools: readonly { readonly name: string; readonly input: unknown }[]): ScriptTurn => ({
  type: "answer",
  blocks: tools.map(({ name, input }): ScriptBlock => ({ type: "tool_call", name, input })),
  usage: { input: 100, output: 20 },
});

export const bash = (command: string) => ({ name: "bash", input: { command, description: "Run a command" } });

export const completed = { reason: "completed", evidence: "signal" };

export const asked = (sessions: Sessions, id: SessionId, after: number): Promise<EventOf<"permission.requested">> =>
  until(sessions, id, { type: "permission.requested", after });

export async function expectSound({ sessions }: OpenCodeLab, { id }: Begun): Promise<void> {
  const { told, ...sound } = await soundness(sessions, id, opencode);
  expect(sound).toEqual({ violations: [], unparsed: 0, converted: told, status: "idle" });
}
