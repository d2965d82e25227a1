/** What a person or a program asks of a session, turned into turns, answers and words for the agent. */

import type { Command, Prompt } from "../protocol/commands.ts";
import type { PermissionRule } from "../protocol/resources.ts";
import { setBudget } from "./budget.ts";
import { defined } from "./defined.ts";
import { unreachable } from "./fold.ts";
import {
  announceQueue,
  beginTurn,
  closeLeftovers,
  finishTurn,
  leaveUnanswered,
  sayPrompt,
  sendCommand,
  sendIfOpen,
  showState,
  startPrompt,
  stopAgent,
  stopTurn,
} from "./lifecycle.ts";
import {
  emit,
  type MachineOutput,
  type MachineState,
  type OpenRequest,
  ours,
  REWOUND,
  STAND_IN,
} from "./machine-state.ts";
import { allowForSession, relayAnswer, resolvePermission, resolveQuestion } from "./requests.ts";
import { onShell } from "./shell.ts";
import { withUnheard } from "./unheard.ts";

export function onCommand(state: MachineState, out: MachineOutput[], command: Command): void {
  switch (command.type) {
    case "prompt":
      return onPrompt(state, out, command);
    case "permission.reply":
      return onPermissionReply(state, out, command);
    case "question.reply":
      return onQuestionAnswer(state, out, { id: command.question_id, answers: command.answers });
    case "question.reject":
      return onQuestionAnswer(state, out, { id: command.question_id, answers: null, message: command.message });
    case "abort":
      return onAbort(state, out, command);
    case "set":
      return onSet(state, out, command);
    case "change_agent":
      return changeAgent(state, out, command);
    case "compact":
      return onCompact(state, out);
    case "shell":
      return onShell(state, out, command);
    case "ask":
      state.asks.add(command.ask_id);
      return sendCommand(state, out, { command, prompt: null });
    case "revert": {
      const { revert, removed } = command;
      state.known.set("revert", revert);
      return emit(state, out, { type: "session.updated", data: { revert, ...defined({ removed }) } }, ours(REWOUND));
    }
    case "stop_continuing":
      return stopContinuing(state, out);
    case "terminate":
      return onTerminate(state, out, command);
    default:
      return unreachable(command);
  }
}

function onPrompt(
  state: MachineState,
  out: MachineOutput[],
  { prompt, delivery }: { prompt: Prompt; delivery: "queue" | "steer" },
): void {
  const { turn } = state;
  if (turn === null && state.connection !== "closing") {
    const wasQueued = state.announced.has(prompt.prompt_id);
    if (wasQueued) announceQueue(state, out);
    startPrompt(state, out, { prompt, origin: wasQueued ? "queue" : "user" });
    return;
  }
  const running = turn?.stop === null && turn.end === null && turn.shell === null && state.connection === "open";
  if (turn !== null && delivery === "steer" && running && state.capabilities.steer) {
    out.push({ type: "prompt.started", prompt_id: prompt.prompt_id });
    const steered = withUnheard(state, prompt);
    sayPrompt(state, out, { turn, prompt: steered });
    sendCommand(state, out, { command: { type: "steer", prompt: steered }, prompt: steered });
    return;
  }
  state.queue.push(prompt);
  announceQueue(state, out);
  // A person's word wins over the governor's: the turn that was settling ends, and the prompt runs.
  if (turn !== null && turn.settleBy !== null) {
    finishTurn(state, out, { reason: turn.end?.reason ?? "completed", evidence: "signal", error: null });
  }
}

function onPermissionReply(
  state: MachineState,
  out: MachineOutput[],
  command: Extract<Command, { type: "permission.reply" }>,
): void {
  for (const request of state.requests.values()) {
    if (request.type !== "permission" || request.data.permission_id !== command.permission_id) continue;
    const { reply, scope, message } = command;
    const { relay, key } = request;
    if (relay !== undefined) {
      // The session that sent the request remembers the reply.
      resolvePermission(state, out, { request, reply, options: ours() });
      out.push(relayAnswer(relay, { kind: "permission", reply, ...defined({ scope, message }) }));
      return afterAnswer(state, out);
    }
    if (reply === "always") allowForSession(state, out, { request, scope });
    else resolvePermission(state, out, { request, reply, options: ours() });
    afterAnswer(state, out);
    const answer = reply === "reject" ? "reject" : "once";
    return sendIfOpen(state, out, { type: "permission.reply", key, reply: answer, ...defined({ message }) });
  }
}

interface QuestionAnswer {
  readonly id: string;
  readonly answers: readonly (readonly string[])[] | null;
  readonly message?: string | undefined;
}

function onQuestionAnswer(state: MachineState, out: MachineOutput[], { id, answers, message }: QuestionAnswer): void {
  for (const request of state.requests.values()) {
    if (request.type !== "question" || request.data.question_id !== id) continue;
    resolveQuestion(state, out, { request, answers, options: ours() });
    afterAnswer(state, out);
    const { key, relay } = request;
    if (relay !== undefined) out.push(relayAnswer(relay, { kind: "question", answers, ...defined({ message }) }));
    else if (answers !== null) sendIfOpen(state, out, { type: "question.reply", key, answers });
    else sendIfOpen(state, out, { type: "question.reject", key, ...defined({ message }) });
    return;
  }
}

/** The agent waited for a person: its silence counts only from now. */
function afterAnswer(state: MachineState, out: MachineOutput[]): void {
  state.heardAt = state.at;
  showState(state, out);
}

/** The open request with this id, whether it is a permission or a question. */
export function findRequest(state: MachineState, id: string): OpenRequest | null {
  for (const request of state.requests.values()) {
    const own = request.type === "permission" ? request.data.permission_id : request.data.question_id;
    if (own === id) return request;
  }
  return null;
}

function onAbort(
  state: MachineState,
  out: MachineOutput[],
  { clear_queue: clearQueue, prompt_id: id }: Extract<Command, { type: "abort" }>,
): void {
  const waiting = state.queue.filter((prompt) => clearQueue || prompt.prompt_id === id);
  if (waiting.length > 0) dropQueued(state, out, waiting);
  if (waiting.some((prompt) => prompt.prompt_id === id)) return;
  const { turn } = state;
  if (turn === null || turn.stop !== null) return;
  stopContinuing(state, out);
  stopTurn(state, out, { turn, reason: "aborted", error: null, rule: "turn.abort" });
}

function dropQueued(state: MachineState, out: MachineOutput[], prompts: readonly Prompt[]): void {
  for (const prompt of prompts) out.push({ type: "prompt.dropped", prompt_id: prompt.prompt_id });
  state.queue = state.queue.filter((prompt) => !prompts.includes(prompt));
  announceQueue(state, out);
}

type SetCommand = Extract<Command, { type: "set" }>;

function onSet(state: MachineState, out: MachineOutput[], { change, standIn = false }: SetCommand): void {
  const data = defined({
    title: change.title,
    model: change.model,
    variant: change.variant,
    mode: change.mode,
    permission_mode: change.permission_mode,
  });
  if (change.permission_rules !== undefined) setRules(state, out, change.permission_rules);
  if (change.budget !== undefined) setBudget(state, change.budget);
  if (Object.keys(data).length === 0) return;
  if (data.title !== undefined && !standIn) state.titleGiven = true;
  for (const [name, value] of Object.entries(data)) state.known.set(name, value);
  emit(state, out, { type: "session.updated", data }, standIn ? ours(STAND_IN) : ours());
  const { title: _title, permission_rules: _rules, budget: _budget, ...rest } = change;
  if (Object.keys(rest).length > 0) sendIfOpen(state, out, { type: "set", change: rest });
}

/** The machine decides by rules. An agent that keeps rules itself gets them too, for those that deny. */
function setRules(state: MachineState, out: MachineOutput[], rules: readonly PermissionRule[]): void {
  if (state.capabilities.permissionRules === true) {
    sendIfOpen(state, out, { type: "set", change: { permission_rules: rules } });
  }
  state.policy = { ...state.policy, permissionRules: { ...state.policy.permissionRules, rules } };
}

/** The edge opens the session again with the new agent's adapter: this only writes the change to the log. */
function changeAgent(
  state: MachineState,
  out: MachineOutput[],
  { agent, settings }: Extract<Command, { type: "change_agent" }>,
): void {
  const data = { agent, ...settings };
  for (const [name, value] of Object.entries(data)) state.known.set(name, value);
  emit(state, out, { type: "session.updated", data }, ours());
}

/** Compaction is a turn of its own; while busy it is refused at the door. */
function onCompact(state: MachineState, out: MachineOutput[]): void {
  if (state.turn !== null) return;
  beginTurn(state, out, { origin: "user" });
  sendCommand(state, out, { command: { type: "compact" }, prompt: null });
}

export function stopContinuing(state: MachineState, out: MachineOutput[]): void {
  const { governor, policy } = state;
  if (governor.stopped || (policy.finishTodos === false && !policy.askPlugins)) return;
  governor.stopped = true;
  emit(state, out, { type: "session.updated", data: { continuing: false } }, ours());
}

function onTerminate(
  state: MachineState,
  out: MachineOutput[],
  command: Extract<Command, { type: "terminate" }>,
): void {
  if (state.queue.length > 0) dropQueued(state, out, state.queue);
  stopAgent(state, out);
  finishTurn(state, out, { reason: "aborted", evidence: "signal", error: null, rule: "session.terminate" });
  closeLeftovers(state, out, "session.terminate");
  leaveUnanswered(state, out, "The session has ended.");
  const { by, message, exit_code, stderr } = command;
  const data = { reason: "terminated" as const, terminated_by: by, ...defined({ message, exit_code, stderr }) };
  emit(state, out, { type: "session.ended", data }, ours());
  state.ended = true;
}
