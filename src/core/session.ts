/** One session: adapter, turn machine and stamp in one fold. A live session, a replay and a test are all this. */
import type { UniversalEvent } from "../protocol/events.ts";
import { readId, type SessionId } from "../protocol/ids.ts";
import type { Adapter } from "./adapter.ts";
import type { AdapterInput, AgentCommand, Send } from "./agent-io.ts";
import { findRequest } from "./commands.ts";
import { defined } from "./defined.ts";
import { unreachable } from "./fold.ts";
import { HOST_CALL } from "./host-call.ts";
import type { Effect, InspectedRequest, NativeRecord, SessionInput, SessionOutput, TurnPolicy } from "./input.ts";
import type { LineSpan } from "./line-template.ts";
import type { Drafted, MachineState } from "./machine-state.ts";
import { type RepeatedDelta, type Repetition, repeat, repetitionOf, settleTexts } from "./repeat.ts";
import type { Report } from "./report.ts";
import { resumeMachine } from "./resume.ts";
import { applyEvent, emptySnapshot, type Snapshot } from "./snapshot.ts";
import { advance, type StampState, stamp, startStamp } from "./stamp.ts";
import { type MachineInput, startMachine, stepMachine, wakeAt } from "./turn.ts";

export interface SessionOptions {
  readonly sessionId: SessionId;
  readonly adapter: Adapter;
  readonly policy: TurnPolicy;
  /** A recording is read: there is nothing to connect to. */
  readonly connected?: boolean;
  /** The conversation began outside Franca, so the agent's counters have a past. */
  readonly foreign?: boolean;
  /** A session that was closed: it goes on where its events end. */
  readonly snapshot?: Snapshot;
  /** How many native lines are stored already. */
  readonly nativeLines?: number;
}

export interface Session {
  /** `text`: the native line as it was written, where lines like it may follow (`repeat`). */
  readonly step: (input: SessionInput, text?: string) => SessionOutput;
  /** Steps a line that is like the last one but for its delta; null when it is not: then parse it and `step` it. */
  readonly repeat: (line: LineSpan, at: number) => RepeatedDelta | null;
  /** When to feed the next `tick`, or null. */
  readonly wakeAt: () => number | null;
  /** The session as it stands. Belongs to the session: clone it to keep it. */
  readonly snapshot: () => Snapshot;
  readonly connection: () => MachineState["connection"];
  /** Whether a request may be answered: `unknown` ids never existed. */
  readonly request: (id: string) => "open" | "answered" | "unknown";
}

export function openSession(options: SessionOptions): Session {
  const { sessionId, adapter, policy, connected = false, foreign = false, snapshot = emptySnapshot() } = options;
  const state: State = {
    adapter,
    running: adapter.open(),
    machine: startMachine({ sessionId, adapter, policy, connected, foreign, books: snapshot.books }),
    stamp: startStamp(sessionId),
    snapshot,
    lines: options.nativeLines ?? 0,
    repetition: null,
  };
  if (options.snapshot !== undefined) {
    resumeMachine(state.machine, options.snapshot);
    state.stamp.sequence = options.snapshot.sequence;
    advance(state.stamp, state.machine.at);
  }
  return {
    step(input, text) {
      settle(state);
      state.repetition = null;
      const output = stepSession(state, input);
      if (text !== undefined && input.type === "line") state.repetition = repetitionOf(state, { text, output });
      return output;
    },
    repeat: (line, at) => (state.repetition === null ? null : repeat(state, state.repetition, line, at)),
    wakeAt: () => earliest(wakeAt(state.machine), state.running.wakeAt()),
    snapshot() {
      settle(state);
      return state.snapshot;
    },
    connection: () => state.machine.connection,
    request: (id) => requestState(state.machine, id),
  };
}

interface State {
  readonly adapter: Adapter;
  running: ReturnType<Adapter["open"]>;
  readonly machine: MachineState;
  readonly stamp: StampState;
  readonly snapshot: Snapshot;
  lines: number;
  /** What the last line may be repeated as. */
  repetition: Repetition | null;
}

function settle({ repetition }: State): void {
  if (repetition !== null) settleTexts(repetition);
}

/** What one input leads to, while it is being worked out. */
interface Work extends SessionOutput {
  events: UniversalEvent[];
  native: NativeRecord[];
  readonly effects: Effect[];
  readonly at: number;
  /** The native line at hand. */
  line: number | null;
}

function stepSession(state: State, input: SessionInput): SessionOutput {
  const work: Work = { events: [], native: [], effects: [], at: input.at, line: null };
  if (input.type === "clock") state.stamp.aheadMs = input.aheadMs;
  advance(state.stamp, input.at);
  switch (input.type) {
    case "line":
      work.line = record(state, work, { from: input.from, native: input.line });
      hear(state, work, input.from === "host" ? { place: work.line, ...input } : input);
      break;
    case "unreadable":
      work.line = record(state, work, { from: "agent", native: input.text });
      say(state, work, { type: "heard", reports: [unreadable(state, input)], at: input.at });
      break;
    case "response":
      if (!input.id.startsWith(HOST_CALL))
        work.line = record(state, work, { from: "agent", native: { response: withoutType(input) } });
      hear(state, work, input);
      break;
    case "connected":
      hear(state, work, input);
      say(state, work, { type: "connected", folder: input.options.folder, at: input.at });
      break;
    case "disconnected": {
      work.line = record(state, work, { from: "process", native: { exit: input.exit } });
      const exit = state.running.explain(input.exit);
      hear(state, work, input);
      // The next connection is a new conversation: the adapter starts afresh and shakes hands again.
      state.running = state.adapter.open();
      say(state, work, { type: "disconnected", exit, at: input.at });
      break;
    }
    case "tick":
      hear(state, work, input);
      say(state, work, input);
      break;
    case "inspected":
      recordInspection(state, work, input);
      say(state, work, input);
      break;
    case "clock":
    case "opened":
    case "command":
    case "restarted":
    case "proposals":
    case "notice":
    case "copied":
    case "shell.output":
    case "shell.ended":
    case "spent":
    case "placed":
    case "relayed":
      say(state, work, input);
      break;
    default:
      return unreachable(input);
  }
  return work;
}

/** Stores an inspection with the native lines, so that a replay of them decides as the live session did. */
function recordInspection(state: State, work: Work, { key, inspection, plugin }: InspectedRequest): void {
  record(state, work, { from: "process", native: { inspected: defined({ key, inspection, plugin }) } });
}

/** The adapter hears it, and the machine hears the adapter. Only what the agent itself said is a sign of life. */
function hear(state: State, work: Work, input: AdapterInput<unknown>): void {
  const said = state.running.step(input);
  const reports = isReports(said) ? said : withoutSends(state, work, said);
  const alive = input.type === "line" || input.type === "response";
  const host = input.type === "line" && input.from === "host" ? work.line : null;
  if (alive || reports.length > 0) say(state, work, { type: "heard", reports, at: input.at, line: work.line, host });
}

/** What the adapter wants sent is sent; the rest are reports. */
function withoutSends(state: State, work: Work, said: readonly (Report | Send)[]): Report[] {
  for (const one of said) if (isSend(one)) send(state, work, one);
  return said.filter(isReport);
}

/** The machine hears it; commands are put into words first, so that a prompt's item can name the line that said it. */
function say(state: State, work: Work, input: MachineInput): void {
  const outputs = stepMachine(state.machine, input);
  const later: Report[] = [];
  let sentLine: number | null = null;
  for (const one of outputs) {
    if (one.type === "event") continue;
    if (one.type !== "command") work.effects.push(one);
    else sentLine = encodeCommand(state, work, { command: one.command, later }) ?? sentLine;
  }
  for (const one of outputs) if (one.type === "event") publish(state, work, { drafted: one, sentLine });
  if (later.length > 0) say(state, work, { type: "heard", reports: later, at: work.at });
}

/** The adapter encodes a command. Returns the number of the first line that was written for it. */
function encodeCommand(
  state: State,
  work: Work,
  { command, later }: { command: AgentCommand; later: Report[] },
): number | null {
  let first: number | null = null;
  for (const one of state.running.step({ type: "command", command, at: work.at })) {
    if (!isSend(one)) {
      later.push(one);
      continue;
    }
    const line = send(state, work, one);
    first ??= line;
  }
  return first;
}

function send(state: State, work: Work, one: Send): number | null {
  work.effects.push(one);
  if (one.type === "send.line") return record(state, work, { from: "host", native: one.line });
  if (one.type !== "send.request") return null;
  const { id, method, path, body } = one;
  return record(state, work, { from: "host", native: { request: { id, method, path, body } } });
}

function record(state: State, work: Work, { from, native }: { from: NativeRecord["from"]; native: unknown }): number {
  state.lines += 1;
  work.native = append(work.native, { line: state.lines, from, native, at: work.at + state.stamp.aheadMs });
  return state.lines;
}

function publish(state: State, work: Work, { drafted, sentLine }: { drafted: Drafted; sentLine: number | null }): void {
  const line = drafted.line ?? (drafted.rule?.startsWith("prompt.") === true ? (sentLine ?? work.line) : work.line);
  const event = stamp(state.stamp, drafted, { native_session_id: state.machine.native_session_id, line });
  work.events = append(work.events, event);
  applyEvent(state.snapshot, event);
}

const earliest = (one: number | null, other: number | null): number | null =>
  one === null || other === null ? (one ?? other) : Math.min(one, other);

const isSend = (one: Report | Send): one is Send => one.type.startsWith("send.");
const isReport = (one: Report | Send): one is Report => !isSend(one);
const isReports = (all: readonly (Report | Send)[]): all is readonly Report[] => all.every(isReport);

/** Mostly a line leads to one event: a list that is made to grow takes ten times the memory of one that is not. */
function append<T>(list: T[], one: T): T[] {
  if (list.length === 0) return [one];
  list.push(one);
  return list;
}

const unreadable = (state: State, { text, error }: { text: string; error: string }): Report => ({
  type: "unparsed",
  error,
  location: state.adapter.agent,
  text,
});

const withoutType = ({ id, status, body }: { id: string; status: number; body: unknown }) => ({ id, status, body });

function requestState(machine: MachineState, id: string): "open" | "answered" | "unknown" {
  if (findRequest(machine, id) !== null) return "open";
  const read = readId(id);
  if (read === null || read.session !== machine.session) return "unknown";
  const asked = { permission: machine.permissions, question: machine.questions, turn: 0, item: 0 };
  return read.number >= 1 && read.number <= asked[read.kind] ? "answered" : "unknown";
}
