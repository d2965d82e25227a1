/** Items of a conversation: words, reasoning, tools and what subagents do, each in its place. */
import type { EventOf } from "../../src/protocol/events.ts";
import type {
  ContentPart,
  FileRefPart,
  ImagePart,
  Item,
  ToolCallPart,
  ToolResultPart,
} from "../../src/protocol/items.ts";
import type { Conversation } from "./conversation-state.ts";
import type { Entry, TextEntry, ToolEntry } from "./entries.ts";

type ItemEvent = EventOf<"item.started"> | EventOf<"item.delta"> | EventOf<"item.completed">;

export function applyItem(conversation: Conversation, event: ItemEvent): void {
  if (event.type === "item.delta") return append(conversation, event.data);
  const { item } = event.data;
  const at = Date.parse(event.time);
  const isDone = event.type === "item.completed";
  switch (item.kind) {
    case "message":
    case "system":
      return applyText(conversation, { item, at, isDone, by: event.source === "daemon" ? "daemon" : "person" });
    case "tool_call":
      return applyCall(conversation, { item, at, isDone });
    case "tool_result":
      return applyResult(conversation, { item, at, isDone });
    case "status":
    case "unknown":
      return applyStatus(conversation, { item, at, isDone });
  }
}

function append(conversation: Conversation, { item_id, delta, part }: EventOf<"item.delta">["data"]): void {
  if (part === "tool_output") {
    const tool = conversation.toolItems.get(item_id);
    if (tool === undefined) return;
    tool.output += delta;
    tool.rev += 1;
    return;
  }
  const entry = conversation.texts.get(item_id);
  if (entry === undefined) return;
  entry.text += delta;
  entry.rev += 1;
}

interface Applied {
  readonly item: Item;
  readonly at: number;
  readonly isDone: boolean;
}

function applyText(
  conversation: Conversation,
  { item, at, isDone, by }: Applied & { readonly by: TextEntry["by"] },
): void {
  const known = conversation.texts.get(item.item_id);
  const entry = known ?? openText({ item, at, by: item.role === "user" ? by : "person" });
  if (known === undefined) {
    conversation.texts.set(item.item_id, entry);
    if (entry.type === "prompt" && conversation.turn !== null && conversation.turn.prompt === "") {
      conversation.turn.prompt = textIn(item.content);
    }
    place(conversation, item, entry);
  }
  if (!isDone) return;
  const text = textIn(item.content);
  if (text !== "" || item.status === "completed") entry.text = text;
  if (entry.type === "prompt" && conversation.turn?.prompt === "") conversation.turn.prompt = text;
  entry.images = imagesIn(item.content);
  entry.files = filesIn(item.content);
  entry.hidden = item.content.some((part) => part.type === "reasoning" && part.visibility === "private");
  entry.streaming = false;
  entry.failed = item.status === "failed";
  entry.endedAt = at;
  entry.rev += 1;
}

function openText({ item, at, by }: { item: Item; at: number; by: TextEntry["by"] }): TextEntry {
  const isReasoning = item.content.some(({ type }) => type === "reasoning");
  const type = item.kind === "system" ? "system" : item.role === "user" ? "prompt" : isReasoning ? "reasoning" : "text";
  return {
    type,
    key: item.item_id,
    rev: 0,
    text: textIn(item.content),
    streaming: true,
    failed: false,
    startedAt: at,
    endedAt: null,
    images: [],
    files: [],
    hidden: false,
    by,
  };
}

/** Where a subagent's item belongs: under the call that started it. */
function place(conversation: Conversation, { subagent }: Item, entry: Entry): void {
  const parent =
    subagent === undefined
      ? undefined
      : (conversation.subagents.get(subagent.id) ?? conversation.tools.get(subagent.parent_call_id ?? ""));
  if (parent === undefined) {
    conversation.entries.push(entry);
    return;
  }
  parent.children.push(entry);
  parent.rev += 1;
}

function applyCall(conversation: Conversation, { item, at, isDone }: Applied): void {
  const part = item.content.find((one): one is ToolCallPart => one.type === "tool_call");
  if (part === undefined) return;
  const known = conversation.tools.get(part.call_id);
  const tool = known ?? openTool(part, at);
  if (known === undefined) {
    conversation.tools.set(part.call_id, tool);
    place(conversation, item, tool);
  }
  conversation.toolItems.set(item.item_id, tool);
  tool.name = part.name;
  tool.kind = part.tool_kind;
  tool.title = part.title;
  if (part.arguments !== "") tool.input = part.arguments;
  if (isDone && item.status === "failed") finish(tool, { state: "failed", at });
  else if (isDone && tool.state === "pending") {
    tool.state = "running";
    tool.ranAt = at;
  }
  tool.rev += 1;
}

function openTool(part: ToolCallPart, at: number): ToolEntry {
  return {
    type: "tool",
    key: `tool ${part.call_id}`,
    rev: 0,
    callId: part.call_id,
    name: part.name,
    kind: part.tool_kind,
    title: part.title,
    input: part.arguments,
    output: "",
    state: "pending",
    exitCode: null,
    startedAt: at,
    ranAt: null,
    endedAt: null,
    files: [],
    images: [],
    children: [],
    background: false,
  };
}

function applyResult(conversation: Conversation, { item, at, isDone }: Applied): void {
  const part = item.content.find((one): one is ToolResultPart => one.type === "tool_result");
  const tool = part === undefined ? undefined : conversation.tools.get(part.call_id);
  if (part === undefined || tool === undefined) return;
  conversation.toolItems.set(item.item_id, tool);
  tool.rev += 1;
  if (!isDone) {
    tool.ranAt = at;
    if (tool.state === "pending") tool.state = "running";
    return;
  }
  tool.output = part.output;
  tool.exitCode = part.exit_code ?? null;
  tool.files = filesIn(item.content);
  tool.images = imagesIn(item.content);
  const isFailed = part.is_error || item.status === "failed";
  finish(tool, { state: !isFailed ? "completed" : tool.state === "denied" ? "denied" : "failed", at });
}

function finish(tool: ToolEntry, { state, at }: { readonly state: ToolEntry["state"]; readonly at: number }): void {
  tool.state = state;
  tool.endedAt = at;
}

/** A subagent's own status opens and closes its call; other statuses are one line. */
function applyStatus(conversation: Conversation, { item, at, isDone }: Applied): void {
  const { subagent } = item;
  const part = item.content.find((one) => one.type === "status");
  if (subagent === undefined) {
    if (!isDone || part?.type !== "status") return;
    const { label, detail = "" } = part;
    conversation.entries.push({ type: "note", key: item.item_id, rev: 0, tone: "plain", label, detail, at });
    return;
  }
  const known = conversation.subagents.get(subagent.id) ?? conversation.tools.get(subagent.parent_call_id ?? "");
  const tool = known ?? loneSubagent(conversation, { item, at });
  conversation.subagents.set(subagent.id, tool);
  if (!isDone) {
    if (tool.state === "pending") tool.state = "running";
    tool.background = tool.endedAt !== null;
  } else {
    tool.background = false;
    if (known === undefined || tool.callId === subagent.id) {
      finish(tool, { state: item.status === "failed" ? "failed" : "completed", at });
    }
  }
  tool.rev += 1;
}

/** A subagent that no call of this conversation started. */
function loneSubagent(conversation: Conversation, { item, at }: { item: Item; at: number }): ToolEntry {
  const { id = item.item_id, name = "subagent" } = item.subagent ?? {};
  const part = {
    type: "tool_call",
    name: "Agent",
    arguments: "",
    call_id: id,
    tool_kind: "subagent",
    title: name,
  } as const;
  const tool = openTool(part, at);
  tool.state = "running";
  tool.ranAt = at;
  conversation.tools.set(id, tool);
  conversation.entries.push(tool);
  return tool;
}

const textIn = (content: readonly ContentPart[]): string =>
  content
    .flatMap((part) => {
      if (part.type === "text" || part.type === "reasoning") return [part.text];
      return part.type === "json" ? [`\`\`\`json\n${JSON.stringify(part.json, null, 2)}\n\`\`\``] : [];
    })
    .join("");

const imagesIn = (content: readonly ContentPart[]): ImagePart[] => content.filter((part) => part.type === "image");
const filesIn = (content: readonly ContentPart[]): FileRefPart[] => content.filter((part) => part.type === "file_ref");
