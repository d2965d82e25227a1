/** What we say to Claude Code: user messages with ids of our own, control requests, and answers to its requests. */
import type { AgentCommand, Send } from "../../core/agent-io.ts";
import { unreachable } from "../../core/fold.ts";
import { hashHex } from "../../core/hash.ts";
import type { Attachment, Prompt, SessionChange } from "../../protocol/commands.ts";
import { nativeMode } from "./launch.ts";
import { rejectQuestion, replyPermission, replyQuestion } from "./permissions.ts";
import { request } from "./requests.ts";
import type { State } from "./state.ts";

export function encode(state: State, command: AgentCommand): Send[] {
  switch (command.type) {
    case "prompt":
    case "steer":
      return [message(state, { id: command.prompt.prompt_id, text: promptText(command.prompt) })];
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

function message(state: State, { id, text }: { id: string; text: string }): Send {
  const uuid = uuidFrom(id);
  state.working = true;
  state.sent.add(uuid);
  const line = { type: "user", message: { role: "user", content: [{ type: "text", text }] }, uuid };
  return { type: "send.line", line };
}

/** Stop means stop: commands and subagents left in the background as well. */
function abort(state: State): Send[] {
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

/** Attachments are named by their path: the agent's own Read tool opens files and images alike. */
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
