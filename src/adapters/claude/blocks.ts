/**
 * What the model says: whole blocks (`assistant`) and their deltas (`stream_event`) merged into one item per block.
 * The whole comes before the stream's own stop of the block and repeats the deltas: it replaces, it never appends.
 */
import type { ItemHead, Report } from "../../core/report.ts";
import { emptyMessage, itemHead, withoutText } from "../../core/report-builders.ts";
import type { ClaudeAssistant, ClaudeBlock, ClaudeStream, JsonObject } from "../../dialects/claude.ts";
import { readBlock } from "../../dialects/claude-guard.ts";
import { isString } from "../../dialects/shape.ts";
import type { ContentPart, Subagent } from "../../protocol/items.ts";
import { beginCall, completeCall } from "./calls.ts";
import { onToolResult } from "./results.ts";
import { type Block, type Message, madeKey, type State } from "./state.ts";
import { subagentOf } from "./tasks.ts";
import { stepUsage } from "./usage.ts";

/** The model's name on what the CLI wrote in its place. */
export const SYNTHETIC = "<synthetic>";

export function onAssistant(state: State, line: ClaudeAssistant): Report[] {
  const out: Report[] = [];
  const subagent = subagentOf(state, out, line);
  const { id, content, stop_reason, usage } = line.message;
  state.settled = false;
  const message = messageFor(state, { id, subagent });
  // Older versions do not say that a stream broke off: another message comes (transcripts/claude/v197-midstream-cut).
  if (subagent === undefined && message !== state.streaming) out.push(...failOpen(state.streaming));
  if (subagent === undefined) state.lastWhole = message;
  const blocks = content.map(readBlock);
  let index = 0;
  for (const block of blocks) {
    const ordinal = placeOf(message, { block, index, whole: blocks.length > 1 });
    index += 1;
    message.next = Math.max(message.next, ordinal + 1);
    // An interrupted message is reported as far as it came.
    const broken = line.aborted === true || (state.interrupting && subagent === undefined);
    out.push(...onBlock(state, { message, ordinal, block, broken }));
  }
  // Sent as a whole and never streamed: its usage is final, where the stream's would have said so.
  const final = isString(stop_reason) && !message.streamed && line.message.model !== SYNTHETIC;
  if (final && usage !== undefined && usage !== null && subagent === undefined) {
    out.push(...stepUsage(state, { message_id: id ?? null, finish: stop_reason, usage }));
  }
  // Streamed without an id, then sent as a whole: what comes next is another message.
  if (message.id === null && message === state.streaming && !hasOpen(message)) state.streaming = null;
  return out;
}

const hasOpen = ({ blocks }: Message): boolean => [...blocks.values()].some(({ open }) => open);

export function onStream(state: State, line: ClaudeStream): Report[] {
  const { event } = line;
  if (event.type === "message_start") {
    const out = failOpen(state.streaming);
    const subagent = subagentOf(state, out, line);
    const message = messageFor(state, { id: event.message.id, subagent });
    message.streamed = true;
    message.usage = event.message.usage ?? {};
    state.streaming = message;
    return out;
  }
  const message = streamed(state, line);
  if (message === null) return [];
  switch (event.type) {
    case "content_block_start":
      return onBlockStart(state, { message, index: event.index, block: event.content_block });
    case "content_block_delta":
      return onBlockDelta(state, { message, index: event.index ?? latestBlock(message), delta: event.delta ?? {} });
    case "message_delta": {
      const { stop_reason } = event.delta;
      if (!isString(stop_reason)) return [];
      const usage = { ...message.usage, ...event.usage };
      return stepUsage(state, { message_id: message.id, finish: stop_reason, usage });
    }
    case "message_stop":
      // Whole blocks come before their stop, so what is open now was abandoned
      // (transcripts/claude/midstream-error-event).
      // The older spelling sends the whole afterwards.
      return line.type === "stream" ? [] : failOpen(message);
    case "content_block_stop":
    case "ping":
    case "error":
      return [];
  }
}

/** The block that is being written, for pieces that do not say which they belong to. */
const latestBlock = ({ next }: Message): number => Math.max(0, next - 1);

/** Streamed blocks of which the whole never came: broken off. */
export function failOpen(message: Message | null): Report[] {
  const out: Report[] = [];
  for (const block of message?.blocks.values() ?? []) {
    if (!block.open) continue;
    block.open = false;
    out.push({ type: "close", key: block.key, status: "failed" });
  }
  return out;
}

/** The message a stream event speaks of; null when it repeats one that was sent as a whole. */
function streamed(state: State, line: ClaudeStream): Message | null {
  const named = line.api_message_id === undefined ? undefined : state.messages.get(line.api_message_id);
  if (named !== undefined) return named;
  if (state.streaming !== null) return state.streaming;
  if (state.lastWhole !== null) return null;
  state.streaming = newMessage({ id: null, subagent: undefined });
  return state.streaming;
}

function messageFor(
  state: State,
  { id, subagent }: { id: string | undefined; subagent: Subagent | undefined },
): Message {
  const known = id === undefined ? undefined : state.messages.get(id);
  if (known !== undefined) return known;
  const nameless = state.streaming;
  const message =
    nameless !== null && nameless.id === null && subagent === undefined
      ? nameless
      : newMessage({ id: id ?? null, subagent });
  if (id !== undefined) state.messages.set(id, message);
  return message;
}

const newMessage = ({ id, subagent }: Pick<Message, "id" | "subagent">): Message => ({
  id,
  subagent,
  blocks: new Map(),
  next: 0,
  parent: null,
  streamed: false,
  usage: {},
});

const typeOf = (block: ClaudeBlock): Block["type"] =>
  block.type === "tool_use" || block.type === "server_tool_use"
    ? "tool"
    : block.type === "thinking"
      ? "thinking"
      : "text";

/** Which block of its message a whole block is: the streamed one it completes, else the next. */
function placeOf(
  message: Message,
  { block, index, whole }: { block: ClaudeBlock; index: number; whole: boolean },
): number {
  const type = typeOf(block);
  for (const [ordinal, known] of message.blocks) {
    if (type === "tool" && known.type === "tool" && "id" in block && known.key === block.id) return ordinal;
    if (type !== "tool" && known.open && known.type === type) return ordinal;
  }
  return whole ? index : message.next;
}

function onBlock(
  state: State,
  { message, ordinal, block, broken }: { message: Message; ordinal: number; block: ClaudeBlock; broken: boolean },
): Report[] {
  const status = broken ? "failed" : "completed";
  switch (block.type) {
    case "text":
      return closeBlock(state, { message, ordinal, status, part: { type: "text", text: block.text } });
    case "thinking":
      return closeBlock(state, { message, ordinal, status, part: reasoning(block.thinking) });
    case "tool_use":
    case "server_tool_use": {
      const out = state.tools.has(block.id) ? [] : parentFor(state, message);
      message.blocks.set(ordinal, { key: block.id, type: "tool", open: false });
      return [...out, ...completeCall(state, { message, call: block })];
    }
    case "tool_result":
      return onToolResult(state, { block, returned: undefined, meta: undefined, subagent: message.subagent });
    case "image":
    case "other": {
      // Thinking that the provider keeps to itself is shown as such; other blocks are kept as they are.
      const native = block.type === "other" ? block.native : {};
      if (native.type === "redacted_thinking") {
        const part: ContentPart = { type: "reasoning", text: "", visibility: "private" };
        return closeBlock(state, { message, ordinal, status, part });
      }
      return closeBlock(state, { message, ordinal, status, part: { type: "json", json: native } });
    }
  }
}

const reasoning = (text: string): ContentPart => ({ type: "reasoning", text, visibility: "public" });

function closeBlock(
  state: State,
  {
    message,
    ordinal,
    status,
    part,
  }: { message: Message; ordinal: number; status: "completed" | "failed"; part: ContentPart },
): Report[] {
  const known = message.blocks.get(ordinal);
  const key = known?.key ?? blockKey(state, { message, ordinal });
  message.blocks.set(ordinal, { key, type: part.type === "reasoning" ? "thinking" : "text", open: false });
  message.parent = key;
  const out: Report[] =
    known === undefined ? [{ type: "open", item: blockHead(message, { key, part: withoutText(part) }) }] : [];
  out.push({ type: "close", key, status, content: [part] });
  return out;
}

function onBlockStart(
  state: State,
  { message, index, block }: { message: Message; index: number; block: JsonObject },
): Report[] {
  if (message.blocks.has(index)) return [];
  const started = readBlock(block);
  switch (started.type) {
    case "text":
      return openBlock(state, { message, ordinal: index, part: { type: "text", text: "" } });
    case "thinking":
      return openBlock(state, { message, ordinal: index, part: reasoning("") });
    case "tool_use":
    case "server_tool_use": {
      const out = parentFor(state, message);
      message.blocks.set(index, { key: started.id, type: "tool", open: true });
      return [...out, ...beginCall(state, { message, call: started })];
    }
    default:
      // Whatever else it is comes as a whole.
      return [];
  }
}

function onBlockDelta(
  state: State,
  { message, index, delta }: { message: Message; index: number; delta: JsonObject },
): Report[] {
  const piece = delta.type === "text_delta" ? delta.text : delta.type === "thinking_delta" ? delta.thinking : undefined;
  // Tool input, signatures and citations come with the whole block.
  if (!isString(piece)) return [];
  const part = delta.type === "text_delta" ? ("text" as const) : ("reasoning" as const);
  const out: Report[] = [];
  if (!message.blocks.has(index)) {
    const empty: ContentPart = part === "text" ? { type: "text", text: "" } : reasoning("");
    out.push(...openBlock(state, { message, ordinal: index, part: empty }));
  }
  const block = message.blocks.get(index);
  // A delta after the whole repeats it.
  if (block === undefined || !block.open) return out;
  out.push({ type: "delta", key: block.key, part, delta: piece });
  return out;
}

function openBlock(
  state: State,
  { message, ordinal, part }: { message: Message; ordinal: number; part: ContentPart },
): Report[] {
  const key = blockKey(state, { message, ordinal });
  message.blocks.set(ordinal, { key, type: part.type === "reasoning" ? "thinking" : "text", open: true });
  message.next = Math.max(message.next, ordinal + 1);
  message.parent = key;
  return [{ type: "open", item: blockHead(message, { key, part }) }];
}

/** A message that begins with a tool call gets an empty item, so that the call has a parent. */
function parentFor(state: State, message: Message): Report[] {
  if (message.parent !== null) return [];
  const key = message.id === null ? madeKey(state, "message") : `${message.id}/empty`;
  message.parent = key;
  const { id, subagent } = message;
  const named = { native_item_id: id, message_id: id ?? undefined, subagent, key, content: [] };
  return emptyMessage(named, { synthetic: true });
}

const blockKey = (state: State, { message, ordinal }: { message: Message; ordinal: number }): string =>
  message.id === null ? madeKey(state, "block") : `${message.id}/${ordinal}`;

const blockHead = ({ id, subagent }: Message, { key, part }: { key: string; part: ContentPart }): ItemHead =>
  itemHead("message", { native_item_id: id, message_id: id ?? undefined, subagent, key, content: [part] });
