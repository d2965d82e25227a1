/** What we say to Claude Code: user messages with ids of our own, control requests, and answers to its requests. */
import type { AgentCommand, Send } from "../../core/agent-io.ts";
import { unreachable } from "../../core/fold.ts";
import { hashHex } from "../../core/hash.ts";
import type { Report } from "../../core/report.ts";
import type { Attachment, Prompt, SessionChange } from "../../protocol/commands.ts";
import { onPicture, picturesOf, readPictures } from "./attach.ts";
import { nativeMode } from "./launch.ts";
import { rejectQuestion, replyPermission, replyQuestion } from "./permissions.ts";
import { request } from "./requests.ts";
import type { State } from "./state.ts";

export function encode(state: State, command: AgentCommand): (Report | Send)[] {
  switch (command.type) {
    case "prompt":
    case "steer":
      return readPictures(state, command.prompt) ?? [promptMessage(state, command.prompt, [])];
    case "compact":
      return [message(state, { id: `compact-${state.requests}-${state.made}`, text: "/compact" })];
    case "permission.reply":
      return replyPermission(state, command);
    case "question.reply":
      return replyQuestion(state, command);
    case "question.reject":
      return rejectQuestion(state, command);
    case "abort":
      return abort(state);
    case "set":
      return change(state, command.change);
    case "shell":
    case "ask":
      // Not among the capabilities: the door refuses it.
      return [];
    default:
      return unreachable(command);
  }
}

/** A picture of a prompt was read, or could not be. */
export function onAttached(
  state: State,
  answer: { readonly id: string; readonly status: number; readonly body: unknown },
): (Report | Send)[] {
  const { reports, ready } = onPicture(state, answer);
  return [...reports, ...ready.map((one) => promptMessage(state, one.prompt, picturesOf(one)))];
}

const promptMessage = (state: State, prompt: Prompt, pictures: readonly unknown[]): Send =>
  message(state, { id: prompt.prompt_id, text: promptText(prompt), pictures });

interface Said {
  readonly id: string;
  readonly text: string;
  readonly pictures?: readonly unknown[];
}

function message(state: State, { id, text, pictures = [] }: Said): Send {
  const uuid = uuidFrom(id);
  state.working = true;
  state.sent.add(uuid);
  const line = { type: "user", message: { role: "user", content: [{ type: "text", text }, ...pictures] }, uuid };
  return { type: "send.line", line };
}

/** Stop means stop: commands and subagents left in the background as well. */
function abort(state: State): (Report | Send)[] {
  const waited = state.attaching.splice(0).length > 0;
  if (waited && !state.working) return [{ type: "end", reason: "aborted" }];
  state.interrupting = true;
  const tasks = [...state.background.keys()];
  return [
    request(state, { subtype: "interrupt" }),
    ...tasks.map((task_id) => request(state, { subtype: "stop_task", task_id })),
  ];
}

function change(state: State, { model, permission_mode }: SessionChange): Send[] {
  const out: Send[] = [];
  if (model !== undefined) out.push(request(state, { subtype: "set_model", model }));
  if (permission_mode !== undefined) {
    state.acceptsEdits = permission_mode === "acceptEdits";
    out.push(request(state, { subtype: "set_permission_mode", mode: nativeMode(permission_mode) }));
  }
  return out;
}

/** Attachments are named by their path: the agent's own Read tool opens files. Pictures go along besides. */
function promptText({ text, attachments }: Prompt): string {
  if (attachments.length === 0) return text;
  const files = attachments.map(({ path, mime, filename }: Attachment) => {
    const name = filename === undefined || path.endsWith(filename) ? "" : ` (${filename})`;
    return `- ${path}${name}${mime === undefined ? "" : `, ${mime}`}`;
  });
  return `${text}\n\nAttached files:\n${files.join("\n")}`;
}

/** A UUID that follows from our own id, so that the same prompt always has the same one. */
export function uuidFrom(id: string): string {
  const hex = hashHex(id) + hashHex(`${id}/second`);
  const part = (from: number, to: number): string => hex.slice(from, to);
  return `${part(0, 8)}-${part(8, 12)}-4${part(13, 16)}-8${part(17, 20)}-${part(20, 32)}`;
}
