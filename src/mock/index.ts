/** The mock agent: hears its own small language, plays the scenario that a prompt names, one turn at a time. */

import { unreachable } from "../core/fold.ts";
import type { InProcessAgent, InProcessHost, InProcessPeer } from "../core/in-process.ts";
import { isMockLine, type MockHears, type MockSays } from "../dialects/mock.ts";
import { type Performance, perform, type Wait } from "./play.ts";
import { scenarioFor, verbatim } from "./scenarios.ts";
import { type Script, say, speak, type Turn } from "./script.ts";
import { carryOn } from "./showing.ts";

export { scenarios } from "./scenarios.ts";

export interface MockOptions {
  /** Between two lines; FRANCA_MOCK_DELAY_MS of the session's environment or of the process, else 5. */
  readonly delayMs?: number;
  readonly wait?: Wait;
}

const DEFAULT_DELAY_MS = 5;
const version = "1.0.0";
const DEFAULT_MODEL = "mock-1";
const tools = ["bash", "edit", "list", "read", "task"];

/** Sessions that are remembered (their "always" answers, their open todos); the oldest are forgotten first. */
const REMEMBERED_SESSIONS = 1000;

export function createMock(options: MockOptions = {}): InProcessAgent {
  const memory = new Map<string, Memory>();
  const open = (host: InProcessHost): InProcessPeer => {
    const { resume, fork, session_id } = host.options;
    const session = resume !== null && !fork ? resume : `mock-${session_id}`;
    const remembered = memory.get(session) ?? { always: new Set(), unfinished: { done: null, stubborn: false } };
    memory.set(session, remembered);
    if (memory.size > REMEMBERED_SESSIONS) memory.delete(memory.keys().next().value ?? session);
    const mock: Mock = {
      host,
      memory: remembered,
      delayMs: options.delayMs ?? delayOf(host),
      wait: options.wait ?? realWait,
      permissionMode: host.options.permission_mode,
      prompts: [],
      compactions: [],
      steered: [],
      epilogues: [],
      current: null,
      awake: false,
    };
    return openMock(mock, session);
  };
  return { open };
}

/** What outlives a connection. */
type Memory = Pick<Turn, "always" | "unfinished">;

/** One conversation: what it still has to play, and what is on stage. */
interface Mock {
  readonly host: InProcessHost;
  readonly memory: Memory;
  readonly delayMs: number;
  readonly wait: Wait;
  permissionMode: string;
  readonly prompts: { readonly id: string; readonly text: string }[];
  readonly compactions: string[];
  readonly steered: { readonly id: string; readonly text: string }[];
  readonly epilogues: Script[];
  current: Performance | null;
  awake: boolean;
}

function openMock(mock: Mock, session: string): InProcessPeer {
  const { host } = mock;
  const { model, directory } = host.options;
  host.signal.addEventListener("abort", () => mock.current?.abort());
  queueMicrotask(() => {
    const permission_mode = mock.permissionMode;
    emit(mock, { type: "ready", session, version, model: model ?? DEFAULT_MODEL, directory, permission_mode, tools });
  });
  return {
    receive(line) {
      if (isMockLine(line) && isHeard(line)) return hear(mock, line);
      const message = "The mock got a line that it cannot read.";
      emit(mock, { type: "error", message, code: "bad_line", fatal: false });
    },
  };
}

function hear(mock: Mock, line: MockHears): void {
  switch (line.type) {
    case "prompt":
      mock.prompts.push(line);
      mock.current?.giveWay();
      return start(mock);
    case "compact":
      mock.compactions.push(line.id);
      mock.current?.giveWay();
      return start(mock);
    case "steer":
      return void mock.steered.push(line);
    case "answer":
      return mock.current?.answer(line.id, { type: "reply", reply: line.reply, message: line.message ?? null });
    case "answers":
      return mock.current?.answer(line.id, { type: "answers", answers: line.answers });
    case "set":
      mock.permissionMode = line.permission_mode ?? mock.permissionMode;
      return emit(mock, { ...line, type: "settings" });
    case "abort":
      mock.prompts.length = 0;
      mock.epilogues.length = 0;
      return mock.current?.abort();
    default:
      return unreachable(line);
  }
}

/** Plays in the background. A bug in a scenario ends the agent. */
function start(mock: Mock): void {
  run(mock).catch((error: unknown) => {
    mock.host.exit({ code: null, signal: null, message: String(error), error_code: "internal" });
  });
}

/** Plays until nothing is left to play. */
async function run(mock: Mock): Promise<void> {
  if (mock.awake) return;
  mock.awake = true;
  const { host, wait, delayMs } = mock;
  // The caller of `receive` finishes first: it must not get lines in the middle of its own work.
  await Promise.resolve();
  for (let script = nextScript(mock); script !== undefined && !host.signal.aborted; script = nextScript(mock)) {
    mock.current = perform(script, { host, wait, delayMs, interjection: () => interjection(mock) });
    const outcome = await mock.current.done;
    mock.current = null;
    mock.steered.length = 0;
    if (outcome === "paused") mock.epilogues.push(script);
    if (outcome === "aborted" && !host.signal.aborted) emit(mock, { type: "end", reason: "aborted" });
    if (outcome === "gone") break;
  }
  mock.awake = false;
}

function nextScript(mock: Mock): Script | undefined {
  const prompt = mock.prompts.shift();
  if (prompt !== undefined) return scriptOf(mock, prompt);
  const compaction = mock.compactions.shift();
  return compaction === undefined ? mock.epilogues.shift() : compact(compaction);
}

function interjection(mock: Mock): Script | null {
  const next = mock.steered.shift();
  return next === undefined ? null : speak(`Understood: ${next.text}`, { message: next.id });
}

const emit = ({ host }: Mock, line: MockSays): void => void host.emit(line);

function scriptOf(mock: Mock, { id, text }: { readonly id: string; readonly text: string }): Script {
  const turn: Turn = {
    id,
    prompt: text,
    rest: text.replace(/^\S+\s?/, ""),
    directory: mock.host.options.directory,
    permissionMode: mock.permissionMode,
    ...mock.memory,
    messages: 0,
    calls: 0,
  };
  const scenario = scenarioFor(text);
  if (scenario !== null) return scenario.play(turn);
  return turn.unfinished.done === null ? verbatim(turn) : carryOn(turn);
}

const heard = new Set(["prompt", "steer", "answer", "answers", "set", "compact", "abort"]);
const isHeard = (line: { readonly type: string }): line is MockHears => heard.has(line.type);

function* compact(id: string): Script {
  yield say({ type: "compacting" });
  yield say({ type: "summary", id, text: "Summary: the user tried some scenarios." });
  yield say({ type: "running" });
  yield say({ type: "end", reason: "completed" });
}

function delayOf({ options }: InProcessHost): number {
  const delay = Number(options.env.FRANCA_MOCK_DELAY_MS ?? process.env.FRANCA_MOCK_DELAY_MS ?? DEFAULT_DELAY_MS);
  return Number.isFinite(delay) && delay >= 0 ? delay : DEFAULT_DELAY_MS;
}

const realWait: Wait = (ms, signal) =>
  new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const finish = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", finish);
      resolve();
    };
    const timer = setTimeout(finish, ms);
    signal.addEventListener("abort", finish);
  });
