/** Text and reasoning of the model → message items, and the agent's own words among them → errors and status items. */
import type { Report } from "../../core/report.ts";
import { emptyMessage, itemHead, statusHead, whole } from "../../core/report-builders.ts";
import type { AcpContent, UpdateOf } from "../../dialects/acp.ts";
import { isString, shapeOf } from "../../dialects/shape.ts";
import type { ContentPart } from "../../protocol/items.ts";
import type { OwnWords } from "./quirks.ts";
import { nextKey, type State, type Thread } from "./state.ts";
import { stepTokens } from "./usage.ts";
import { noteWork } from "./work.ts";

type Part = "text" | "reasoning";
type ChunkUpdate = UpdateOf<"agent_message_chunk" | "agent_thought_chunk">;

export function onChunk(state: State, thread: Thread, update: ChunkUpdate): Report[] {
  const part = update.sessionUpdate === "agent_message_chunk" ? "text" : "reasoning";
  const messageId = update.messageId ?? null;
  const { content, _meta: meta } = update;
  const usage = stepTokens(state, meta);
  if (content.type !== "text") return [...onAttachment(state, thread, { content, messageId }), ...usage];
  const text = content.text ?? "";
  if (text === "") return usage;
  const own = part === "text" ? ownWords(state, thread, { text, messageId, meta }) : null;
  if (own !== null) return [...onOwnWords(state, thread, own), ...usage];
  return [...noteWork(state), ...write(state, thread, { part, messageId, text }), ...usage];
}

/** A whole message of version 2. */
export function onMessage(state: State, thread: Thread, update: UpdateOf<"agent_message" | "agent_thought">): Report[] {
  const part = update.sessionUpdate === "agent_message" ? "text" : "reasoning";
  const { messageId } = update;
  // What was streamed before is not said again.
  if (thread.block?.messageId === messageId) return closeBlock(thread, "completed");
  const text = (update.content ?? []).map((content) => content.text ?? "").join("");
  if (text === "") return [];
  return [...noteWork(state), ...write(state, thread, { part, messageId, text }), ...closeBlock(thread, "completed")];
}

interface Written {
  readonly part: Part;
  readonly messageId: string | null;
  readonly text: string;
}

function write(state: State, thread: Thread, { part, messageId, text }: Written): Report[] {
  const { block } = thread;
  if (block !== null && block.part === part && block.messageId === messageId) {
    return [{ type: "delta", key: block.key, part, delta: text }];
  }
  const out = closeBlock(thread, "completed");
  const key = openMessage(state, thread, messageId);
  thread.block = { key, part, messageId };
  const empty: ContentPart =
    part === "text" ? { type: "text", text: "" } : { type: part, text: "", visibility: "public" };
  const item = itemHead("message", { ...placeOf(thread, key), native_item_id: messageId, content: [empty] });
  return [...out, { type: "open", item }, { type: "delta", key, part, delta: text }];
}

/** A text after a tool call, or with another id, is another message: few agents say so themselves. */
function openMessage(state: State, thread: Thread, messageId: string | null): string {
  const key = nextKey(state, "message");
  if (messageId !== null) thread.message = messageId;
  else if (thread.called || thread.message === null) thread.message = key;
  thread.called = false;
  thread.parent = key;
  return key;
}

const placeOf = (thread: Thread, key: string) => ({
  key,
  message_id: thread.message ?? undefined,
  subagent: thread.subagent ?? undefined,
});

/** A model call that begins with a tool gets an empty message, so that the call has a parent. */
export function ensureParent(state: State, thread: Thread): Report[] {
  const out = closeBlock(thread, "completed");
  thread.called = true;
  if (thread.parent !== null) return out;
  const key = openMessage(state, thread, null);
  thread.called = true;
  return [...out, ...emptyMessage({ ...placeOf(thread, key), native_item_id: null }, { synthetic: true })];
}

export function closeBlock(thread: Thread, status: "completed" | "failed"): Report[] {
  const { block } = thread;
  thread.block = null;
  return block === null ? [] : [{ type: "close", key: block.key, status }];
}

function onAttachment(
  state: State,
  thread: Thread,
  { content, messageId }: { content: AcpContent; messageId: string | null },
): Report[] {
  const out = [...noteWork(state), ...closeBlock(thread, "completed")];
  const key = openMessage(state, thread, messageId);
  const item = itemHead("message", { ...placeOf(thread, key), native_item_id: messageId, content: [partOf(content)] });
  return [...out, ...whole(item)];
}

/** Content that is no text. */
export function partOf(content: AcpContent): ContentPart {
  const { data, mimeType, uri, resource } = content;
  if (content.type === "image" && isString(data)) {
    return { type: "image", data, mime: isString(mimeType) ? mimeType : "image/png" };
  }
  if (content.type === "resource_link" && isString(uri)) return { type: "file_ref", path: pathOf(uri), action: "read" };
  const embedded = shapeOf(resource);
  if (content.type === "resource" && isString(embedded.text)) return { type: "text", text: embedded.text };
  return { type: "json", json: content };
}

const pathOf = (uri: string): string => (uri.startsWith("file://") ? uri.slice("file://".length) : uri);

function ownWords(
  state: State,
  thread: Thread,
  { text, messageId, meta }: { text: string; messageId: string | null; meta: unknown },
): OwnWords | null {
  const first = thread.block === null || thread.block.messageId !== messageId;
  return state.quirks.ownWords?.({ text, messageId, meta, first, alarmed: state.alarmed }) ?? null;
}

/** What the agent says about itself. An error is the turn's if nothing follows it. */
export function onOwnWords(state: State, thread: Thread, own: OwnWords): Report[] {
  switch (own.type) {
    case "error":
      state.failure = own.message;
      return [
        ...closeBlock(thread, "completed"),
        { type: "error", message: own.message, code: "agent_error", fatal: false },
      ];
    case "status": {
      const { label, detail } = own;
      const item = statusHead({ key: nextKey(state, "status"), native_item_id: null, label, detail });
      return [...closeBlock(thread, "completed"), ...whole(item)];
    }
    case "retry": {
      const { attempt, delayMs, message } = own;
      return [...closeBlock(thread, "failed"), { type: "state", state: "retrying", attempt, message, delayMs }];
    }
    case "mode":
      return [{ type: "session", mode: own.mode }];
  }
}
