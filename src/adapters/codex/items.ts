/** Items of a thread → items of the session: blocks of text and reasoning, tools, and the few that are neither. */
import { defined } from "../../core/defined.ts";
import { unreachable } from "../../core/fold.ts";
import type { ItemHead, Report } from "../../core/report.ts";
import {
  callHead,
  closeCall,
  emptyMessage,
  itemHead,
  type Named,
  resultHead,
  resultKey,
  whole,
} from "../../core/report-builders.ts";
import type { ItemOf, ParamsOf } from "../../dialects/codex.ts";
import type { ContentPart } from "../../protocol/items.ts";
import { backgroundReport, onActivity, onCollab } from "./agents.ts";
import { notice } from "./notices.ts";
import { endModelStep, messageId, type State, type Thread, threadOf } from "./state.ts";
import { callPart, isCalled, isTool, mimeOf, resultOf, type ToolItem } from "./tools.ts";

/** Where an item is: its thread, its native turn, and the key we know it by (call ids may repeat in later turns). */
export interface Place {
  readonly thread: Thread;
  readonly turnId: string;
  readonly key: string;
}

export function onItemStarted(state: State, { threadId, turnId, item }: ParamsOf<"item/started">): Report[] {
  const place = placeOf(threadOf(state, threadId), { turnId, itemId: item.id });
  if (isTool(item)) return openTool(place, { item, synthetic: false });
  switch (item.type) {
    case "userMessage":
      endModelStep(place.thread);
      return [{ type: "open", item: userHead(place, item) }];
    case "agentMessage":
    case "plan":
      return breakOff(place.thread).concat(openBlock(place, { part: "text" }));
    case "reasoning":
      // Its parts are blocks of their own, which begin when they are added.
      return breakOff(place.thread);
    case "contextCompaction":
      return [
        { type: "state", state: "compacting" },
        { type: "open", item: compactionHead(place) },
      ];
    case "hookPrompt":
    case "enteredReviewMode":
    case "exitedReviewMode":
    case "subAgentActivity":
      // Whole when they begin, and said when they are complete.
      return [];
    default:
      return unreachable(item);
  }
}

export function onItemCompleted(state: State, { threadId, turnId, item }: ParamsOf<"item/completed">): Report[] {
  const place = placeOf(threadOf(state, threadId), { turnId, itemId: item.id });
  if (state.dropped.delete(place.key)) return [];
  if (isTool(item)) return closeTool(state, place, item);
  const { thread, key } = place;
  switch (item.type) {
    case "userMessage":
      return [{ type: "close", key, status: "completed", item: userHead(place, item) }];
    case "agentMessage":
    case "plan":
      return closeBlock(place, { part: "text", text: item.text });
    case "reasoning":
      return closeReasoning(place, item);
    case "contextCompaction":
      endModelStep(thread);
      return [
        { type: "close", key, status: "completed", item: compactionHead(place) },
        { type: "state", state: "running" },
      ];
    case "hookPrompt": {
      const content: ContentPart[] = item.fragments.map(({ text }) => ({ type: "text", text }));
      return whole(itemHead("system", { content, ...named(place) }));
    }
    case "enteredReviewMode":
      return notice(state, { thread, label: "Review started", detail: item.review });
    case "exitedReviewMode":
      return notice(state, { thread, label: "Review finished", detail: item.review });
    case "subAgentActivity":
      return onActivity(state, item);
    default:
      return unreachable(item);
  }
}

export const placeOf = (
  thread: Thread,
  { turnId, itemId }: { readonly turnId: string; readonly itemId: string },
): Place => ({ thread, turnId, key: `${turnId}/${itemId}` });

const nativeId = ({ key, turnId }: Place): string => key.slice(turnId.length + 1);

/** How the item at a place is named. */
const named = (place: Place): Named => ({
  key: place.key,
  native_item_id: nativeId(place),
  subagent: place.thread.subagent ?? undefined,
});

function userHead(place: Place, { content }: ItemOf<"userMessage">): ItemHead {
  const parts = content.map(({ type, text, url, path, name }): ContentPart => {
    if (type === "text") return { type: "text", text: text ?? "" };
    if (type === "localImage" && path !== undefined) return { type: "image", path, mime: mimeOf(path) };
    const [, mime, data] = /^data:([^;,]+);base64,(.*)$/s.exec(url ?? "") ?? [];
    if (type === "image" && mime !== undefined && data !== undefined) return { type: "image", data, mime };
    if (path !== undefined) return { type: "file_ref", path, action: "read" };
    return { type: "text", text: url ?? name ?? "" };
  });
  return itemHead("message", { role: "user", content: parts, ...named(place) });
}

const compactionHead = (place: Place): ItemHead =>
  itemHead("system", { content: [{ type: "status", label: "Context compacted" }], ...named(place) });

/** A message item, begun when it is not open yet. */
export function openBlock(
  place: Place,
  { part, raw = false, synthetic = false }: { part: "text" | "reasoning"; raw?: boolean; synthetic?: boolean },
): Report[] {
  const { thread, key } = place;
  if (thread.blocks.has(key)) return [];
  thread.blocks.set(key, part);
  return [{ type: "open", item: blockHead(place, { part, raw }), synthetic }];
}

function blockHead(place: Place, { part, raw }: { part: "text" | "reasoning"; raw: boolean }): ItemHead {
  const { thread, key, turnId } = place;
  thread.stepUsed = true;
  thread.parent = key;
  const message_id = messageId(thread, turnId);
  return itemHead("message", { message_id, content: [blockPart({ part, raw, text: "" })], ...named(place) });
}

/** Summaries are written for people; the raw chain of thought is shown only where it is switched on. */
const blockPart = ({ part, raw, text }: { part: "text" | "reasoning"; raw: boolean; text: string }): ContentPart =>
  part === "text" ? { type: "text", text } : { type: "reasoning", text, visibility: raw ? "private" : "public" };

function closeBlock(
  place: Place,
  { part, text, raw = false }: { part: "text" | "reasoning"; text: string; raw?: boolean },
): Report[] {
  const { thread, key } = place;
  const known = thread.blocks.delete(key);
  const item = known ? undefined : blockHead(place, { part, raw });
  return [{ type: "close", key, status: "completed", content: [blockPart({ part, raw, text })], item }];
}

export const summaryPlace = (place: Place, index: number): Place => ({ ...place, key: `${place.key}/s${index}` });
export const rawPlace = (place: Place, index: number): Place => ({ ...place, key: `${place.key}/c${index}` });

function closeReasoning(place: Place, { summary, content }: ItemOf<"reasoning">): Report[] {
  return [
    ...(summary ?? []).flatMap((text, index) => closeBlock(summaryPlace(place, index), { part: "reasoning", text })),
    ...(content ?? []).flatMap((text, index) =>
      closeBlock(rawPlace(place, index), { part: "reasoning", text, raw: true }),
    ),
  ];
}

/**
 * What the model was writing has broken off: a retry, a steer, or the next message begins while this one is open.
 * Codex never completes such items (transcripts/codex/steer).
 */
export function breakOff(thread: Thread): Report[] {
  const out: Report[] = [];
  for (const key of thread.blocks.keys()) out.push({ type: "close", key, status: "failed" });
  thread.blocks.clear();
  return out;
}

function openTool(place: Place, { item, synthetic }: { item: ToolItem; synthetic: boolean }): Report[] {
  const { thread, key } = place;
  if (thread.tools.has(key)) return [];
  const part = callPart(item);
  const called = isCalled(item);
  thread.tools.set(key, {
    callId: item.id,
    title: part.title,
    isCommand: item.type === "commandExecution",
    called,
    changes: item.type === "fileChange" ? item.changes : [],
  });
  const byModel = !(item.type === "commandExecution" && item.source === "userShell");
  const out: Report[] = byModel ? ensureParent(place) : [];
  const message_id = byModel ? messageId(thread, place.turnId) : undefined;
  const parent = byModel ? (thread.parent ?? undefined) : undefined;
  out.push({ type: "open", item: callHead({ message_id, parent, ...named(place) }, part), synthetic });
  if (called) out.push(closeCall(key, part), openResult(place, item));
  return out;
}

const openResult = (place: Place, item: ToolItem): Report => ({
  type: "open",
  item: resultHead(named(place), item.id),
});

/** A model call that begins with a tool gets an empty message, so that the call has a parent. */
function ensureParent(place: Place): Report[] {
  const { thread, turnId } = place;
  thread.stepUsed = true;
  if (thread.parent !== null) return [];
  const message_id = messageId(thread, turnId);
  thread.parent = `${message_id}/empty`;
  const subagent = thread.subagent ?? undefined;
  return emptyMessage({ key: thread.parent, message_id, subagent }, { synthetic: true });
}

function closeTool(state: State, place: Place, item: ToolItem): Report[] {
  const { thread, key } = place;
  const out: Report[] = openTool(place, { item, synthetic: true });
  const called = thread.tools.get(key)?.called ?? true;
  thread.tools.delete(key);
  if (!called) {
    out.push(closeCall(key, callPart(item)), openResult(place, item));
  }
  const { output, is_error, exit_code, parts, denied } = resultOf(item);
  const part = defined({ type: "tool_result" as const, call_id: item.id, output, is_error, exit_code });
  const status = is_error ? "failed" : "completed";
  out.push({ type: "close", key: resultKey(key), status, content: [part, ...parts], denied });
  if (item.type === "collabAgentToolCall") out.push(...onCollab(state, item));
  if (state.background.delete(key)) out.push(backgroundReport(state));
  return out;
}

/** Fragments of what is being written. A text that was never announced, and each part of reasoning, begins with one. */
export function onBlockDelta(
  place: Place,
  { part, delta, raw = false }: { part: "text" | "reasoning"; delta: string; raw?: boolean },
): Report[] {
  const synthetic = part === "text";
  const out = openBlock(place, { part, raw, synthetic });
  out.push({ type: "delta", key: place.key, part, delta });
  return out;
}

/** Output of a tool that was never announced opens its result: the call follows when the item is complete. */
export function onToolDelta(state: State, place: Place, delta: string): Report[] {
  if (state.dropped.has(place.key)) return [];
  const piece: Report = { type: "delta", key: resultKey(place.key), part: "tool_output", delta };
  if (place.thread.tools.has(place.key)) return [piece];
  return [{ type: "open", item: resultHead(named(place), nativeId(place)), synthetic: true }, piece];
}

/** What still runs when its thread's turn is over: kept as background work, or forgotten with the turn. */
export function leaveTools(state: State, thread: Thread, { keep }: { keep: boolean }): Report[] {
  let kept = false;
  for (const [key, { callId, title, isCommand }] of thread.tools) {
    if (state.background.has(key)) continue;
    if (keep && isCommand) {
      state.background.set(key, { id: callId, kind: "command", title, call_id: callId });
      kept = true;
    } else {
      thread.tools.delete(key);
      state.dropped.add(key);
    }
  }
  return kept ? [backgroundReport(state)] : [];
}
