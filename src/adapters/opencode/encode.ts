/** What we ask of OpenCode: one HTTP request per command. Until our session has an id, commands wait. */

import type { AgentCommand, Send } from "../../core/agent-io.ts";
import { defined } from "../../core/defined.ts";
import { unreachable } from "../../core/fold.ts";
import type { LaunchOptions } from "../../core/launch.ts";
import type { Report } from "../../core/report.ts";
import type { Ask, Attachment, Prompt, SessionChange } from "../../protocol/commands.ts";
import type { MessagePlace } from "../../protocol/events.ts";
import { nativeRules } from "./permission-rules.ts";
import { type Asked, type State, threadOf, turnPage } from "./state.ts";

type Out = (Report | Send)[];

export function encode(state: State, command: AgentCommand): Out {
  const { root } = state;
  if (root === null) {
    state.waiting.push(command);
    return [];
  }
  switch (command.type) {
    case "prompt":
    case "steer":
      return [...startTurn(state), sendPrompt(state, { root, prompt: command.prompt })];
    case "permission.reply": {
      const { reply, message } = command;
      const body = defined({ reply, message });
      return [ask(state, "other", { path: `/permission/${command.key}/reply`, body })];
    }
    case "question.reply":
      return [ask(state, "other", { path: `/question/${command.key}/reply`, body: { answers: command.answers } })];
    case "question.reject":
      return [ask(state, "other", { path: `/question/${command.key}/reject` })];
    case "abort":
      return abort(state);
    case "set":
      return set(state, command.change);
    case "compact":
      return compact(state, root);
    case "shell": {
      const body = { agent: state.chosen.mode ?? "build", command: command.command };
      return [...startTurn(state), ask(state, "work", { path: `/session/${root}/shell`, body })];
    }
    case "ask": {
      if (command.ask.word === "remove" && !isPlace(command.ask)) return [refuseRemoval(command)];
      const send = sendAsk(state, { root, asked: command.ask });
      state.asks.set(send.id, command.ask_id);
      return [send];
    }
    default:
      return unreachable(command);
  }
}

type Request = Extract<Send, { type: "send.request" }>;

/** One request; its answer comes back with the same id. */
export function ask(
  state: State,
  about: Asked,
  {
    method = "POST",
    path,
    body,
    vital,
  }: { method?: "GET" | "POST" | "PATCH" | "DELETE"; path: string; body?: unknown; vital?: boolean },
): Request {
  state.requests += 1;
  const id = `${about}-${state.requests}`;
  state.asked.set(id, about);
  // A server works for many directories; requests that do not name a session must name the directory.
  const directory =
    state.options === null
      ? ""
      : `${path.includes("?") ? "&" : "?"}directory=${encodeURIComponent(state.options.directory)}`;
  return {
    type: "send.request",
    id,
    method,
    path: `${path}${directory}`,
    ...defined({ body, vital: vital === true ? vital : undefined }),
  };
}

/** A turn of ours begins: what is left of the last one must not be taken for its end. */
export function startTurn(state: State): Report[] {
  turnPage(state);
  state.prompted = true;
  state.abort = "no";
  state.abortIdles = 0;
  state.lastError = null;
  state.foreign = [];
  if (state.root !== null) threadOf(state, state.root).retrying = false;
  return [];
}

/** A slash command is answered at its end, as a compaction is; words are taken at once. */
function sendPrompt(state: State, { root, prompt }: { root: string; prompt: Prompt }): Request {
  const { command } = prompt.extras ?? {};
  if (command === undefined) {
    return ask(state, "prompt", { path: `/session/${root}/prompt_async`, body: promptBody(state, prompt) });
  }
  const { model, variant, mode } = state.chosen;
  const body = {
    command: command.name,
    arguments: command.arguments,
    ...ownId(prompt),
    ...defined({
      model: model ?? undefined,
      variant: variant ?? undefined,
      agent: mode ?? undefined,
      parts: prompt.attachments.length === 0 ? undefined : prompt.attachments.map(filePart),
    }),
  };
  return ask(state, "work", { path: `/session/${root}/command`, body });
}

function promptBody(state: State, prompt: Prompt) {
  const { model, variant, mode } = state.chosen;
  const { system = state.options?.system_prompt, format, tools, subtask = [], agent = [], parts } = prompt.extras ?? {};
  const others = [...prompt.attachments.map(filePart), ...subtask, ...agent];
  const words = parts ?? (prompt.text === "" && others.length > 0 ? [] : [{ text: prompt.text }]);
  return {
    parts: [...words.map((part) => ({ type: "text", ...part })), ...others],
    ...ownId(prompt),
    ...defined({
      model: model === null ? undefined : splitModel(model),
      variant: variant ?? undefined,
      agent: mode ?? undefined,
      system: system ?? undefined,
      format,
      tools,
    }),
  };
}

/** OpenCode takes a client's own message id if it has the right form. */
const ownId = ({ client_id }: Prompt) =>
  defined({ messageID: client_id?.startsWith("msg_") === true ? client_id : undefined });

function sendAsk(state: State, { root, asked }: { root: string; asked: Ask }): Request {
  const session = `/session/${root}`;
  switch (asked.word) {
    case "revert": {
      const { message_id: messageID, native_item_id: partID } = asked;
      const body = defined({ messageID, partID });
      return ask(state, "revert", { path: `${session}/revert`, body });
    }
    case "unrevert":
      return ask(state, "unrevert", { path: `${session}/unrevert` });
    case "share":
      return ask(state, "share", { path: `${session}/share` });
    case "unshare":
      return ask(state, "unshare", { method: "DELETE", path: `${session}/share` });
    case "remove": {
      const { message_id, native_item_id } = asked;
      const message = `${session}/message/${encodeURIComponent(message_id)}`;
      const path = native_item_id === undefined ? message : `${message}/part/${encodeURIComponent(native_item_id)}`;
      const send = ask(state, "removal", { method: "DELETE", path });
      state.removals.set(send.id, defined({ message_id, native_item_id }));
      return send;
    }
    case "note": {
      const body = { ...promptBody(state, asked.prompt), noReply: true };
      return ask(state, "note", { path: `${session}/message`, body });
    }
    default:
      return unreachable(asked);
  }
}

/** What is no id of OpenCode's may name another place of its server: `..` would be the session itself. */
const isPlace = ({ message_id, native_item_id }: MessagePlace): boolean =>
  message_id.startsWith("msg") && (native_item_id === undefined || native_item_id.startsWith("prt"));

function refuseRemoval({ ask_id }: { readonly ask_id: string }): Report {
  const message = "A message's id begins with `msg`, a part's with `prt`.";
  return { type: "answer", ask_id, status: 400, body: { name: "BadRequest", data: { message, kind: "Params" } } };
}

/** `provider/model`; the model's own name may contain slashes. */
export function splitModel(model: string): { providerID: string; modelID: string } {
  const slash = model.indexOf("/");
  return { providerID: model.slice(0, slash), modelID: model.slice(slash + 1) };
}

const mimes: ReadonlyMap<string, string> = new Map([
  ["png", "image/png"],
  ["jpg", "image/jpeg"],
  ["jpeg", "image/jpeg"],
  ["gif", "image/gif"],
  ["webp", "image/webp"],
  ["pdf", "application/pdf"],
]);

function filePart({ path, mime, filename }: Attachment): unknown {
  const extension = /\.([^./]+)$/.exec(path)?.[1]?.toLowerCase() ?? "";
  return {
    type: "file",
    mime: mime ?? mimes.get(extension) ?? "text/plain",
    filename: filename ?? path.split("/").at(-1) ?? path,
    url: `file://${path.split("/").map(encodeURIComponent).join("/")}`,
  };
}

/** An abort before OpenCode has begun would be lost, and the prompt would run after it: it waits for the first busy. */
function abort(state: State): Send[] {
  if (state.root === null || !threadOf(state, state.root).busy) {
    state.abort = "wanted";
    return [];
  }
  return sendAbort(state);
}

export function sendAbort(state: State): Send[] {
  state.abort = "sent";
  state.abortIdles = 0;
  return [ask(state, "abort", { path: `/session/${state.root}/abort` })];
}

function set(state: State, change: SessionChange): Send[] {
  const { model, variant, mode } = state.chosen;
  state.chosen = {
    model: change.model ?? model,
    variant: change.variant ?? variant,
    mode: change.mode ?? mode,
  };
  const { permission_rules: permission } = change;
  if (permission === undefined || state.root === null) return [];
  const body = { permission: nativeRules(permission) };
  return [ask(state, "other", { method: "PATCH", path: `/session/${state.root}`, body })];
}

function compact(state: State, root: string): Out {
  const model = state.usedModel ?? (state.chosen.model === null ? null : splitModel(state.chosen.model));
  if (model === null) {
    const message = "OpenCode compacts with the model that was used last, and none was used in this session yet.";
    const error = { message, code: "not_supported", details: null };
    return [{ type: "end", reason: "error", error }];
  }
  return [...startTurn(state), ask(state, "work", { path: `/session/${root}/summarize`, body: model })];
}

/** The agent of OpenCode's that may look but not touch. */
export const PLAN_AGENT = "plan";

/** What a session's prompts are sent with, from its options. */
export const chosenFrom = (options: LaunchOptions): State["chosen"] => ({
  model: options.model,
  variant: options.variant,
  mode: options.mode ?? (options.permission_mode === "plan" ? PLAN_AGENT : null),
});
