/** The real Claude Code on a bench: its own home and folder, a scripted model, and a look at its processes. */
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { expect, onTestFinished } from "vitest";
import { claude } from "../../src/adapters/claude/index.ts";
import { setup } from "../../src/adapters/claude/trial.ts";
import { prepare } from "../../src/cli/doctor-trial.ts";
import type { TrialPlace } from "../../src/core/trial.ts";
import { serveAnthropic } from "../../src/model-server/anthropic.ts";
import type { Script, ScriptBlock, ScriptTurn } from "../../src/model-server/script.ts";
import type { ModelServer } from "../../src/model-server/serve.ts";
import type { EventOf, EventType, UniversalEvent } from "../../src/protocol/events.ts";
import { type SessionId, sessionId } from "../../src/protocol/ids.ts";
import type { CreateSession } from "../../src/protocol/resources.ts";
import type { RuntimeOptions } from "../../src/runtime/options.ts";
import type { Sessions } from "../../src/runtime/session/contract.ts";
import { temporaryFolder } from "./folders.ts";
import { open, until, wholeLog } from "./sessions.ts";

/** Where scripts/test-agents.js installed it. */
const program = process.env.FRANCA_TEST_CLAUDE ?? null;

export const missing =
  program === null ? "FRANCA_TEST_CLAUDE does not name it; run: npm run test:agents -- claude" : null;

export const benchEnvironment = (place: TrialPlace) => prepare(setup(place));

export const text = (said: string, chunks = 1): ScriptBlock => ({ type: "text", text: said, chunks });
export const call = (name: string, input: unknown): ScriptBlock => ({ type: "tool_call", name, input, chunks: 3 });
export const bash = (command: string, more: Readonly<Record<string, unknown>> = {}): ScriptBlock =>
  call("Bash", { command, description: "A step", ...more });
export const answer = (...blocks: readonly ScriptBlock[]): Extract<ScriptTurn, { type: "answer" }> => ({
  type: "answer",
  blocks,
});
/** An answer that says this much and then nothing more. */
export const stalled = (said: string): ScriptTurn => ({
  ...answer(text(said, 8)),
  fault: { type: "hang", afterChunks: 4 },
});

export interface Bench {
  readonly sessions: Sessions;
  readonly model: ModelServer;
  readonly folder: string;
  /** Where the agent works. It holds a README.md. */
  readonly directory: string;
  readonly env: Readonly<Record<string, string>>;
  readonly id: SessionId;
  readonly create: (options?: Partial<CreateSession>) => Promise<void>;
  readonly last: <T extends EventType>(type: T, after?: number) => Promise<EventOf<T>>;
  readonly log: () => Promise<UniversalEvent[]>;
  /** Whether a request to the model (the last one unless numbered) contained this. Requests are too long to show. */
  readonly told: (words: string, request?: number) => boolean;
  /** The CLI writes its own transcript with a little delay: waits until these words are in it. */
  readonly remembered: (words: string) => Promise<void>;
}

/** Everything is allowed, also to root. */
export const sandbox = ({ env }: Bench): Partial<CreateSession> => ({
  permissionMode: "bypass",
  env: { ...env, IS_SANDBOX: "1" },
});

let benches = 0;

export interface BenchOptions {
  /** Given the working directory, because tools want absolute paths. */
  readonly script: (directory: string) => Script;
  readonly runtime?: Partial<RuntimeOptions>;
  /** Keep the log in a file, so that it can be opened again. */
  readonly stored?: boolean;
  /** Take this program instead of the installed one. */
  readonly program?: string | null;
}

export async function openBench(options: BenchOptions): Promise<Bench> {
  benches += 1;
  const id = sessionId(`claude-bench-${process.pid}-${benches}`);
  const folder = temporaryFolder();
  const directory = join(folder, "work");
  for (const name of ["work", "bin", "data"]) mkdirSync(join(folder, name));
  writeFileSync(join(directory, "README.md"), "# Demo\n\nFirst line.\n");
  offer(join(folder, "bin"), options.program === undefined ? program : options.program);
  const model = await serveAnthropic(options.script(directory));
  onTestFinished(() => model.close());
  const sessions = await open(options.stored === true ? join(folder, "data") : null, {
    adapters: [claude],
    ...options.runtime,
  });
  onTestFinished(async () => {
    await sessions.close();
    await noProcessIsLeft(id);
  });
  const env = benchEnvironment({ folder, url: model.url });
  return {
    sessions,
    model,
    folder,
    directory,
    env,
    id,
    create: async (more = {}) => {
      await sessions.create(id, { agent: "claude", directory, env, ...more });
    },
    last: (type, after = 0) => until(sessions, id, { type, after }),
    log: () => wholeLog(sessions, id),
    told: (words, request = -1) => JSON.stringify(model.requests.at(request)?.body).includes(words),
    remembered: (words) =>
      expect.poll(() => isRemembered(join(folder, "home"), words), { timeout: GONE_MS }).toBe(true),
  };
}

function isRemembered(home: string, words: string): boolean {
  const folder = join(home, ".claude", "projects");
  if (!existsSync(folder)) return false;
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".jsonl"))
    .some((path) => readFileSync(join(folder, path), "utf8").includes(words));
}

/** The runtime looks on PATH first: there is only what the test put there, and the system's own programs. */
function offer(folder: string, path: string | null): void {
  if (path !== null) symlinkSync(path, join(folder, "claude"));
  const before = { ...process.env };
  const system = (process.env.PATH ?? "").split(delimiter).filter((part) => !part.includes("node_modules"));
  process.env.PATH = [folder, ...system].join(delimiter);
  for (const name of Object.keys(process.env)) if (/^(ANTHROPIC|CLAUDE)_/.test(name)) delete process.env[name];
  onTestFinished(() => {
    for (const name of Object.keys(process.env)) if (!(name in before)) delete process.env[name];
    Object.assign(process.env, before);
  });
}

export interface Left {
  readonly pid: number;
  readonly command: string;
}

/** Every process that carries the session's mark in its environment, wherever it hides in the tree. */
export function processesOf(id: SessionId): Left[] {
  return readdirSync("/proc").flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      const marked = readFileSync(`/proc/${name}/environ`, "utf8").split("\0").includes(`FRANCA_SESSION_ID=${id}`);
      const zombie = / Z /.test(readFileSync(`/proc/${name}/stat`, "utf8").split(")").at(-1) ?? "");
      if (!marked || zombie) return [];
      return [{ pid: Number(name), command: readFileSync(`/proc/${name}/cmdline`, "utf8").replaceAll("\0", " ") }];
    } catch {
      // It ended while we looked.
      return [];
    }
  });
}

const GONE_MS = 10_000;

export const noProcessIsLeft = (id: SessionId): Promise<void> =>
  expect.poll(() => processesOf(id), { timeout: GONE_MS }).toEqual([]);

/** After an abort the CLI itself stays for the next prompt; what it ran must be gone. */
export const noCommandIsLeft = (id: SessionId, command: string): Promise<void> =>
  expect.poll(() => processesOf(id).filter((left) => left.command.includes(command)), { timeout: GONE_MS }).toEqual([]);

export const ends = (events: readonly UniversalEvent[]): string[] =>
  events.flatMap((event) => (event.type === "turn.ended" ? [`${event.data.reason}/${event.data.evidence}`] : []));

/** What an assistant said in blocks that were completed, in order. */
export const answers = (events: readonly UniversalEvent[]): string[] =>
  events.flatMap((event) => {
    if (event.type !== "item.completed" || event.data.item.role !== "assistant") return [];
    if (event.data.item.kind !== "message" || event.data.item.subagent !== undefined) return [];
    return event.data.item.content.flatMap((part) => (part.type === "text" ? [part.text] : []));
  });

export const of = <T extends EventType>(events: readonly UniversalEvent[], type: T): EventOf<T>[] =>
  events.filter((event): event is EventOf<T> => event.type === type);
