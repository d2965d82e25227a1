/**
 * The builtin agent in a house of its own: a scripted model server over HTTP, the real runtime, a folder to work in.
 */
import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { builtin } from "../../src/adapters/builtin/index.ts";
import {
  type BuiltinOptions,
  type BuiltinSettings,
  createBuiltinAgent,
  type Hooks,
  historyFrom,
  readBuiltinConfig,
} from "../../src/builtin/index.ts";
import { serveAnthropic } from "../../src/model-server/anthropic.ts";
import { serveOpenAi } from "../../src/model-server/openai.ts";
import type { RecordedRequest, Script, ScriptBlock, ScriptTurn } from "../../src/model-server/script.ts";
import type { EventOf, EventType, PermissionMode, UniversalEvent } from "../../src/protocol/events.ts";
import { type SessionId, sessionId } from "../../src/protocol/ids.ts";
import type { CreateSession } from "../../src/protocol/resources.ts";
import { silentLogger } from "../../src/runtime/logger.ts";
import type { Sessions } from "../../src/runtime/session/contract.ts";
import { allSessions } from "../../src/runtime/session/every-session.ts";
import { openSessions } from "../../src/runtime/session/sessions.ts";
import { eventsAfter, wholeLog } from "./sessions.ts";

export type ProviderName = "anthropic" | "openai" | "openai-compatible";
export const providers: readonly ProviderName[] = ["anthropic", "openai", "openai-compatible"];

export const text = (words: string, chunks = 1): ScriptBlock => ({ type: "text", text: words, chunks });
export const call = (name: string, input: unknown, id?: string): ScriptBlock => ({
  type: "tool_call",
  name,
  input,
  ...(id === undefined ? {} : { id }),
});
export const answer = (...blocks: ScriptBlock[]): ScriptTurn => ({ type: "answer", blocks });

export interface HouseOptions {
  readonly provider?: ProviderName;
  readonly config?: Record<string, unknown>;
  readonly mode?: PermissionMode;
  readonly create?: Partial<CreateSession>;
  readonly hooks?: Hooks;
  readonly world?: BuiltinOptions["world"];
  /** A folder for SQLite; memory when absent. */
  readonly store?: string;
  readonly directory?: string;
  /** Instead of the scripted server. */
  readonly baseUrl?: string;
  readonly session?: string;
  readonly environment?: Record<string, string>;
  readonly outboundAllow?: readonly string[];
}

export interface House {
  readonly directory: string;
  readonly sessions: Sessions;
  readonly id: SessionId;
  /** What the model server was asked, in order. */
  readonly requests: readonly RecordedRequest[];
  /** The signal of each connection that was opened to the agent. */
  readonly signals: readonly AbortSignal[];
  /** How long the agent waited before each retry. */
  readonly waits: readonly number[];
  /** Prompts and reads to the turn's end. `meanwhile` is told of every event and may answer. */
  readonly turn: (
    text: string,
    meanwhile?: (event: UniversalEvent) => Promise<void> | void,
  ) => Promise<UniversalEvent[]>;
  readonly log: () => Promise<UniversalEvent[]>;
  readonly close: () => Promise<void>;
}

export function workFolder(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "franca-builtin-")));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export async function openHouse(script: Script | readonly ScriptTurn[], options: HouseOptions = {}): Promise<House> {
  const { provider = "anthropic", mode = "bypass", directory = workFolder() } = options;
  const server = await serve(provider, "turns" in script ? script : { turns: script });
  onTestFinished(() => server.close());
  const waits: number[] = [];
  const signals: AbortSignal[] = [];
  const settings = settingsFor({ ...options, provider, baseUrl: options.baseUrl ?? server.url });
  const agent = createBuiltinAgent({
    settings,
    outboundAllow: options.outboundAllow ?? [],
    version: "test",
    loadHistory: historyFrom(() => sessions),
    environment: { PATH: process.env.PATH, HOME: process.env.HOME, ...options.environment },
    outputs: join(directory, "..", `${directory.slice(directory.lastIndexOf("/") + 1)}-outputs`),
    ...(options.hooks === undefined ? {} : { hooks: options.hooks }),
    world: {
      random: () => 0,
      sleep: async (ms) => {
        waits.push(ms);
      },
      ...options.world,
    },
  });
  const sessions = await openSessions({
    adapters: [builtin],
    inProcess: {
      builtin: {
        ...agent,
        open(host) {
          if (host.signal instanceof AbortSignal) signals.push(host.signal);
          return agent.open(host);
        },
      },
    },
    logger: silentLogger,
    store: options.store === undefined ? { kind: "memory" } : { kind: "sqlite", folder: options.store },
    toolsFolder: "/nonexistent",
    role: "daemon",
    version: "test",
    directory,
  });
  const close = once(() => sessions.close());
  onTestFinished(async () => {
    await close();
    rmSync(join(directory, "..", `${directory.slice(directory.lastIndexOf("/") + 1)}-outputs`), {
      recursive: true,
      force: true,
    });
  });
  const id = sessionId(options.session ?? "s");
  const known = (await allSessions(sessions)).some((one) => one.sessionId === id);
  if (!known) await sessions.create(id, { agent: "builtin", directory, permissionMode: mode, ...options.create });
  return {
    ...{ directory, sessions, id, waits, signals, close },
    requests: server.requests,
    turn: (words, meanwhile) => playTurn(sessions, { id, words, meanwhile }),
    log: () => wholeLog(sessions, id),
  };
}

const serve = (provider: ProviderName, script: Script) =>
  provider === "anthropic" ? serveAnthropic(script) : serveOpenAi(script);

function settingsFor({
  provider,
  config = {},
  baseUrl,
}: HouseOptions & { provider: ProviderName; baseUrl: string }): BuiltinSettings {
  return readBuiltinConfig(
    {
      model: `${provider}/test-model`,
      provider: { [provider]: { kind: provider, baseURL: baseUrl, apiKey: "key" } },
      ...config,
    },
    { source: "test" },
  );
}

async function playTurn(
  sessions: Sessions,
  {
    id,
    words,
    meanwhile,
  }: { id: SessionId; words: string; meanwhile: ((event: UniversalEvent) => Promise<void> | void) | undefined },
): Promise<UniversalEvent[]> {
  const { sequence } = await sessions.prompt(id, { text: words });
  const events: UniversalEvent[] = [];
  for await (const event of eventsAfter(sessions, id, { after: sequence })) {
    events.push(event);
    await meanwhile?.(event);
    if (event.type === "turn.ended") return events;
  }
  throw new Error("The stream ended before the turn did.");
}

export const of = <T extends EventType>(events: readonly UniversalEvent[], type: T): EventOf<T>[] =>
  events.filter((event): event is EventOf<T> => event.type === type);

/** The turn's end, in short. */
export function endOf(events: readonly UniversalEvent[]): { reason: string; code?: string; message?: string } {
  const [end] = of(events, "turn.ended").slice(-1);
  if (end === undefined) throw new Error("The turn did not end.");
  const { reason, error } = end.data;
  return error === undefined ? { reason } : { reason, code: error.code ?? "", message: error.message };
}

/** What the assistant said, block by block, finished ones only. */
export const saidIn = (events: readonly UniversalEvent[]): string[] =>
  of(events, "item.completed").flatMap(({ data: { item } }) =>
    item.role === "assistant" && item.kind === "message" && item.status === "completed" && item.subagent === undefined
      ? item.content.flatMap((part) => (part.type === "text" ? [part.text] : []))
      : [],
  );

/** The results of tools, in the order they ended. */
export const resultsIn = (events: readonly UniversalEvent[]): { output: string; is_error: boolean }[] =>
  of(events, "item.completed").flatMap(({ data: { item } }) =>
    item.content.flatMap((part) =>
      part.type === "tool_result" ? [{ output: part.output, is_error: part.is_error }] : [],
    ),
  );

/** The states a turn went through. */
export const statesIn = (events: readonly UniversalEvent[]): string[] =>
  of(events, "turn.state").map(({ data }) => data.state);

function once(work: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | null = null;
  return () => {
    done ??= work();
    return done;
  };
}
