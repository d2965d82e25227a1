/** How a turn begins, waits, settles and ends. Nobody else says `turn.started` or `turn.ended`. */
import type { Prompt } from "../protocol/commands.ts";
import type { EndReason, ErrorInfo, Evidence, Origin, TurnState } from "../protocol/events.ts";
import { type ItemId, promptId as promptIdOf, turnId } from "../protocol/ids.ts";
import type { AgentCommand } from "./agent-io.ts";
import { findBreach, forgetPrompt } from "./budget-limits.ts";
import { defined } from "./defined.ts";
import { decide, isGoverned, resetGovernor } from "./governor.ts";
import { type Proposal, SETTLE_MS } from "./input.ts";
import { closeItem, failItem, idOf, openItem, turnPage } from "./items.ts";
import {
  asReported,
  emit,
  type MachineOutput,
  type MachineState,
  made,
  newTurn,
  ours,
  type Turn,
} from "./machine-state.ts";
import type { ErrorReport } from "./report.ts";
import { dropRequests } from "./requests.ts";
import { withUnheard } from "./unheard.ts";
import { beginTurnUsage } from "./usage.ts";

const PREVIEW_LENGTH = 120;
/** Resolved requests are remembered only to absorb their echoes; the set starts anew when it grows past this. */
const RESOLVED_REMEMBERED = 1_000;

export interface Start {
  readonly origin: Origin;
  readonly prompt?: Prompt;
  readonly synthetic?: boolean;
}

export function beginTurn(state: MachineState, out: MachineOutput[], { origin, prompt, synthetic }: Start): Turn {
  state.turns += 1;
  turnPage(state.ledger);
  if (state.resolved.size > RESOLVED_REMEMBERED) state.resolved = new Set();
  beginTurnUsage(state.usage);
  const turn = newTurn({ id: turnId(state.session, state.turns), origin, startedAt: state.at });
  turn.limits = { ...state.policy.budgets.prompt, ...prompt?.budget };
  forgetPrompt(state.budget);
  state.budget.familyBefore = state.budget.family;
  state.turn = turn;
  state.heardAt = state.at;
  const data = defined({ turn_id: turn.id, origin, prompt_id: prompt?.prompt_id });
  emit(state, out, { type: "turn.started", data }, synthetic === true ? made("turn.unannounced") : ours());
  return turn;
}

/** A person's prompt begins its turn: the words are said, then the agent is asked. */
export function startPrompt(
  state: MachineState,
  out: MachineOutput[],
  { prompt: given, origin }: { prompt: Prompt; origin: "user" | "queue" },
): void {
  const prompt = withUnheard(state, given);
  const turn = beginTurn(state, out, { origin, prompt });
  resetGovernor(state.governor, { at: state.at, todos: state.todos });
  out.push({ type: "prompt.started", prompt_id: prompt.prompt_id });
  sayPrompt(state, out, { turn, prompt });
  const breach = findBreach(state, out);
  if (breach === null) sendCommand(state, out, { command: { type: "prompt", prompt }, prompt });
  else finishTurn(state, out, { reason: "budget", evidence: "signal", error: breach.error, rule: "turn.budget" });
}

/** Every accepted prompt is a user item, once: ours, or the agent's own where it echoes. */
export function sayPrompt(
  state: MachineState,
  out: MachineOutput[],
  { turn, prompt }: { turn: Turn; prompt: Prompt },
): void {
  const { echoesPrompts, extras } = state.capabilities;
  // An echo of the bare words would not say which of them a program wrote, nor what the files were called.
  const isMore = prompt.extras?.parts !== undefined || prompt.attachments.length > 0;
  if (echoesPrompts && (!isMore || extras?.includes("parts") === true)) {
    turn.unsaid = prompt;
    return;
  }
  const item = makeUserItem(state, out, { prompt, rule: "prompt.accepted" });
  if (echoesPrompts) turn.madeEcho = item;
}

/** The agent has not echoed the prompt and goes on: then we say it, and absorb a later echo. */
export function sayUnsaid(state: MachineState, out: MachineOutput[]): void {
  const { turn } = state;
  if (turn === null || turn.unsaid === null) return;
  const prompt = turn.unsaid;
  turn.unsaid = null;
  turn.madeEcho = makeUserItem(state, out, { prompt, rule: "prompt.not_echoed" });
}

/** What the message of a prompt is called: by its client, else by us. */
export const nameOf = ({ client_id, prompt_id }: Prompt): string => client_id ?? prompt_id;

function makeUserItem(
  state: MachineState,
  out: MachineOutput[],
  { prompt, rule }: { prompt: Prompt; rule: string },
): ItemId | null {
  const key = `prompt/${prompt.prompt_id}`;
  const texts = prompt.extras?.parts ?? [{ text: prompt.text }];
  const content = [
    ...texts.map((part) => ({ type: "text" as const, ...part })),
    ...prompt.attachments.map((one) => ({ type: "file_ref" as const, ...one, action: "read" as const })),
  ];
  const head = {
    key,
    native_item_id: null,
    message_id: nameOf(prompt),
    kind: "message" as const,
    role: "user" as const,
    content,
  };
  openItem(state, out, { head, options: made(rule) });
  closeItem(state, out, { report: { type: "close", key, status: "completed" }, options: made(rule) });
  return idOf(state.ledger, key);
}

/** Sends a command to the agent; without a connection the command waits for one. */
export function sendCommand(
  state: MachineState,
  out: MachineOutput[],
  { command, prompt }: { command: AgentCommand; prompt: Prompt | null },
): void {
  if (state.connection === "open") {
    out.push({ type: "command", command });
    return;
  }
  state.outbox.push(command);
  if (state.connection !== "closed") return;
  state.connection = "opening";
  out.push({ type: "connect", prompt });
}

/** Sends a command only if the agent is connected. */
export function sendIfOpen(state: MachineState, out: MachineOutput[], command: AgentCommand): void {
  if (state.connection === "open") out.push({ type: "command", command });
}

export const preview = (prompt: Prompt): string =>
  prompt.text.length <= PREVIEW_LENGTH ? prompt.text : `${prompt.text.slice(0, PREVIEW_LENGTH - 1)}…`;

export function announceQueue(state: MachineState, out: MachineOutput[]): void {
  state.announced.clear();
  const queue = state.queue.map((prompt) => ({ prompt_id: prompt.prompt_id, preview: preview(prompt) }));
  emit(state, out, { type: "session.updated", data: { queue } }, ours());
}

/** Emits what the turn is doing, when that changed; `again`: the next of several retries. */
export function showState(state: MachineState, out: MachineOutput[], { again }: { again: boolean } = once): void {
  const { turn } = state;
  if (turn === null) return;
  const shown: TurnState = state.requests.size > 0 ? "requires_action" : turn.activity;
  if (shown === turn.shown && !(again && shown === "retrying")) return;
  turn.shown = shown;
  const retry =
    shown === "retrying" && turn.retry !== null ? { ...turn.retry, next: turn.retry.next + state.aheadMs } : null;
  emit(state, out, { type: "turn.state", data: { turn_id: turn.id, state: shown, ...retry } }, ours());
}

const once = { again: false };

/** A natural end with nothing open: the governor is asked before idle is announced. */
export function settle(state: MachineState, out: MachineOutput[], turn: Turn): void {
  if (turn.settleBy !== null) return;
  const { policy, governor } = state;
  const mayGoOn = turn.end?.reason === "completed" && !governor.stopped;
  if (mayGoOn && policy.askPlugins) {
    turn.settleBy = state.at + SETTLE_MS;
    out.push({ type: "settle", turn_id: turn.id });
    return;
  }
  if (mayGoOn && isGoverned(policy.finishTodos)) conclude(state, out, { turn, proposals: [] });
  else finishAsSignalled(state, out, { turn, evidence: "signal" });
}

/** The plugins have spoken, or their time is over. */
export function conclude(
  state: MachineState,
  out: MachineOutput[],
  { turn, proposals }: { turn: Turn; proposals: readonly Proposal[] },
): void {
  turn.settleBy = null;
  const { governor, policy, usage } = state;
  const settlement = {
    natural: turn.end?.reason === "completed",
    todos: state.todos,
    proposals,
    waiting: {
      requests: state.requests.size + state.held.size,
      queued: state.queue.length,
      background: state.background.length,
    },
    elapsedMs: state.at - governor.startedAt,
    spentUsd: usage.turn.cost_usd,
  };
  const decision = decide(governor, policy.finishTodos, settlement);
  const { reason, attempt, limit, prompt, notable } = decision;
  if (notable) {
    const data = { turn_id: turn.id, decision: decision.decision, reason, attempt, limit, inputs: settlement };
    emit(state, out, { type: "turn.continued", data }, ours("turn.settlement"));
  }
  if (decision.decision === "settle") {
    finishAsSignalled(state, out, { turn, evidence: "signal" });
    return;
  }
  turn.end = null;
  state.heardAt = state.at;
  const continuation = continuationPrompt(turn, { attempt, text: prompt });
  sayPrompt(state, out, { turn, prompt: continuation });
  sendCommand(state, out, { command: { type: "prompt", prompt: continuation }, prompt: continuation });
}

function continuationPrompt(turn: Turn, { attempt, text }: { attempt: number; text: string }): Prompt {
  // The id follows from the turn and the attempt, so that a replay gives the same one.
  const id = `${turn.id}/continue-${attempt}`;
  return { prompt_id: promptIdOf(id), text, attachments: [] };
}

export function finishAsSignalled(
  state: MachineState,
  out: MachineOutput[],
  { turn, evidence, rule }: { turn: Turn; evidence: Evidence; rule?: string },
): void {
  finishTurn(state, out, {
    reason: turn.end?.reason ?? "completed",
    error: turn.end?.error ?? null,
    evidence,
    ...defined({ rule }),
  });
}

/** The end of a turn that was asked to stop. */
export function finishStopped(
  state: MachineState,
  out: MachineOutput[],
  { stop, evidence, rule }: { stop: NonNullable<Turn["stop"]>; evidence: Evidence; rule?: string },
): void {
  const { reason, error } = stop;
  finishTurn(state, out, { reason, error, evidence, ...defined({ rule }) });
}

export interface Stopping {
  readonly turn: Turn;
  readonly reason: "aborted" | "budget";
  readonly error: ErrorInfo | null;
  readonly rule: string;
}

/** Stops a turn in order: requests are withdrawn, the agent is asked to stop, and has a bounded time for it. */
export function stopTurn(state: MachineState, out: MachineOutput[], { turn, reason, error, rule }: Stopping): void {
  turn.stop = { at: state.at, reason, error };
  dropRequests(state, out, rule);
  showState(state, out);
  if (turn.shell !== null) {
    out.push({ type: "shell.stop", turn_id: turn.id });
    return;
  }
  if (state.connection === "open") out.push({ type: "command", command: { type: "abort" } });
  // Nothing to wait for: the agent is not there yet, or it has already said that it is done.
  if (state.connection !== "open" || turn.end !== null) {
    if (state.connection === "opening") stopAgent(state, out);
    finishTurn(state, out, { reason, evidence: "signal", error, rule });
  }
}

export interface Finish {
  readonly reason: EndReason;
  readonly evidence: Evidence;
  readonly error: ErrorInfo | null;
  readonly rule?: string;
}

/**
 * Errors as they are reported. The first fatal one of a turn is its fatal error; a second, or one outside of a turn,
 * ends nothing and is not fatal.
 */
export function reportError(state: MachineState, out: MachineOutput[], error: Omit<ErrorReport, "type">): void {
  const { message, code, details, fatal: reported } = error;
  const fatal = reported && state.turn?.failed === false;
  if (fatal && state.turn !== null) state.turn.failed = true;
  emit(state, out, { type: "error", data: defined({ message, code, fatal, details }) });
}

/** A turn that ends by an error has exactly one fatal error: the agent's, or ours where it reported none. */
function failTurn(
  state: MachineState,
  out: MachineOutput[],
  { turn, finish }: { turn: Turn; finish: Finish },
): ErrorInfo {
  const unknown = `The ${state.agent} agent failed and gave no reason.`;
  const error = finish.error ?? { message: unknown, code: "agent_error", details: null };
  if (turn.failed) return error;
  turn.failed = true;
  const { message, code, details } = error;
  const reported = finish.error !== null && finish.evidence === "signal";
  const data = { message, code, details, fatal: true };
  emit(state, out, { type: "error", data }, reported ? asReported : made("turn.error"));
  return error;
}

/** The one end of a turn: requests are resolved, items closed, then it is said, then the queue goes on. */
export function finishTurn(state: MachineState, out: MachineOutput[], finish: Finish): void {
  const { turn } = state;
  if (turn === null) return;
  sayUnsaid(state, out);
  const error = finish.reason === "error" ? failTurn(state, out, { turn, finish }) : finish.error;
  dropRequests(state, out, "turn.ended");
  const keepBackground = finish.evidence === "signal" && state.connection === "open";
  for (const item of [...state.ledger.open.values()]) {
    if (!keepBackground || !item.inBackground) failItem(state, out, { item, rule: "turn.ended" });
  }
  const background = keepBackground ? state.background.map(({ id, kind, title }) => ({ id, kind, title })) : [];
  const data = defined({
    turn_id: turn.id,
    reason: finish.reason,
    evidence: finish.evidence,
    error: error ?? undefined,
    usage: state.usage.turn,
    background,
  });
  emit(state, out, { type: "turn.ended", data }, ours(finish.rule ?? `turn.${finish.evidence}`));
  state.turn = null;
  // What is no part of a turn is not over with it.
  if (state.outbox.length > 0) state.outbox = state.outbox.filter(({ type }) => type === "ask");
  if (state.capabilities.oneTurn === true && state.connection === "open") {
    state.connection = "closing";
    state.closingAt = state.at;
    state.goesByItself = true;
  }
  runQueue(state, out);
}

/** Asks the edge to end the connection; commands that wait for it are dropped. */
export function stopAgent(state: MachineState, out: MachineOutput[]): void {
  if (state.connection === "closed" || state.connection === "closing") return;
  // A process that serves other sessions lives on: it must hear that this one's work is to stop.
  const abortSent = state.turn !== null && state.turn.stop !== null;
  if (state.connection === "open" && !abortSent) out.push({ type: "command", command: { type: "abort" } });
  state.connection = "closing";
  state.closingAt = state.at;
  state.goesByItself = false;
  state.outbox = [];
  out.push({ type: "stop" });
}

/** Open side requests are answered with the reason why no answer will come. */
export function leaveUnanswered(state: MachineState, out: MachineOutput[], message: string): void {
  for (const ask_id of state.asks) out.push({ type: "answered", ask_id, status: 0, body: { message } });
  state.asks.clear();
}

/** Items and requests that have lost their agent and are in no turn. */
export function closeLeftovers(state: MachineState, out: MachineOutput[], rule: string): void {
  if (state.turn !== null || state.ended) return;
  dropRequests(state, out, rule);
  for (const item of [...state.ledger.open.values()]) failItem(state, out, { item, rule });
}

/** The next prompt in line, if nobody is at work. */
export function runQueue(state: MachineState, out: MachineOutput[]): void {
  if (state.turn !== null || state.ended || state.connection === "closing") return;
  const prompt = state.queue.shift();
  if (prompt === undefined) return;
  announceQueue(state, out);
  startPrompt(state, out, { prompt, origin: "queue" });
}
