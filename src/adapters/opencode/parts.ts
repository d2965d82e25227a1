/** OpenCode's message parts as items: text and reasoning are messages, a tool part is a call and its result. */
import type { Report } from "../../core/report.ts";
import { itemHead, type Named, whole } from "../../core/report-builders.ts";
import type {
  OpenCodeFilePart,
  OpenCodeMessage,
  OpenCodePart,
  OpenCodeReasoningPart,
  OpenCodeTextPart,
} from "../../dialects/opencode.ts";
import type { ContentPart } from "../../protocol/items.ts";
import { finishPart, isDone, type Message, messageOf, type Part, type State, type Thread, threadOf } from "./state.ts";

/** The message a part belongs to; one that was not announced yet is taken for the assistant's. */
export function messageFor(state: State, part: Pick<OpenCodePart, "messageID" | "sessionID">): Message {
  return messageOf(state, part.messageID) ?? addMessage(state, { ...part, role: "assistant" });
}

export function addMessage(
  state: State,
  {
    messageID,
    sessionID,
    role,
    summary = false,
    past = false,
  }: { messageID: string; sessionID: string; role: Message["role"]; summary?: boolean; past?: boolean },
): Message {
  const message: Message = {
    role,
    thread: sessionID,
    summary,
    past,
    note: false,
    latest: null,
    open: new Set(),
    files: new Set(),
  };
  state.messages.set(messageID, message);
  return message;
}

/** A fork copies the messages before it, which keep their time. */
export const isPast = (state: State, { sessionID, time }: OpenCodeMessage): boolean =>
  sessionID === state.root && time !== undefined && time.created < state.born;

/** Fields that every item of a message shares. */
export function headOf(
  state: State,
  { part, message }: { part: Pick<OpenCodePart, "id" | "messageID">; message: Message },
): Named {
  const { subagent } = threadOf(state, message.thread);
  const { made } = state;
  return {
    key: part.id,
    native_item_id: made.has(part.id) ? null : part.id,
    message_id: made.has(part.messageID) ? undefined : part.messageID,
    subagent: subagent ?? undefined,
  };
}

type Words = OpenCodeTextPart | OpenCodeReasoningPart;

/** Text or reasoning, in either form: whole parts that grow, or a start, deltas elsewhere, and the final text. */
export function onWords(state: State, part: Words, delta: string | undefined): Report[] {
  if (isDone(state, part.id)) return [];
  const synthetic = messageOf(state, part.messageID) === undefined;
  const message = messageFor(state, part);
  if (message.role === "user") return onUserText(state, { part, message });

  const out: Report[] = [];
  const words = openWords(state, { part, message, out, synthetic });
  if (!words.torn) {
    const grown = delta ?? part.text.slice(words.sent);
    if (part.time?.end === undefined && grown !== "") {
      words.sent += grown.length;
      out.push({ type: "delta", key: part.id, part: words.type, delta: grown });
    }
  }
  if (part.time?.end !== undefined) {
    finishPart(state, { part: part.id, message });
    // Quirk: a text that an abort cut off is closed like any other, after the error (transcripts/opencode/abort-text).
    const status = threadOf(state, message.thread).error === null ? "completed" : "failed";
    out.push({ type: "close", key: part.id, status, content: [wordsPart(part.type, part.text)] });
  }
  return out;
}

export function onDelta(
  state: State,
  {
    partID,
    messageID,
    sessionID,
    field,
    delta,
  }: Record<"partID" | "messageID" | "sessionID" | "field" | "delta", string>,
): Report[] {
  // Only texts are written in pieces: other fields come whole with the part.
  if (isDone(state, partID) || field !== "text") return [];
  const out: Report[] = [];
  let part = state.parts.get(partID);
  if (part === undefined) {
    const message = messageFor(state, { messageID, sessionID });
    const stub: OpenCodeTextPart = { id: partID, messageID, sessionID, type: "text", text: "" };
    part = openWords(state, { part: stub, message, out, synthetic: true });
  }
  if (part.type === "tool" || part.torn) return out;
  part.sent += delta.length;
  out.push({ type: "delta", key: partID, part: part.type, delta });
  return out;
}

type OpenWords = Extract<Part, { sent: number }>;

function openWords(
  state: State,
  { part, message, out, synthetic }: { part: Words; message: Message; out: Report[]; synthetic?: boolean },
): OpenWords {
  const known = state.parts.get(part.id);
  if (known !== undefined && known.type !== "tool") return known;
  const named = headOf(state, { part, message });
  const item = itemHead(message.summary ? "system" : "message", { ...named, content: [wordsPart(part.type, "")] });
  out.push({ type: "open", item, synthetic });
  const words: OpenWords = { type: part.type, sent: 0, torn: state.rereading };
  state.parts.set(part.id, words);
  message.open.add(part.id);
  message.latest = part.id;
  return words;
}

const wordsPart = (type: "text" | "reasoning", text: string): ContentPart =>
  type === "text" ? { type, text } : { type, text, visibility: "public" };

/** What a person wrote comes whole. What OpenCode itself adds for the model is not the person's word. */
function onUserText(state: State, { part, message }: { part: Words; message: Message }): Report[] {
  finishPart(state, { part: part.id, message });
  const added = part.type === "text" && part.synthetic === true;
  const ignored = part.type === "text" && part.ignored === true ? { ignored: true } : {};
  const content = [{ type: "text" as const, text: part.text, ...ignored }];
  const said = { ...headOf(state, { part, message }), content };
  const item = added ? itemHead("system", said) : itemHead("message", { ...said, role: "user" });
  return byUser(state, { message, reports: whole(item) });
}

/** A prompt that we did not send, another client's or one in a recording, begins a turn when OpenCode takes it up. */
export function byUser(state: State, { message, reports }: { message: Message; reports: Report[] }): Report[] {
  const ours = message.thread !== state.root || state.prompted || threadOf(state, message.thread).busy;
  if (ours || message.note) return reports;
  state.foreign.push(...reports);
  return [];
}

/** A file given with a prompt, or made by the model. */
export function onFile(state: State, part: OpenCodeFilePart): Report[] {
  if (isDone(state, part.id)) return [];
  const message = messageFor(state, part);
  finishPart(state, { part: part.id, message });
  const named = headOf(state, { part, message });
  const item = itemHead("message", { ...named, role: message.role, content: [fileContent(part)] });
  return message.role === "user" ? byUser(state, { message, reports: whole(item) }) : whole(item);
}

function fileContent({ url, mime, filename, source }: OpenCodeFilePart): ContentPart {
  const path = source?.path ?? pathOf(url);
  if (path !== null) {
    return mime.startsWith("image/") ? { type: "image", path, mime } : { type: "file_ref", path, action: "read" };
  }
  const data = /^data:[^,]*;base64,(.*)$/s.exec(url)?.[1];
  if (data !== undefined && mime.startsWith("image/")) return { type: "image", data, mime };
  return { type: "file_ref", path: filename ?? url.slice(0, 200), action: "read" };
}

function pathOf(url: string): string | null {
  const path = /^file:\/\/([^?#]*)/.exec(url)?.[1];
  if (path === undefined) return null;
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

/** The files a model step changed: those that its tools have not named already. */
export function onPatch(state: State, part: Extract<OpenCodePart, { type: "patch" }>): Report[] {
  if (isDone(state, part.id)) return [];
  const message = messageFor(state, part);
  finishPart(state, { part: part.id, message });
  const files = part.files.filter((file) => !message.files.has(file));
  if (files.length === 0) return [];
  const content = files.map((path): ContentPart => ({ type: "file_ref", path, action: "patch" }));
  return whole(itemHead("message", { ...headOf(state, { part, message }), content }));
}

/** The message is over: what it was still writing is closed with what was said. */
export function closeWords(state: State, { message, failed }: { message: Message; failed: boolean }): Report[] {
  const out: Report[] = [];
  for (const id of [...message.open]) {
    if (state.parts.get(id)?.type === "tool") continue;
    finishPart(state, { part: id, message });
    out.push({ type: "close", key: id, status: failed ? "failed" : "completed" });
  }
  return out;
}

export const isRoot = (state: State, thread: Thread): boolean => thread.id === state.root;
