/**
 * Amp → reports. The smallest unit is a whole model message without an id, so ids are made here; there are no deltas,
 * no permissions and no questions. One process is one turn, and its `result` is the end.
 */
import type { AdapterInput, AgentCommand, Send } from "../../core/agent-io.ts";
import { type Fold, unreachable } from "../../core/fold.ts";
import type { ItemHead, Report } from "../../core/report.ts";
import {
  type AmpAssistant,
  type AmpBlock,
  type AmpInit,
  type AmpLine,
  type AmpResult,
  type AmpUser,
  isAmpAssistant,
  isAmpInit,
  isAmpResult,
  isAmpUser,
} from "../../dialects/amp.ts";
import type { Subagent } from "../../protocol/items.ts";
import { callPart, resultContent, type ToolResult, type ToolUse, todosOf } from "./tools.ts";

interface State {
  /** When this process was first heard: makes the ids of its messages differ from those of the process before. */
  born: number | null;
  messages: number;
  readonly calls: Map<string, ToolUse>;
  /** Subagents that have spoken, by the call that made them. */
  readonly subagents: Set<string>;
  /** Prompts come on its stdin: then there is no result between turns, and the model's last word is the end. */
  streamed: boolean;
}

export const adapter: Fold<AdapterInput<AmpLine>, Report | Send, State> = {
  start: () => ({ born: null, messages: 0, calls: new Map(), subagents: new Set(), streamed: false }),
  step(state, input) {
    switch (input.type) {
      case "line":
        return input.from === "host" ? onHostLine(state, input.line) : onLine(state, input);
      case "command":
        return encode(input.command);
      case "connected":
      case "disconnected":
      case "response":
      case "tick":
        return [];
      default:
        return unreachable(input);
    }
  },
};

/** The prompt is on the command line already; a signal is the only other thing Amp hears. */
function encode(command: AgentCommand): Send[] {
  switch (command.type) {
    case "abort":
      return [{ type: "send.signal", signal: "interrupt" }];
    case "prompt":
      return [{ type: "send.close" }];
    default:
      return [];
  }
}

function onHostLine(state: State, line: AmpLine): Report[] {
  if (isAmpUser(line)) state.streamed = true;
  return [];
}

function onLine(state: State, { line, at }: { line: AmpLine; at: number }): Report[] {
  state.born ??= at;
  if (isAmpInit(line)) return [sessionReport(line)];
  if (isAmpAssistant(line)) return onAssistant(state, line);
  if (isAmpUser(line)) return onUser(state, line);
  if (isAmpResult(line)) return onResult(state, line);
  return onUnknown(state, line);
}

const sessionReport = ({ session_id, cwd, tools, agent_mode }: AmpInit): Report => ({
  type: "session",
  native_session_id: session_id,
  metadata: {
    agent: "amp",
    ...(cwd === undefined ? {} : { directory: cwd }),
    ...(tools === undefined ? {} : { tools }),
  },
  ...(agent_mode === undefined ? {} : { mode: agent_mode }),
});

function nextMessage(state: State): string {
  state.messages += 1;
  return `amp-${(state.born ?? 0).toString(36)}-${state.messages}`;
}

function onAssistant(state: State, line: AmpAssistant): Report[] {
  const { content, stop_reason, usage } = line.message;
  const id = nextMessage(state);
  const out: Report[] = [];
  const subagent = subagentOf(state, { parent: line.parent_tool_use_id ?? null, out });
  let parent: string | null = null;
  content.forEach((block, index) => {
    const key = `${id}/${index}`;
    if (block.type === "tool_use") {
      if (parent === null) {
        parent = `${id}/empty`;
        out.push(...whole(headOf({ key: parent, id, subagent, content: [{ type: "text", text: "" }] })));
      }
      out.push(...onToolUse(state, { use: block, id, parent, subagent }));
      return;
    }
    parent = key;
    // Quirk: a message that was cut has the stop reason null (transcripts/amp/b2-stream-input-while-busy,
    // j1-max-tokens).
    const cut = stop_reason === null && index === content.length - 1;
    out.push(...whole(headOf({ key, id, subagent, content: [wordsOf(block)] }), cut ? "failed" : "completed"));
  });
  if (usage !== undefined) {
    out.push({
      type: "usage",
      scope: "step",
      mode: "add",
      tokens: {
        input: usage.input_tokens ?? 0,
        output: usage.output_tokens ?? 0,
        reasoning: 0,
        cache_read: usage.cache_read_input_tokens ?? 0,
        cache_write: usage.cache_creation_input_tokens ?? 0,
      },
      ...(typeof stop_reason === "string" ? { finish: stop_reason } : {}),
      message_id: id,
    });
  }
  // Quirk: with prompts on stdin only the last message's stop reason tells the end
  // (transcripts/amp/b1-stream-input-multi-turn).
  if (state.streamed && stop_reason === "end_turn" && subagent === null) out.push({ type: "end", reason: "completed" });
  return out;
}

function wordsOf(block: Exclude<AmpBlock, { type: "tool_use" }>): ItemHead["content"][number] {
  if (block.type === "text") return { type: "text", text: block.text };
  if (block.type === "thinking") return { type: "reasoning", text: block.thinking, visibility: "public" };
  return { type: "reasoning", text: "", visibility: "private" };
}

function headOf({
  key,
  id,
  subagent,
  content,
}: {
  key: string;
  id: string;
  subagent: Subagent | null;
  content: ItemHead["content"];
}): ItemHead {
  const native_item_id = null;
  const by = subagent === null ? {} : { subagent };
  return { key, native_item_id, message_id: id, kind: "message", role: "assistant", content, ...by };
}

/** An item that comes all at once: it begins empty, so that its text is told as a delta too. */
function whole(item: ItemHead, status: "completed" | "failed" = "completed"): Report[] {
  const content = item.content.map((part) =>
    part.type === "text" || part.type === "reasoning" ? { ...part, text: "" } : part,
  );
  return [
    { type: "open", item: item.role === "user" ? item : { ...item, content } },
    { type: "close", key: item.key, status, content: item.content },
  ];
}

/** Arguments come complete, and nothing is heard of the tool until its result. */
function onToolUse(
  state: State,
  { use, id, parent, subagent }: { use: ToolUse; id: string; parent: string; subagent: Subagent | null },
): Report[] {
  state.calls.set(use.id, use);
  const by = subagent === null ? {} : { subagent };
  const call = callPart(use);
  const head = { native_item_id: use.id, message_id: id, ...by };
  return [
    {
      type: "open",
      item: {
        ...head,
        key: use.id,
        kind: "tool_call",
        role: "assistant",
        parent,
        content: [{ ...call, arguments: "" }],
      },
    },
    { type: "close", key: use.id, status: "completed", content: [call] },
    {
      type: "open",
      item: {
        ...head,
        key: `${use.id}/result`,
        kind: "tool_result",
        role: "tool",
        parent: use.id,
        content: [{ type: "tool_result", call_id: use.id, output: "", is_error: false }],
      },
    },
  ];
}

function onUser(state: State, line: AmpUser): Report[] {
  const out: Report[] = [];
  const subagent = subagentOf(state, { parent: line.parent_tool_use_id ?? null, out });
  const texts: string[] = [];
  for (const block of line.message.content) {
    if (block.type === "text") texts.push(block.text);
    if (block.type === "tool_result") out.push(...onToolResult(state, block));
  }
  if (texts.length === 0) return out;
  const id = nextMessage(state);
  const content = texts.map((text) => ({ type: "text" as const, text }));
  const head = { ...headOf({ key: id, id, subagent, content }), role: "user" as const };
  return [...out, ...(subagent === null ? [{ type: "begin", origin: "user" } as const] : []), ...whole(head)];
}

function onToolResult(state: State, result: ToolResult): Report[] {
  const use = state.calls.get(result.tool_use_id);
  state.calls.delete(result.tool_use_id);
  const content = resultContent(use, result);
  const [told] = content;
  const status = told?.type === "tool_result" && told.is_error ? "failed" : "completed";
  const key = `${result.tool_use_id}/result`;
  const todos = todosOf(use, result);
  return [
    ...(state.subagents.delete(result.tool_use_id)
      ? [{ type: "close", key: `subagent/${result.tool_use_id}`, status } as const]
      : []),
    {
      type: "close",
      key,
      status,
      content,
      // A result whose call was never printed.
      item: { key, native_item_id: result.tool_use_id, kind: "tool_result", role: "tool", content },
    },
    ...(todos === null ? [] : [{ type: "todo", todos } as const]),
  ];
}

/** Documented, never seen: a subagent's own lines name the call that made it. */
function subagentOf(state: State, { parent, out }: { parent: string | null; out: Report[] }): Subagent | null {
  if (parent === null) return null;
  const use = state.calls.get(parent);
  const title = use === undefined ? parent : callPart(use).title;
  const subagent: Subagent = { id: parent, parent_call_id: parent, ...(use === undefined ? {} : { name: use.name }) };
  if (!state.subagents.has(parent)) {
    state.subagents.add(parent);
    const content = [{ type: "status" as const, label: "subagent", detail: title }];
    const head = { key: `subagent/${parent}`, native_item_id: parent, subagent, parent };
    out.push({ type: "open", item: { ...head, kind: "status", role: "system", content } });
  }
  return subagent;
}

const CANCELLED = /^User cancelled/;
const NEEDS_APPROVAL = /require user approval/;

/** The end of the process. Errors come with exit code 0, so only this line tells them. */
function onResult(state: State, { is_error, error, result, subtype }: AmpResult): Report[] {
  state.streamed = false;
  if (!is_error) return [{ type: "end", reason: "completed" }];
  const message = error ?? result ?? subtype;
  if (CANCELLED.test(message)) return [{ type: "end", reason: "aborted" }];
  if (subtype === "error_max_turns") return [{ type: "end", reason: "max_steps" }];
  const info = { message: explained(message), code: codeOf(message), details: { subtype } };
  return [
    { type: "error", ...info, fatal: true },
    { type: "end", reason: "error", error: info, says: true },
  ];
}

const explained = (message: string): string =>
  NEEDS_APPROVAL.test(message)
    ? `${message}. Nobody can be asked in this mode: allow or reject the tool in Amp's settings (amp.permissions).`
    : message;

/** Errors of the provider begin with its HTTP status. */
function codeOf(message: string): string {
  if (NEEDS_APPROVAL.test(message)) return "approval_not_supported";
  const status = /^(\d{3}) /.exec(message)?.[1];
  if (status === undefined) return "agent_error";
  if (status === "401" || status === "403") return "authentication_failed";
  return status === "429" || status === "529" ? "rate_limited" : "provider_error";
}

/** What newer builds may have to say is kept as it is. */
function onUnknown(state: State, line: AmpLine): Report[] {
  const key = `${nextMessage(state)}/unknown`;
  const content = [{ type: "json" as const, json: line }];
  return whole({ key, native_item_id: null, kind: "unknown", role: "system", content });
}
