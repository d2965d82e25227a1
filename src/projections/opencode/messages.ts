/** Messages and their text: who speaks, which block belongs to which message, where a model step begins and ends. */
import { defined } from "../../core/defined.ts";
import type { OpenCodeFilePart, OpenCodeSubtaskPart, OpenCodeTextPart } from "../../dialects/opencode.ts";
import { isShape, isString, stringOf } from "../../dialects/shape.ts";
import type { EventOf } from "../../protocol/events.ts";
import type { ContentPart, Item, TextPart } from "../../protocol/items.ts";
import { describeAssistant, describeUser, type MessageEnd } from "./describe.ts";
import { follow } from "./ids.ts";
import {
  type Conversation,
  eventId,
  makeId,
  noteMessage,
  type OpenMessage,
  ownId,
  type Rendering,
  type TextEntry,
} from "./state.ts";
import { beginStep, emitStepEnd } from "./steps.ts";
import { absolutePath } from "./tool-metadata.ts";

/** The message an item of the assistant belongs to: the open one, or a new one where a new one is due. */
export function messageFor(
  rendering: Rendering,
  { conversation, item }: { conversation: Conversation; item: Pick<Item, "item_id" | "message_id"> },
): OpenMessage {
  const { state } = rendering;
  const own = ownId(state, { prefix: "msg", id: item.message_id });
  const open = conversation.message;
  if (open !== null && isNext(rendering, { open, own, item })) {
    closeMessage(rendering, { conversation, end: { completed: rendering.ms, finish: open.finish, error: null } });
  }
  const message = conversation.message ?? openMessage(rendering, { conversation, id: own, seed: item.item_id });
  message.native = item.message_id ?? message.native;
  // A message of OpenCode's own is one step; the files it names come after that step's end.
  const isOver = message.own && message.stepped;
  if (!message.inStep && !isOver) beginStep(rendering, { conversation, message });
  return message;
}

function isNext(
  { state }: Rendering,
  { open, own, item }: { open: OpenMessage; own: string | null; item: Pick<Item, "message_id"> },
): boolean {
  if (open.summary) return own === null || own !== open.id;
  if (own !== null) return own !== open.id;
  const isPerStep = state.options.messages === "step" || (state.copying && state.agent.startsWith("opencode"));
  if (!isPerStep) return false;
  if (open.stepped) return true;
  return item.message_id !== null && open.native !== null && item.message_id !== open.native;
}

export function openMessage(
  rendering: Rendering,
  {
    conversation,
    id,
    seed,
    summary = false,
    since = rendering.ms,
  }: { conversation: Conversation; id: string | null; seed: string; summary?: boolean; since?: number },
): OpenMessage {
  const { state, out } = rendering;
  if (conversation.user === null && conversation.prompt !== "") emitChildPrompt(rendering, { conversation, seed });
  // Where the prompt is not in the stream no user message is made up: the parent's id only has the right form.
  const parentID = conversation.user ?? makeId(rendering, "msg", seed, "user");
  const message: OpenMessage = {
    id: id ?? makeId(rendering, "msg", seed, "assistant"),
    native: null,
    created: since,
    parentID,
    cost: 0,
    tokens: null,
    finish: null,
    inStep: false,
    stepped: false,
    due: null,
    openTools: 0,
    summary,
    own: id !== null,
  };
  conversation.user = parentID;
  conversation.message = message;
  noteMessage(rendering, { conversation, id: message.id, logged: null });
  const info = describeAssistant(state, { conversation, message, end: null });
  out.push({ id: eventId(rendering), type: "message.updated", properties: { sessionID: conversation.id, info } });
  return message;
}

/** A child session begins with what its subagent was asked for, also where the agent does not repeat it. */
function emitChildPrompt(
  rendering: Rendering,
  { conversation, seed }: { conversation: Conversation; seed: string },
): void {
  const { state, ms, out } = rendering;
  const id = makeId(rendering, "msg", seed, "prompt");
  const sessionID = conversation.id;
  conversation.user = id;
  const info = describeUser(state, { conversation, id, created: ms });
  out.push({ id: eventId(rendering), type: "message.updated", properties: { sessionID, info } });
  const partID = makeId(rendering, "prt", seed, "prompt");
  const part = { id: partID, sessionID, messageID: id, type: "text", text: conversation.prompt } as const;
  out.push({ id: eventId(rendering), type: "message.part.updated", properties: { sessionID, part, time: ms } });
}

export function closeMessage(
  rendering: Rendering,
  { conversation, end }: { conversation: Conversation; end: MessageEnd },
): void {
  const { state, out } = rendering;
  const { message } = conversation;
  if (message === null) return;
  emitStepEnd(rendering, { session: conversation.id, message });
  conversation.message = null;
  state.turn.used.add(message.id);
  const info = describeAssistant(state, { conversation, message, end });
  out.push({ id: eventId(rendering), type: "message.updated", properties: { sessionID: conversation.id, info } });
}

/** A prompt. In the middle of a turn it ends the message before it, so that answers stand below what they answer. */
export function emitUser(
  rendering: Rendering,
  { conversation, item }: { conversation: Conversation; item: Item },
): void {
  const { state, ms, out } = rendering;
  const open = conversation.message;
  if (open !== null && !open.own) {
    const finish = open.finish ?? (state.copying ? "stop" : null);
    closeMessage(rendering, { conversation, end: { completed: ms, finish, error: null } });
  }
  const named = state.copying ? [] : [item.message_id, item.native_item_id];
  const kept = named.find((id) => id?.startsWith("msg_") === true) ?? null;
  if (kept !== null) follow(state.clock, kept);
  const id = kept ?? makeId(rendering, "msg", item.item_id, "user");
  const own = ownId(state, { prefix: "prt", id: item.native_item_id });
  conversation.user = id;
  noteMessage(rendering, { conversation, id, logged: item.message_id });
  const info = describeUser(state, { conversation, id, created: ms });
  out.push({ id: eventId(rendering), type: "message.updated", properties: { sessionID: conversation.id, info } });
  // What the governor or the agent's own machinery writes for the model is not shown as a person's words.
  const synthetic = state.turn.continued || item.kind === "system";
  if (item.kind !== "system") state.turn.continued = false;
  const subtask = subtaskIn(item.content);
  const content = subtask === null ? item.content : item.content.slice(0, 1);
  for (const [index, part] of content.entries()) {
    const base = {
      id: (index === 0 ? own : null) ?? makeId(rendering, "prt", item.item_id, String(index)),
      sessionID: conversation.id,
      messageID: id,
    };
    const shown =
      subtask !== null
        ? ({ ...base, type: "subtask", ...subtask } as const)
        : part.type === "text"
          ? userText(part, { base, synthetic })
          : filePart(part, { base, directory: state.directory });
    if (shown === null) continue;
    out.push({
      id: eventId(rendering),
      type: "message.part.updated",
      properties: { sessionID: conversation.id, part: shown, time: ms },
    });
  }
}

type PartBase = Pick<OpenCodeFilePart, "id" | "sessionID" | "messageID">;

/** Text with who wrote it, and for whom. */
const userText = (part: TextPart, { base, synthetic }: { base: PartBase; synthetic: boolean }): OpenCodeTextPart => ({
  id: base.id,
  sessionID: base.sessionID,
  messageID: base.messageID,
  type: "text",
  text: part.text,
  synthetic: synthetic || part.synthetic || undefined,
  ignored: part.ignored || undefined,
});

type Subtask = Pick<OpenCodeSubtaskPart, "prompt" | "description" | "agent" | "command">;

/** Work for a subagent is words to everybody, and a part of its own to OpenCode. */
function subtaskIn(content: readonly ContentPart[]): Subtask | null {
  const json = content.find((part) => part.type === "json")?.json;
  const subtask = isShape(json) ? json.subtask : null;
  if (!isShape(subtask)) return null;
  const { prompt, description, agent, command } = subtask;
  if (!isString(prompt) || !isString(description) || !isString(agent)) return null;
  return defined({ prompt, description, agent, command: stringOf(command) });
}

export function filePart(
  part: ContentPart,
  { base, directory }: { base: PartBase; directory: string },
): OpenCodeFilePart | null {
  if (part.type === "image") {
    const url =
      part.data === undefined
        ? `file://${absolutePath({ path: part.path ?? "", directory })}`
        : `data:${part.mime};base64,${part.data}`;
    return { ...base, type: "file", mime: part.mime, url, ...nameOf(part.path) };
  }
  if (part.type === "file_ref") {
    const url = `file://${absolutePath({ path: part.path, directory })}`;
    const { mime = "text/plain", filename } = part;
    return { ...base, type: "file", mime, url, ...(filename === undefined ? nameOf(part.path) : { filename }) };
  }
  return null;
}

/** Images and files that an assistant shows. Files that it changed are `file.edited` events, as OpenCode has them. */
export function emitFileParts(rendering: Rendering, { item, place }: { item: Item; place: TextEntry }): void {
  const { state, out, ms } = rendering;
  const sessionID = sessionOf(rendering, place);
  for (const [index, content] of item.content.entries()) {
    const isShown = content.type === "image" || (content.type === "file_ref" && content.action === "read");
    if (!isShown) continue;
    const id = makeId(rendering, "prt", item.item_id, String(index));
    const base = { id, sessionID, messageID: place.messageID };
    const part = filePart(content, { base, directory: state.directory });
    if (part === null) continue;
    out.push({ id: eventId(rendering), type: "message.part.updated", properties: { sessionID, part, time: ms } });
  }
}

function nameOf(path: string | undefined): { readonly filename?: string } {
  const filename = path?.split("/").at(-1);
  return filename === undefined || filename === "" ? {} : { filename };
}

export function openText(
  rendering: Rendering,
  { conversation, item }: { conversation: Conversation; item: Item },
): void {
  writeText(rendering, { conversation, item, message: messageFor(rendering, { conversation, item }), whole: false });
}

/** A compaction's summary is a message of its own. Beside an open message it must not end that one. */
export function openSummary(
  rendering: Rendering,
  { conversation, item }: { conversation: Conversation; item: Item },
): void {
  const { state } = rendering;
  const id = ownId(state, { prefix: "msg", id: item.message_id });
  const beside = id === null ? conversation.message : null;
  const open = conversation.message;
  if (beside === null && open !== null) {
    closeMessage(rendering, { conversation, end: { completed: rendering.ms, finish: open.finish, error: null } });
  }
  const since = (beside === null ? state.turn.compactingSince : null) ?? rendering.ms;
  const message = openMessage(rendering, { conversation, id, seed: item.item_id, summary: true, since });
  message.native = item.message_id;
  if (beside === null) beginStep(rendering, { conversation, message });
  else conversation.message = beside;
  state.openSummaries.set(item.item_id, { message, beside: beside !== null });
  writeText(rendering, { conversation, item, message, whole: true });
}

/** What asks for a summary: OpenCode's clients draw a line there. */
export function emitCompaction(
  rendering: Rendering,
  { conversation, auto }: { conversation: Conversation; auto: boolean },
): void {
  const { state, ms, out, event } = rendering;
  const sessionID = conversation.id;
  const id = makeId(rendering, "msg", event.event_id, "compaction");
  conversation.user = id;
  noteMessage(rendering, { conversation, id, logged: null });
  const info = describeUser(state, { conversation, id, created: ms });
  out.push({ id: eventId(rendering), type: "message.updated", properties: { sessionID, info } });
  const partID = makeId(rendering, "prt", event.event_id, "compaction");
  const part = { id: partID, sessionID, messageID: id, type: "compaction", auto } as const;
  out.push({ id: eventId(rendering), type: "message.part.updated", properties: { sessionID, part, time: ms } });
}

export function closeSummary(
  rendering: Rendering,
  { conversation, item }: { conversation: Conversation; item: Item },
): void {
  const { state, ms } = rendering;
  closeText(rendering, item);
  const summary = state.openSummaries.get(item.item_id);
  state.openSummaries.delete(item.item_id);
  if (summary === undefined) return;
  const { message, beside } = summary;
  if (!beside) return emitStepEnd(rendering, { session: conversation.id, message });
  const open = conversation.message;
  conversation.message = message;
  closeMessage(rendering, { conversation, end: { completed: ms, finish: "stop", error: null } });
  conversation.message = open;
}

function writeText(
  rendering: Rendering,
  {
    conversation,
    item,
    message,
    whole,
  }: { conversation: Conversation; item: Item; message: OpenMessage; whole: boolean },
): void {
  const { state, ms } = rendering;
  const own = ownId(state, { prefix: "prt", id: item.native_item_id });
  const entry: TextEntry = {
    conversation: conversation.key,
    messageID: message.id,
    id: own ?? makeId(rendering, "prt", item.item_id, "text"),
    start: ms,
    type: item.content[0]?.type === "reasoning" ? "reasoning" : "text",
    begun: false,
    whole,
    length: 0,
    text: "",
  };
  state.texts.set(item.item_id, entry);
  state.turn.used.add(entry.id);
  // Elsewhere a block that never says anything has no part; OpenCode's own blocks have one from their first moment.
  const [part] = item.content;
  if (own !== null && (part?.type === "text" || part?.type === "reasoning")) beginText(rendering, entry);
}

export function emitDelta(rendering: Rendering, { data }: EventOf<"item.delta">): void {
  const entry = rendering.state.texts.get(data.item_id);
  if (entry === undefined || entry.whole || data.part === "tool_output") return;
  if (!entry.begun) {
    entry.type = data.part;
    beginText(rendering, entry);
  }
  pushDelta(rendering, { entry, delta: data.delta });
}

function pushDelta(rendering: Rendering, { entry, delta }: { entry: TextEntry; delta: string }): void {
  const { state, out, ms } = rendering;
  const sessionID = sessionOf(rendering, entry);
  entry.length += delta.length;
  if (state.options.deltas === "legacy") {
    entry.text += delta;
    const part = textPart(entry, { sessionID, text: entry.text, end: null });
    out.push({
      id: eventId(rendering),
      type: "message.part.updated",
      properties: { sessionID, part, delta, time: ms },
    });
    return;
  }
  out.push({
    id: eventId(rendering),
    type: "message.part.delta",
    properties: { sessionID, messageID: entry.messageID, partID: entry.id, field: "text", delta },
  });
}

/** The one full update that follows a block's deltas. Its `time.end` is what `opencode run --attach` waits for. */
export function closeText(rendering: Rendering, item: Item): void {
  const { state, out, ms } = rendering;
  const entry = state.texts.get(item.item_id);
  if (entry === undefined) return;
  state.texts.delete(item.item_id);
  const said = item.content.find((part) => part.type === "text" || part.type === "reasoning");
  const text = said === undefined ? "" : said.text;
  if (!entry.begun && text === "") return;
  const unsent = !entry.begun || (entry.length === 0 && text !== "");
  if (!entry.begun) beginText(rendering, entry);
  if (unsent) pushDelta(rendering, { entry, delta: text });
  const sessionID = sessionOf(rendering, entry);
  const part = textPart(entry, { sessionID, text, end: ms });
  out.push({ id: eventId(rendering), type: "message.part.updated", properties: { sessionID, part, time: ms } });
}

function beginText(rendering: Rendering, entry: TextEntry): void {
  entry.begun = true;
  const sessionID = sessionOf(rendering, entry);
  const part = textPart(entry, { sessionID, text: "", end: null });
  rendering.out.push({
    id: eventId(rendering),
    type: "message.part.updated",
    properties: { sessionID, part, time: rendering.ms },
  });
}

function textPart(
  entry: TextEntry,
  { sessionID, text, end }: { sessionID: string; text: string; end: number | null },
): { id: string; sessionID: string; messageID: string; type: "text" | "reasoning"; text: string; time: PartTime } {
  const time = end === null ? { start: entry.start } : { start: entry.start, end };
  return { id: entry.id, messageID: entry.messageID, sessionID, type: entry.type, text, time };
}

interface PartTime {
  readonly start: number;
  readonly end?: number;
}

const sessionOf = ({ state }: Rendering, entry: TextEntry): string =>
  state.conversations.get(entry.conversation)?.id ?? "";
