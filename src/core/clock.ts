/** Time in the turn machine: what is due, and when to wake up next. Only `at` of the inputs is a clock. */
import { isToolAtWork } from "./background.ts";
import { budgetDueAt } from "./budget.ts";
import {
  conclude,
  finishAsSignalled,
  finishStopped,
  finishTurn,
  runQueue,
  sendCommand,
  showState,
  stopAgent,
} from "./lifecycle.ts";
import { isWaiting, type MachineOutput, type MachineState, type Turn } from "./machine-state.ts";
import { onInspected } from "./reports.ts";
import { expireRequest } from "./requests.ts";

/** After the stop of a disobedient agent: how long until the turn ends even if nobody reports its death. */
export const STOP_MS = 10_000;

/** The next moment at which something is due, or null. Feed a `tick` then. */
export function wakeAt(state: MachineState): number | null {
  const { turn } = state;
  let next = Number.POSITIVE_INFINITY;
  for (const request of state.requests.values()) next = Math.min(next, request.deadline);
  for (const held of state.held.values()) next = Math.min(next, held.deadline);
  if (turn !== null) next = Math.min(next, turnDueAt(state, turn), budgetDueAt(state, turn));
  if (state.connection === "closing") next = Math.min(next, state.closingAt + STOP_MS);
  return Number.isFinite(next) ? next : null;
}

function turnDueAt(state: MachineState, turn: Turn): number {
  const { policy } = state;
  if (turn.stop !== null) return turn.stop.at + policy.abortMs + (turn.stopAsked ? STOP_MS : 0);
  if (turn.settleBy !== null) return turn.settleBy;
  if (isWaiting(state)) return Number.POSITIVE_INFINITY;
  if (turn.end !== null) return state.heardAt + policy.graceMs;
  if (isToolAtWork(state)) return Number.POSITIVE_INFINITY;
  return Math.max(state.heardAt, turn.retry?.next ?? 0) + policy.watchdogMs;
}

/** Does all that is due at `state.at`. */
export function expire(state: MachineState, out: MachineOutput[]): void {
  for (const request of [...state.requests.values()]) {
    if (request.deadline > state.at) continue;
    const answer = expireRequest(state, out, request);
    sendCommand(state, out, { command: answer, prompt: null });
    // The agent has only now something to go on with: its silence counts from here.
    state.heardAt = state.at;
  }
  for (const { report, deadline } of [...state.held.values()]) {
    if (deadline <= state.at) onInspected(state, out, { key: report.key, inspection: null });
  }
  showState(state, out);
  const { turn } = state;
  if (state.connection === "closing" && state.closingAt + STOP_MS <= state.at) onClosingDue(state, out);
  if (turn === null) runQueue(state, out);
  if (turn === null || turnDueAt(state, turn) > state.at) return;
  if (turn.stop !== null) onAbortDue(state, out, { turn, stop: turn.stop });
  else if (turn.settleBy !== null) conclude(state, out, { turn, proposals: [] });
  else if (turn.end !== null) finishAsSignalled(state, out, { turn, evidence: "signal", rule: "turn.grace" });
  else onWatchdog(state, out);
}

/** One that should have gone by itself and did not is stopped; one whose death nobody reports is taken for dead. */
function onClosingDue(state: MachineState, out: MachineOutput[]): void {
  if (!state.goesByItself) {
    state.connection = "closed";
    return;
  }
  state.goesByItself = false;
  state.closingAt = state.at;
  out.push({ type: "stop" });
}

function onAbortDue(
  state: MachineState,
  out: MachineOutput[],
  { turn, stop }: { turn: Turn; stop: NonNullable<Turn["stop"]> },
): void {
  if (!turn.stopAsked) {
    turn.stopAsked = true;
    // A person's command has nothing to do with the agent.
    if (turn.shell === null) stopAgent(state, out);
    return;
  }
  finishStopped(state, out, { stop, evidence: "watchdog", rule: "turn.abort" });
}

/** Alive, silent, nothing open: the turn ends and the agent is stopped, so that the next prompt finds a fresh one. */
function onWatchdog(state: MachineState, out: MachineOutput[]): void {
  const message = `The ${state.agent} agent said nothing for ${state.policy.watchdogMs} ms and had nothing open.`;
  stopAgent(state, out);
  finishTurn(state, out, {
    reason: "error",
    evidence: "watchdog",
    error: { message, code: "watchdog", details: { watchdog_ms: state.policy.watchdogMs } },
  });
}
