/** The turn machine: the only place that decides when a turn begins and ends. Pure; its clock is the inputs' `at`. */
import type { SessionMetadata } from "../protocol/events.ts";
import type { SessionId } from "../protocol/ids.ts";
import type { Placement } from "../protocol/placement.ts";
import type { Adapter } from "./adapter.ts";
import type { Exit } from "./agent-io.ts";
import { setBackground } from "./background.ts";
import { checkBudget, learnSpent } from "./budget.ts";
import { expire } from "./clock.ts";
import { onCommand } from "./commands.ts";
import { copyItems } from "./copied-history.ts";
import { defined } from "./defined.ts";
import { unreachable } from "./fold.ts";
import { sayTrust } from "./folder-trust.ts";
import { startGovernor } from "./governor.ts";
import type { SessionInput, TurnPolicy } from "./input.ts";
import { forgetClosed, startLedger } from "./items.ts";
import type { FolderFacts } from "./launch.ts";
import {
  announceQueue,
  closeLeftovers,
  conclude,
  finishAsSignalled,
  finishStopped,
  finishTurn,
  leaveUnanswered,
  runQueue,
} from "./lifecycle.ts";
import { emit, type MachineOutput, type MachineState, made, ours } from "./machine-state.ts";
import { onRelayed } from "./relay.ts";
import type { Report } from "./report.ts";
import { onInspected, onReport } from "./reports.ts";
import { onShellReport } from "./shell.ts";
import { type Books, nothingSpent, startBooks } from "./spent.ts";
import { startUsage } from "./usage.ts";

export { wakeAt } from "./clock.ts";

export interface MachineOptions {
  readonly sessionId: SessionId;
  readonly adapter: Pick<Adapter, "agent" | "capabilities">;
  readonly policy: TurnPolicy;
  /** A recording is read: there is nothing to connect to. */
  readonly connected: boolean;
  /** The conversation began outside. */
  readonly foreign: boolean;
  /** Those of the session's snapshot: the machine keeps them. */
  readonly books?: Books;
}

/** What a session's machine reads: its inputs, with native lines already translated by the adapter. */
export type MachineInput =
  | Extract<
      SessionInput,
      {
        type:
          | "opened"
          | "clock"
          | "command"
          | "disconnected"
          | "restarted"
          | "proposals"
          | "inspected"
          | "notice"
          | "spent"
          | "placed"
          | "relayed"
          | "tick"
          | "copied"
          | "shell.output"
          | "shell.ended";
      }
    >
  /**
   * All reports of one native line; empty for an ignored line, which still counts as activity. `line`: its number;
   * `host`: the line of a recorded host that led to the reports.
   */
  | {
      readonly type: "heard";
      readonly reports: readonly Report[];
      readonly at: number;
      readonly line?: number | null;
      readonly host?: number | null;
    }
  | { readonly type: "connected"; readonly folder: FolderFacts | null; readonly at: number };

export function startMachine({
  sessionId,
  adapter,
  policy,
  connected,
  foreign,
  books = startBooks(),
}: MachineOptions): MachineState {
  return {
    session: sessionId,
    agent: adapter.agent,
    capabilities: adapter.capabilities,
    policy,
    at: 0,
    aheadMs: 0,
    heardAt: 0,
    hostLine: null,
    line: null,
    connection: connected ? "open" : "closed",
    closingAt: 0,
    goesByItself: false,
    recorded: connected,
    started: false,
    ended: false,
    native_session_id: null,
    titleGiven: false,
    // Nothing is taken back or shared until somebody says so.
    known: new Map([
      ["revert", null],
      ["share", null],
    ]),
    turns: 0,
    permissions: 0,
    questions: 0,
    turn: null,
    ledger: startLedger(),
    requests: new Map(),
    held: new Map(),
    remembered: [],
    resolved: new Set(),
    queue: [],
    announced: new Set(),
    unheard: [],
    outbox: [],
    asks: new Set(),
    background: [],
    backgroundNames: new Set(),
    todos: [],
    usage: startUsage({ foreign }),
    books,
    budget: { said: new Set(), today: null, family: nothingSpent, familyBefore: nothingSpent },
    governor: startGovernor(),
  };
}

export function stepMachine(state: MachineState, input: MachineInput): readonly MachineOutput[] {
  const out: MachineOutput[] = [];
  if (input.at > state.at) state.at = input.at;
  switch (input.type) {
    case "clock":
      state.aheadMs = input.aheadMs;
      break;
    case "opened":
      if (!state.started) onOpened(state, out, input);
      break;
    case "heard":
      onHeard(state, out, input);
      break;
    case "command":
      if (!state.ended) onCommand(state, out, input.command);
      break;
    case "connected":
      onConnected(state, out, input.folder);
      break;
    case "disconnected":
      onDisconnected(state, out, input.exit);
      break;
    case "restarted":
      onRestarted(state, out);
      break;
    case "proposals":
      onProposals(state, out, input);
      break;
    case "inspected":
      if (!state.ended) onInspected(state, out, input);
      break;
    case "notice":
      onNotice(state, out, input);
      break;
    case "copied":
      copyItems(state, out, input.items);
      break;
    case "shell.output":
    case "shell.ended":
      onShellReport(state, out, input);
      break;
    case "relayed":
      if (!state.ended) onRelayed(state, out, input);
      break;
    case "placed":
      onPlaced(state, out, input.placement);
      break;
    case "spent":
      learnSpent(state, input);
      checkBudget(state, out, input);
      break;
    case "tick":
      expire(state, out);
      checkBudget(state, out, input);
      break;
    default:
      return unreachable(input);
  }
  return out;
}

/** Answers that come too late, or for a turn that is over, change nothing. */
function onProposals(
  state: MachineState,
  out: MachineOutput[],
  { turn_id, proposals }: Extract<MachineInput, { type: "proposals" }>,
): void {
  const { turn } = state;
  if (turn?.id === turn_id && turn.settleBy !== null) conclude(state, out, { turn, proposals });
}

function onNotice(state: MachineState, out: MachineOutput[], notice: Extract<MachineInput, { type: "notice" }>): void {
  const { message, code, details, refused_prompt: refused } = notice;
  const data = { message, code, fatal: false, ...defined({ details }) };
  if (state.ended) return;
  emit(state, out, { type: "error", data }, ours());
  if (refused === undefined) return;
  if (state.announced.delete(refused)) announceQueue(state, out);
  out.push({ type: "prompt.dropped", prompt_id: refused });
}

function onPlaced(state: MachineState, out: MachineOutput[], placement: Placement): void {
  if (!state.ended) emit(state, out, { type: "session.updated", data: { placement } }, ours());
}

function onHeard(
  state: MachineState,
  out: MachineOutput[],
  { reports, line = null, host = null }: Extract<MachineInput, { type: "heard" }>,
): void {
  state.heardAt = state.at;
  state.line = line;
  // In a recording the next process needs no announcement: it is there when it speaks.
  if (state.recorded && state.connection === "closed") state.connection = "open";
  for (const report of reports) {
    if (state.ended) break;
    state.hostLine = report.host ?? host;
    onReport(state, out, report);
    checkBudget(state, out, report);
  }
  state.hostLine = null;
  state.line = null;
}

function onOpened(
  state: MachineState,
  out: MachineOutput[],
  { metadata, title }: { metadata: SessionMetadata; title?: string },
): void {
  state.started = true;
  for (const [name, value] of Object.entries(metadata)) state.known.set(name, value);
  emit(state, out, { type: "session.started", data: { metadata } }, made());
  if (title !== undefined) {
    state.titleGiven = true;
    state.known.set("title", title);
    emit(state, out, { type: "session.updated", data: { title } }, ours());
  }
}

function onConnected(state: MachineState, out: MachineOutput[], folder: FolderFacts | null): void {
  state.connection = "open";
  state.heardAt = state.at;
  if (folder !== null) sayTrust(state, out, folder);
  const waiting = state.outbox;
  state.outbox = [];
  for (const command of waiting) out.push({ type: "command", command });
}

function onDisconnected(state: MachineState, out: MachineOutput[], exit: Exit): void {
  state.connection = "closed";
  state.outbox = [];
  setBackground(state, []);
  leaveUnanswered(state, out, exit.message ?? "The agent is gone.");
  endByExit(state, out, exit);
  closeLeftovers(state, out, "agent.gone");
  runQueue(state, out);
  // Its process is gone, so nothing late can come of it, and the next one may use the same keys again.
  forgetClosed(state.ledger);
}

function endByExit(state: MachineState, out: MachineOutput[], exit: Exit): void {
  const { turn } = state;
  // A person's command goes on without the agent.
  if (turn === null || turn.shell !== null) return;
  const evidence = "exit";
  if (turn.stop !== null) finishStopped(state, out, { stop: turn.stop, evidence });
  else if (turn.end !== null) finishAsSignalled(state, out, { turn, evidence });
  else if (exit.message !== undefined || (exit.code !== null && exit.code !== 0) || exit.signal !== null) {
    finishTurn(state, out, { reason: "error", evidence, error: exitError(state, exit) });
  } else finishTurn(state, out, { reason: "interrupted", evidence, error: null });
}

function onRestarted(state: MachineState, out: MachineOutput[]): void {
  state.connection = "closed";
  state.outbox = [];
  setBackground(state, []);
  if (state.turn !== null) finishTurn(state, out, { reason: "interrupted", evidence: "restart", error: null });
  closeLeftovers(state, out, "daemon.restarted");
  runQueue(state, out);
}

function exitError(state: MachineState, exit: Exit) {
  const how = exit.signal === null ? `with code ${exit.code}` : `by signal ${exit.signal}`;
  return {
    message: exit.message ?? `The ${state.agent} process ended ${how} in the middle of the turn.`,
    code: exit.error_code ?? "agent_exited",
    details: {
      exit_code: exit.code,
      signal: exit.signal,
      ...defined({ stderr: exit.stderr }),
    },
  };
}
