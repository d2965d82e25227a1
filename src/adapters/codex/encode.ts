/** Commands → what we say to Codex. Prompts wait until the thread is there; everything is said in its own words. */

import type { AgentCommand, Send } from "../../core/agent-io.ts";
import { defined } from "../../core/defined.ts";
import { unreachable } from "../../core/fold.ts";
import { isImage } from "../../core/media-types.ts";
import type { Report } from "../../core/report.ts";
import { answer, call } from "../../core/rpc.ts";
import type { Prompt } from "../../protocol/commands.ts";
import { answerFor, type Given } from "./answers.ts";
import { openThread, REQUEST_TIMEOUT_MS } from "./handshake.ts";
import { turnAccess } from "./launch.ts";
import { cancelAll } from "./requests.ts";
import { ownThread, type Purpose, type State, type Thread } from "./state.ts";

interface TimedCommand {
  readonly command: AgentCommand;
  readonly at: number;
}

export function encode(state: State, { command, at }: TimedCommand): (Report | Send)[] {
  switch (command.type) {
    case "prompt":
    case "compact":
    case "shell":
      return begin(state, { command, at });
    case "steer":
      return steer(state, { prompt: command.prompt, at });
    case "permission.reply":
      // Codex has no place for the reason of a refusal: the command is declined and the turn goes on.
      return reply(state, { key: command.key, given: { type: "permission", reply: command.reply } });
    case "question.reply":
      return reply(state, { key: command.key, given: { type: "question", answers: command.answers } });
    case "question.reject":
      return reply(state, { key: command.key, given: { type: "question", answers: null } });
    case "abort":
      return abort(state, at);
    case "set":
      state.change = { ...state.change, ...command.change };
      return [];
    case "ask":
      // Not among the capabilities: the door refuses it.
      return [];
    default:
      return unreachable(command);
  }
}

type Beginning = Extract<AgentCommand, { type: "prompt" | "compact" | "shell" }>;

function begin(state: State, { command, at }: { command: Beginning; at: number }): Send[] {
  if (state.phase !== "ready" || state.thread === null) {
    state.waiting.push(command);
    return state.phase === "none" ? openThread(state, at) : [];
  }
  const { thread: threadId } = state;
  state.requested = true;
  state.interrupted = false;
  state.cancelled = false;
  if (command.type === "compact") {
    return [ask(state, { method: "thread/compact/start", params: { threadId }, context: { type: "own" }, at })];
  }
  if (command.type === "shell") {
    const params = { threadId, command: command.command };
    return [ask(state, { method: "thread/shellCommand", params, context: { type: "own" }, at })];
  }
  const { prompt } = command;
  const params = {
    threadId,
    clientUserMessageId: prompt.client_id ?? prompt.prompt_id,
    input: inputOf(prompt),
    ...turnSettings(state),
  };
  return [ask(state, { method: "turn/start", params, context: { type: "turn" }, at })];
}

interface Ask {
  readonly method: string;
  readonly params: unknown;
  readonly context: Purpose;
  readonly at: number;
}

export const ask = (state: State, request: Ask): Send => ({
  type: "send.line",
  line: call(state.rpc, { ...request, timeoutMs: REQUEST_TIMEOUT_MS }),
});

/** What was changed since the thread was opened. */
function turnSettings({ change, options, model: known }: State) {
  const { model, variant, permission_mode } = change;
  const mode = change.mode ?? options?.mode ?? null;
  const now = model ?? known;
  const effort = variant ?? options?.variant ?? null;
  // A mode brings its own model and effort, so the present ones are said again.
  const settings = { model: now, reasoning_effort: effort, developer_instructions: null };
  return {
    ...defined({ model, effort: variant }),
    ...(permission_mode === undefined ? {} : turnAccess(permission_mode)),
    ...defined({ collaborationMode: mode === null || now === null ? undefined : { mode, settings } }),
  };
}

function inputOf({ text, attachments }: Prompt): unknown[] {
  return [
    { type: "text", text, text_elements: [] },
    ...attachments.map(({ path, mime }) =>
      isImage({ path, mime })
        ? { type: "localImage", path }
        : { type: "text", text: `Attached file: ${path}`, text_elements: [] },
    ),
  ];
}

function steer(state: State, { prompt, at }: { prompt: Prompt; at: number }): (Report | Send)[] {
  const thread = ownThread(state);
  if (thread === null || thread.turn === null) {
    const message = "There is no running turn of Codex to steer into.";
    return [{ type: "error", message, code: "steer_refused", fatal: false }];
  }
  const params = {
    threadId: thread.id,
    expectedTurnId: thread.turn,
    clientUserMessageId: prompt.client_id ?? prompt.prompt_id,
    input: inputOf(prompt),
  };
  return [ask(state, { method: "turn/steer", params, context: { type: "steer" }, at })];
}

function reply(state: State, { key, given }: { key: string; given: Given }): Send[] {
  const asked = state.asked.get(key);
  if (asked === undefined) return [];
  state.asked.delete(key);
  const line = answer(state.rpc, { id: asked.id, result: answerFor(asked, given) });
  return line === null ? [] : [{ type: "send.line", line }];
}

/** Stop means stop: the turn, what it asked, the agents it spawned, and the commands that would go on running. */
function abort(state: State, at: number): (Report | Send)[] {
  const waited = state.waiting.length > 0;
  state.waiting = [];
  if (waited) return [{ type: "end", reason: "aborted" }];
  const out: (Report | Send)[] = cancelAll(state);
  state.interrupted = true;
  for (const thread of state.threads.values()) {
    if (thread.turn !== null) out.push(...interrupt(state, thread, at));
    else if (state.background.size > 0) out.push(clean(state, thread.id, at));
  }
  const own = ownThread(state);
  if (own !== null && own.turn !== null) return out;
  // Asked for, but Codex has not named the turn yet: it is interrupted as soon as it does.
  if (state.requested) state.interruptWhenKnown = true;
  else out.push({ type: "end", reason: "aborted" });
  return out;
}

// Quirk: an interrupted turn leaves its command running until cleaned (transcripts/codex/interrupt-command-clean).
export function interrupt(state: State, { id, turn }: Thread, at: number): Send[] {
  return [
    ask(state, {
      method: "turn/interrupt",
      params: { threadId: id, turnId: turn },
      context: { type: "interrupt", own: id === state.thread },
      at,
    }),
    clean(state, id, at),
  ];
}

export const clean = (state: State, threadId: string, at: number): Send =>
  ask(state, { method: "thread/backgroundTerminals/clean", params: { threadId }, context: { type: "other" }, at });
