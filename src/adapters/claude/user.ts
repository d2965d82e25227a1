/** `user` lines: tool results, what the CLI itself puts into the conversation, and echoes of our own prompts. */
import { defined } from "../../core/defined.ts";
import type { Report } from "../../core/report.ts";
import { itemHead, whole } from "../../core/report-builders.ts";
import type { ClaudeBlock, ClaudeUser } from "../../dialects/claude.ts";
import { readBlock } from "../../dialects/claude-guard.ts";
import { isShape } from "../../dialects/shape.ts";
import type { ContentPart, Subagent } from "../../protocol/items.ts";
import { onToolResult } from "./results.ts";
import { madeKey, type State } from "./state.ts";
import { subagentOf } from "./tasks.ts";

export function onUser(state: State, line: ClaudeUser): Report[] {
  const out: Report[] = [];
  const subagent = subagentOf(state, out, line);
  const { content } = line.message;
  const blocks = typeof content === "string" ? [] : content.map(readBlock);
  const results = blocks.filter((block) => block.type === "tool_result");
  for (const block of results) {
    // `tool_use_result` belongs to the one result of its line.
    const returned = results.length === 1 ? line.tool_use_result : undefined;
    const meta = line.tool_result_meta?.filter(isShape).find(({ id }) => id === block.tool_use_id);
    out.push(...onToolResult(state, { block, returned, meta, subagent }));
  }
  if (results.length > 0 && subagent === undefined) out.push(...onToolsDone(state));
  const parts = typeof content === "string" ? contentParts(content) : partsOf(blocks);
  if (parts.length > 0) out.push(...onText(state, { line, parts, subagent }));
  return out;
}

/** Tools have answered: now the CLI takes up what was sent while they ran. Newer versions say so themselves. */
function onToolsDone(state: State): Report[] {
  state.lastWhole = null;
  if (!state.working || state.namesMessages) return [];
  const out: Report[] = [];
  while (state.waiting.length > 0) out.push(...sayWaiting(state, null));
  return out;
}

/** The text and images of a user message, as parts of an item. */
export function contentParts(content: string | readonly unknown[]): ContentPart[] {
  if (typeof content === "string") return content === "" ? [] : [{ type: "text", text: content }];
  return partsOf(content.map(readBlock));
}

function partsOf(blocks: readonly ClaudeBlock[]): ContentPart[] {
  const parts: ContentPart[] = [];
  for (const block of blocks) {
    if (block.type === "text") parts.push({ type: "text", text: block.text });
    if (block.type !== "image") continue;
    const { data, media_type } = block.source;
    parts.push(defined({ type: "image", mime: media_type ?? "image/png", data }));
  }
  return parts;
}

const INTERRUPTED = "[Request interrupted by user";
const OUTPUT = /^<local-command-(stdout|stderr)>([\s\S]*)<\/local-command-\1>$/;

interface Said {
  readonly line: ClaudeUser;
  readonly parts: readonly ContentPart[];
  readonly subagent: Subagent | undefined;
}

function onText(state: State, { line, parts, subagent }: Said): Report[] {
  const [first] = parts;
  const text = first?.type === "text" ? first.text : "";
  // The result says the same.
  if (text.startsWith(INTERRUPTED)) return [];
  const key = line.uuid ?? madeKey(state, "user");
  if (OUTPUT.test(text)) return commandOutput(state, { key, native_item_id: line.uuid ?? null, text });
  if (line.isReplay === true) return onReplay(state, { line, key, parts });
  const named = { key, native_item_id: line.uuid ?? null };
  // What the CLI itself puts into the conversation is marked; all else is what a person, or a calling agent, said.
  if (subagent === undefined && (line.isSynthetic === true || line.isMeta === true)) {
    return whole(itemHead("system", { content: parts, ...named }));
  }
  const said = whole(itemHead("message", { role: "user", subagent, content: parts, ...named }));
  if (subagent !== undefined || state.working) return said;
  state.working = true;
  return [{ type: "begin", origin: "user" }, ...said];
}

/** What a slash command printed is an answer; what a change of the model prints repeats the answer to our request. */
export function commandOutput(
  state: State,
  { text, ...named }: { readonly key: string; readonly native_item_id: string | null; readonly text: string },
): Report[] {
  const printed = (OUTPUT.exec(text)?.[2] ?? text).trim();
  const changesModel = [...state.requested.values()].includes("set_model");
  if (!state.working || changesModel || printed === "") return [];
  return whole(itemHead("message", { content: [{ type: "text", text: printed }], ...named }));
}

/** An echo of a message: of one we know it says only that it was taken up, otherwise it is the message. */
function onReplay(
  state: State,
  { line, key, parts }: { line: ClaudeUser; key: string; parts: readonly ContentPart[] },
): Report[] {
  if (line.uuid !== undefined && state.sent.has(line.uuid)) return sayWaiting(state, line.uuid);
  return whole(itemHead("message", { key, native_item_id: line.uuid ?? null, role: "user", content: parts }));
}

/** The CLI took up a message that a recording shows: now it is said. */
export function sayWaiting(state: State, uuid: string | null): Report[] {
  const index = uuid === null ? 0 : state.waiting.findIndex((message) => message.uuid === uuid);
  const message = state.waiting[index];
  if (message === undefined) return [];
  state.waiting.splice(index, 1);
  const key = message.uuid ?? madeKey(state, "prompt");
  const named = { key, native_item_id: message.uuid };
  const said = whole(itemHead("message", { role: "user", content: contentParts(message.content), ...named }));
  return said.map((report) => ({ host: message.host, ...report }));
}
