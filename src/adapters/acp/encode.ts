/** Commands → what we say to an ACP agent. Prompts wait until the session is there; one at a time. */
import type { AgentCommand, Send } from "../../core/agent-io.ts";
import { unreachable } from "../../core/fold.ts";
import { HOST_CALL } from "../../core/host-call.ts";
import { isImage } from "../../core/media-types.ts";
import type { Report } from "../../core/report.ts";
import { notify } from "../../core/rpc.ts";
import { isString, shapeOf } from "../../dialects/shape.ts";
import { ask } from "./ask.ts";
import { changeSettings } from "./config.ts";
import { openSession, prompts } from "./handshake.ts";
import { killTerminals } from "./host.ts";
import { onAnswer } from "./requests.ts";
import type { State } from "./state.ts";
import { beginTurn } from "./work.ts";

/** The answer to a prompt may take as long as the work does: the turn machine watches over it. */
const PROMPT_TIMEOUT_MS = 30 * 24 * 3_600_000;

export function encode(state: State, { command, at }: { command: AgentCommand; at: number }): (Report | Send)[] {
  state.at = at;
  switch (command.type) {
    case "prompt":
      return onPrompt(state, command);
    case "permission.reply":
      return onAnswer(state, { key: command.key, given: { type: "permission", reply: command.reply } });
    case "question.reply":
      return onAnswer(state, { key: command.key, given: { type: "question", answers: command.answers } });
    case "question.reject":
      return onAnswer(state, { key: command.key, given: { type: "question", answers: null } });
    case "abort":
      return abort(state);
    case "set":
      return set(state, command);
    case "compact":
    case "shell":
    case "steer":
    case "ask":
      // Not among the capabilities: they are refused before.
      return [];
    default:
      return unreachable(command);
  }
}

type PromptCommand = Extract<AgentCommand, { type: "prompt" }>;

function onPrompt(state: State, command: PromptCommand): (Report | Send)[] {
  if (state.phase !== "ready" || state.settings > 0) {
    state.waiting.push(command);
    return state.phase === "failed" ? openSession(state) : [];
  }
  beginTurn(state, "asked");
  const images = command.prompt.attachments.filter(isImage);
  const reads = prompts(state).image === undefined || prompts(state).image === false ? [] : images;
  if (reads.length === 0) return [sendPrompt(state, command, [])];
  state.attaching = { prompt: command, missing: reads.length, blocks: [] };
  return reads.map(({ path }): Send => {
    state.hostCalls += 1;
    return { type: "send.host", id: `${HOST_CALL}attach/${state.hostCalls}`, call: { type: "file.attach", path } };
  });
}

/** An image of the prompt was read, or could not be. */
export function onAttached(state: State, { status, body }: { status: number; body: unknown }): (Report | Send)[] {
  const { attaching } = state;
  if (attaching === null) return [];
  const { data, mime, path, message } = shapeOf(body);
  const out: (Report | Send)[] = [];
  if (status === 200 && isString(data))
    attaching.blocks.push({ type: "image", data, mimeType: mime, uri: `file://${path}` });
  else out.push({ type: "error", message: String(message), code: "attachment_unreadable", fatal: false });
  attaching.missing -= 1;
  if (attaching.missing > 0) return out;
  state.attaching = null;
  return [...out, sendPrompt(state, attaching.prompt, attaching.blocks)];
}

function sendPrompt(state: State, { prompt }: PromptCommand, images: readonly unknown[]): Send {
  state.prompts += 1;
  const links = prompt.attachments
    .filter((attachment) => images.length === 0 || !isImage(attachment))
    .map(({ path, mime, filename }) => ({
      type: "resource_link",
      uri: `file://${path}`,
      name: filename ?? path.slice(path.lastIndexOf("/") + 1),
      ...(mime === undefined ? {} : { mimeType: mime }),
    }));
  const params = { sessionId: state.session, prompt: [{ type: "text", text: prompt.text }, ...images, ...links] };
  return ask(state, { method: "session/prompt", params, context: { type: "prompt" }, timeoutMs: PROMPT_TIMEOUT_MS });
}

/** Cancel first, then answer what is open: some agents wait for that. Commands of ours are stopped too. */
function abort(state: State): (Report | Send)[] {
  const waited = state.waiting.some(({ type }) => type === "prompt") || state.attaching !== null;
  state.waiting = state.waiting.filter(({ type }) => type !== "prompt");
  state.attaching = null;
  if (waited && state.prompts === 0) return [{ type: "end", reason: "aborted" }];
  state.cancelled = true;
  const cancel = notify(state.rpc, { method: "session/cancel", params: { sessionId: state.session } });
  const answers = [...state.asked.keys()]
    .filter((key) => !key.startsWith(HOST_CALL))
    .flatMap((key) => onAnswer(state, { key, given: { type: "cancel" } }));
  const idle = state.prompts === 0 && state.turn === "none";
  return [
    { type: "send.line", line: cancel },
    ...answers,
    ...killTerminals(state),
    ...(idle ? [{ type: "end" as const, reason: "aborted" as const }] : []),
  ];
}

function set(state: State, command: Extract<AgentCommand, { type: "set" }>): Send[] {
  const { options } = state;
  const { permission_mode } = command.change;
  if (options !== null && permission_mode !== undefined) state.options = { ...options, permission_mode };
  if (state.phase !== "ready") {
    state.waiting.push(command);
    return [];
  }
  return changeSettings(state, command.change);
}

/** Commands that waited, once the session's settings have been answered. */
export function flush(state: State): (Report | Send)[] {
  if (state.phase !== "ready" || state.settings > 0) return [];
  const { waiting } = state;
  state.waiting = [];
  return waiting.flatMap((command) => encode(state, { command, at: state.at }));
}
