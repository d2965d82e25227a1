/** What each report means for the machine: items are kept, requests asked, and ends are weighed. */
import { callIdOf, holdsEnd, isBackground, isTool, isToolAtWork, setBackground } from "./background.ts";
import { unreachable } from "./fold.ts";
import { noteTool } from "./governor.ts";
import { hashHex } from "./hash.ts";
import type { InspectedRequest } from "./input.ts";
import { addDelta, closeItem, isKnown, openItem, stubFor } from "./items.ts";
import {
  beginTurn,
  finishAsSignalled,
  finishStopped,
  finishTurn,
  nameOf,
  reportError,
  sayUnsaid,
  sendCommand,
  sendIfOpen,
  settle,
  showState,
} from "./lifecycle.ts";
import { asReported, emit, isWaiting, type MachineOutput, type MachineState, made } from "./machine-state.ts";
import type {
  BeginReport,
  CloseReport,
  DeltaReport,
  EndReport,
  ItemHead,
  OpenReport,
  Report,
  StateReport,
} from "./report.ts";
import {
  type Answer,
  askQuestion,
  decideHeld,
  onPermission,
  resolveByTool,
  resolvePermission,
  resolveQuestion,
  withdrawHeld,
} from "./requests.ts";
import { onSession } from "./session-report.ts";
import { addUsage } from "./usage.ts";

export function onReport(state: MachineState, out: MachineOutput[], report: Report): void {
  switch (report.type) {
    case "open":
      return onOpen(state, out, report);
    case "delta":
      return onDelta(state, out, report);
    case "close":
      return onClose(state, out, report);
    case "begin":
      return onBegin(state, out, report);
    case "end":
      return onEnd(state, out, report);
    case "state":
      return onState(state, out, report);
    case "permission":
      return onRequest(state, out, () => onPermission(state, out, report));
    case "question":
      return onRequest(state, out, () => askQuestion(state, out, report));
    case "permission.answered":
    case "question.answered":
      return onAnswered(state, out, report);
    case "session":
      return onSession(state, out, report);
    case "removed":
      return emit(state, out, { type: "session.updated", data: { removed: [report.place] } });
    case "answer":
      if (state.asks.delete(report.ask_id)) {
        const { ask_id, status, body } = report;
        out.push({ type: "answered", ask_id, status, body });
      }
      return;
    case "usage":
      return addUsage(state, out, report);
    case "background":
      setBackground(state, report.open);
      return settleIfReleased(state, out);
    case "todo":
      return onTodo(state, out, report.todos);
    case "error":
      return reportError(state, out, report);
    case "unparsed": {
      const data = { error: report.error, location: report.location, raw_hash: hashHex(report.text) };
      return emit(state, out, { type: "agent.unparsed", data }, made());
    }
    default:
      return unreachable(report);
  }
}

function onOpen(state: MachineState, out: MachineOutput[], { item, synthetic }: OpenReport): void {
  if (isKnown(state.ledger, item.key)) return;
  const { turn } = state;
  let head = item;
  if (item.role === "user" && turn !== null && item.subagent === undefined) {
    if (turn.madeEcho !== null) {
      // We have said the prompt for the agent: its own late echo is the same item, which is closed.
      state.ledger.closed.set(item.key, turn.madeEcho);
      turn.madeEcho = null;
      return;
    }
    // An echo without a name of its own is named as the prompt is.
    if (turn.unsaid !== null && item.message_id === undefined) head = { ...item, message_id: nameOf(turn.unsaid) };
    turn.unsaid = null;
  }
  noteWork(state, out, head);
  openItem(state, out, { head, options: synthetic === true ? made() : asReported });
}

function onDelta(state: MachineState, out: MachineOutput[], report: DeltaReport): void {
  if (!isKnown(state.ledger, report.key)) noteWork(state, out, stubFor(report));
  const item = addDelta(state, out, report);
  if (item === null) return;
  // The summary of a compaction is a system item: while it is written, the compaction goes on.
  if (item.head.role !== "system") backToRunning(state, out);
  if (report.part === "tool_output" && isWaiting(state)) {
    const callId = callIdOf(item.head);
    if (callId !== null) toolWentOn(state, out, { callId, denied: false });
  }
}

function onClose(state: MachineState, out: MachineOutput[], report: CloseReport): void {
  const { ledger } = state;
  const head = ledger.open.get(report.key)?.head ?? (isKnown(ledger, report.key) ? undefined : report.item);
  if (head === undefined) return;
  if (!ledger.open.has(report.key)) noteWork(state, out, head);
  const callId = head.kind === "tool_result" ? callIdOf(head) : null;
  // An open request for this tool is resolved before its result is emitted.
  if (callId !== null && isWaiting(state)) {
    toolWentOn(state, out, { callId, denied: report.denied === true });
  }
  closeItem(state, out, { report, options: asReported });
  if (state.policy.finishTodos !== false && isTool(head)) noteTool(state.governor, report.content ?? head.content);
  settleIfReleased(state, out);
}

function toolWentOn(state: MachineState, out: MachineOutput[], tool: { callId: string; denied: boolean }): void {
  resolveByTool(state, out, tool);
  showState(state, out);
}

/** A prompt not echoed is said first; work that nobody asked for begins a turn of its own. */
function noteWork(state: MachineState, out: MachineOutput[], head: ItemHead): void {
  const speaks = head.role === "assistant" && (head.kind === "message" || head.kind === "tool_call");
  if (!speaks && head.kind !== "tool_call") return;
  if (state.turn === null) {
    if (head.subagent === undefined && !isBackground(state, head)) beginTurn(state, out, { origin: "background" });
    return;
  }
  sayUnsaid(state, out);
  backToRunning(state, out);
}

/** Output means that the wait for a retry, or the compaction, is over. */
function backToRunning(state: MachineState, out: MachineOutput[]): void {
  const { turn } = state;
  if (turn === null || turn.activity === "running") return;
  turn.activity = "running";
  showState(state, out);
}

function onBegin(state: MachineState, out: MachineOutput[], { origin }: BeginReport): void {
  const { turn } = state;
  if (turn !== null) {
    // Still waiting for calls of a turn that was said to be over, and yet the agent begins: that is a new turn.
    if (turn.end === null || turn.stop !== null) return;
    finishAsSignalled(state, out, { turn, evidence: "signal", rule: "turn.next_began" });
    if (state.turn !== null) return;
  }
  beginTurn(state, out, { origin });
}

const isNatural = ({ reason }: EndReport): boolean => reason === "completed";

function onEnd(state: MachineState, out: MachineOutput[], report: EndReport): void {
  const error = report.error ?? null;
  if (state.turn === null) {
    if (report.says !== true) return;
    beginTurn(state, out, { origin: "agent", synthetic: true });
    finishTurn(state, out, { reason: report.reason, evidence: "signal", error });
    return;
  }
  const { turn } = state;
  if (turn.stop !== null) return finishStopped(state, out, { stop: turn.stop, evidence: "signal" });
  // A second word that it is over is ignored.
  if (turn.end !== null) return;
  turn.end = { reason: report.reason, error };
  if (!isNatural(report)) finishAsSignalled(state, out, { turn, evidence: "signal" });
  else if (!holdsEnd(state)) settle(state, out, turn);
}

/** The last open call of a turn that was said to be over has resolved. */
function settleIfReleased(state: MachineState, out: MachineOutput[]): void {
  const { turn } = state;
  if (turn === null || turn.end === null || turn.stop !== null) return;
  // A request that came after the end says that the agent is not done: a person is waited for.
  if (isToolAtWork(state) || isWaiting(state)) return;
  settle(state, out, turn);
}

function onState(state: MachineState, out: MachineOutput[], report: StateReport): void {
  const { turn } = state;
  if (turn === null) return;
  turn.activity = report.state;
  if (report.state === "retrying") {
    const { attempt, message } = report;
    const delayMs = "delayMs" in report ? report.delayMs : report.nextAt - (state.at + state.aheadMs);
    turn.retry = { attempt, message, next: state.at + Math.max(0, delayMs) };
  }
  showState(state, out, { again: true });
}

/** A request outside a turn is new work: somebody must be able to answer it. */
function onRequest(state: MachineState, out: MachineOutput[], ask: () => Answer | null): void {
  if (state.turn === null) beginTurn(state, out, { origin: "background" });
  sayUnsaid(state, out);
  const answer = ask();
  showState(state, out);
  if (answer !== null) sendCommand(state, out, { command: answer, prompt: null });
}

/** The inspection of a held request is finished, or took too long. */
export function onInspected(state: MachineState, out: MachineOutput[], inspected: InspectedRequest): void {
  const held = state.held.get(inspected.key);
  const answer = decideHeld(state, out, inspected);
  showState(state, out);
  if (answer !== null) {
    // The agent waited for this answer: its silence counts from now.
    state.heardAt = state.at;
    sendIfOpen(state, out, answer);
  } else if (held?.afterEnd === false) settleIfGivenUp(state, out);
}

/** The agent ended its turn while the request was inspected: the tool that waits for users has been given up. */
function settleIfGivenUp(state: MachineState, out: MachineOutput[]): void {
  const { turn } = state;
  if (turn !== null && turn.end !== null && turn.stop === null && !holdsEnd(state)) settle(state, out, turn);
}

function onAnswered(
  state: MachineState,
  out: MachineOutput[],
  report: Extract<Report, { type: "permission.answered" | "question.answered" }>,
): void {
  if (withdrawHeld(state, report.key)) return;
  const request = state.requests.get(report.key);
  if (request === undefined) return;
  const options = asReported;
  if (report.type === "permission.answered" && request.type === "permission") {
    resolvePermission(state, out, { request, reply: report.reply, options });
  } else if (report.type === "question.answered" && request.type === "question") {
    resolveQuestion(state, out, { request, answers: report.answers, options });
  }
  showState(state, out);
}

function onTodo(state: MachineState, out: MachineOutput[], todos: MachineState["todos"]): void {
  if (JSON.stringify(todos) === JSON.stringify(state.todos)) return;
  state.todos = todos;
  emit(state, out, { type: "todo.updated", data: { todos } });
}
