/** The real Codex behind the real runtime, with a scripted model: no network, no tokens, a home of its own. */
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect } from "vitest";
import { codex } from "../../src/adapters/codex/index.ts";
import { type CodexSetup, setup as setupFor } from "../../src/adapters/codex/trial.ts";
import { prepare } from "../../src/cli/doctor-trial.ts";
import { serveOpenAi } from "../../src/model-server/openai.ts";
import type { Script, ScriptBlock, ScriptTurn } from "../../src/model-server/script.ts";
import type { ModelServer } from "../../src/model-server/serve.ts";
import type { UniversalEvent } from "../../src/protocol/events.ts";
import { type SessionId, sessionId } from "../../src/protocol/ids.ts";
import type { Item } from "../../src/protocol/items.ts";
import type { CreateSession } from "../../src/protocol/resources.ts";
import type { Sessions } from "../../src/runtime/session/contract.ts";
import { processesIn } from "./processes.ts";
import { describeNeeding } from "./requires.ts";
import { eventsAfter, open, wholeLog } from "./sessions.ts";

export interface CodexAgent {
  readonly sessions: Sessions;
  readonly server: ModelServer;
  /** Where sessions work. */
  readonly work: string;
  readonly create: (name: string, options?: Partial<CreateSession>) => Promise<SessionId>;
  /** Opens the same store again, as after a restart. */
  readonly reopen: () => Promise<Sessions>;
  readonly close: () => Promise<void>;
}

async function openCodex(binary: string, script: Script, setup: CodexSetup) {
  const server = await serveOpenAi(script);
  const folder = mkdtempSync(join(tmpdir(), "franca-codex-"));
  const [work, tools] = [join(folder, "work"), join(folder, "tools")];
  const programs = join(tools, "codex", "node_modules", ".bin");
  for (const path of [work, programs]) mkdirSync(path, { recursive: true });
  symlinkSync(binary, join(programs, "codex"));
  writeFileSync(join(work, "README.md"), "# Demo\n\nA small demo project.\n");
  const env = prepare(setupFor({ folder, url: server.url }, setup));
  const start = (): Promise<Sessions> => open(join(folder, "data"), { adapters: [codex], toolsFolder: tools });
  let sessions = await start();
  const agent: CodexAgent = {
    get sessions() {
      return sessions;
    },
    server,
    work,
    async create(name, options = {}) {
      const id = sessionId(name);
      await sessions.create(id, { agent: "codex", directory: work, permissionMode: "bypass", env, ...options });
      return id;
    },
    async reopen() {
      await sessions.close();
      sessions = await start();
      return sessions;
    },
    async close() {
      await sessions.close();
      await server.close();
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
  return agent;
}

export const says = (text: string, more: Partial<Extract<ScriptTurn, { type: "answer" }>> = {}): ScriptTurn => ({
  type: "answer",
  blocks: [{ type: "text", text, chunks: 2 }],
  ...more,
});

export const calls = (...tools: readonly { name: string; input: unknown; id?: string }[]): ScriptTurn => ({
  type: "answer",
  blocks: tools.map((tool): ScriptBlock => ({ type: "tool_call", ...tool })),
});

export const runs = (cmd: string, more: Readonly<Record<string, unknown>> = {}): ScriptTurn =>
  calls({ name: "exec_command", input: { cmd, ...more } });

/** Sent in small pieces with pauses, so that there is time to do something meanwhile. */
export const slowly = (text: string): ScriptTurn => ({
  type: "answer",
  blocks: [{ type: "text", text, chunks: text.length }],
  chunkDelayMs: 50,
});

/** Waits for an event that fits, and fails with what came instead. */
export async function seen(
  sessions: Sessions,
  id: SessionId,
  fits: (event: UniversalEvent) => boolean,
  { after = 0 }: { after?: number } = {},
): Promise<UniversalEvent> {
  const deadline = AbortSignal.timeout(60_000);
  for await (const event of eventsAfter(sessions, id, { after, signal: deadline })) if (fits(event)) return event;
  const log = await wholeLog(sessions, id);
  throw new Error(`Never came; the log holds: ${log.map(({ type }) => type).join(" ")}`);
}

export const isResultStarted = (event: UniversalEvent): boolean =>
  event.type === "item.started" && event.data.item.kind === "tool_result";

export const items = (events: readonly UniversalEvent[]): Item[] =>
  events.flatMap((event) => (event.type === "item.completed" ? [event.data.item] : []));

export const answerOf = (events: readonly UniversalEvent[]): string =>
  items(events)
    .filter(({ role, kind, status, subagent }) => {
      return role === "assistant" && kind === "message" && status === "completed" && subagent === undefined;
    })
    .flatMap(({ content }) => content.map((part) => (part.type === "text" ? part.text : "")))
    .join("");

export const ends = (events: readonly UniversalEvent[]) =>
  events.flatMap((event) => (event.type === "turn.ended" ? [event.data] : []));

/** The whole log, which keeps what every log of every scenario promises. */
export async function checked({ sessions }: CodexAgent, id: SessionId): Promise<UniversalEvent[]> {
  const log = await wholeLog(sessions, id);
  const count = (type: UniversalEvent["type"]): number => log.filter((event) => event.type === type).length;
  expect(count("agent.unparsed")).toBe(0);
  expect(count("turn.ended")).toBe(count("turn.started"));
  expect(count("item.completed")).toBe(count("item.started"));
  expect(count("permission.resolved")).toBe(count("permission.requested"));
  return log;
}

/** Tests with the real Codex: each opens its own, and nothing of it is left running afterwards. */
export function describeCodex(name: string, body: (start: Start) => void): void {
  const binary = process.env.FRANCA_TEST_CODEX ?? "";
  const missing = binary === "" ? "FRANCA_TEST_CODEX does not name the program" : null;
  describeNeeding(name, { missing }, () => {
    let agent: CodexAgent | null = null;
    afterEach(async () => {
      const open = agent;
      agent = null;
      if (open === null) return;
      await open.close();
      expect(processesIn(open.work)).toEqual([]);
    });
    body(async (script, setup = {}) => {
      agent = await openCodex(binary, script, setup);
      return agent;
    });
  });
}

export type Start = (script: Script, setup?: CodexSetup) => Promise<CodexAgent>;
