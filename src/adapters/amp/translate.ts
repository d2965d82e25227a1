/**
 * Amp → reports. The smallest unit is a whole model message without an id, so ids are made here; there are no deltas,
 * no permissions and no questions. One process is one turn, and its `result` is the end.
 */
import type { AdapterInput, AgentCommand, Send } from "../../core/agent-io.ts";
import { defined } from "../../core/defined.ts";
import { type Fold, unreachable } from "../../core/fold.ts";
import type { Report } from "../../core/report.ts";
import {
  closeCall,
  emptyMessage,
  itemHead,
  openCall,
  resultHead,
  resultKey,
  statusHead,
  stepUsage,
  whole,
} from "../../core/report-builders.ts";
import type { AmpBlock, AmpLine, AmpLineOf } from "../../dialects/amp.ts";
import type { ContentPart, Subagent } from "../../protocol/items.ts";
import { asToolResult, asToolUse, onError, onMessage } from "./documented.ts";
import { failure } from "./failure.ts";
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
  /** The model's last message ended its turn, and no result has said so. */
  answered: boolean;
}

export const adapter: Fold<AdapterInput<AmpLine>, Report | Send, State> = {
  start: () => ({ born: null, messages: 0, calls: new Map(), subagents: new Set(), streamed: false, answered: false }),
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
  if (line.type === "user") state.streamed = true;
  return [];
}

function onLine(state: State, { line, at }: { line: AmpLine; at: number }): Report[] {
  state.born ??= at;
  switch (line.type) {
    case "system":
      return [onInit(line)];
    case "assistant":
      return onAssistant(state, line);
    case "user":
      return onUser(state, line);
    case "result":
      return onResult(state, line);
    default:
      return onDocumented(state, line);
  }
}

function onDocumented(
  state: State,
  line: AmpLineOf<"message" | "tool_call" | "tool_result" | "error" | "done">,
): Report[] {
  switch (line.type) {
    case "message":
      return onMessage(line, nextMessage(state));
    case "tool_call": {
      const message_id = nextMessage(state);
      const place = { message_id: undefined, subagent: undefined };
      const parent = `${message_id}/empty`;
      const use = asToolUse(line, `${message_id}/call`);
      const call = onToolUse(state, { use, place, parent });
      return [...emptyMessage({ ...place, key: parent }, { synthetic: true }), ...call];
    }
    case "tool_result": {
      const [oldest = `${nextMessage(state)}/call`] = state.calls.keys();
      return onToolResult(state, asToolResult(line, oldest));
    }
    case "error":
      return onError(line);
    case "done":
      return [{ type: "end", reason: "completed" }];
    default:
      return unreachable(line);
  }
}

const onInit = ({ session_id, cwd, tools, agent_mode }: AmpLineOf<"system">): Report => ({
  type: "session",
  native_session_id: session_id,
  metadata: { agent: "amp", ...defined({ directory: cwd, tools }) },
  mode: agent_mode,
});

function nextMessage(state: State): string {
  state.messages += 1;
  return `amp-${(state.born ?? 0).toString(36)}-${state.messages}`;
}

/** Where a block stands: its native message, which has no id of its own, and the subagent that said it. */
interface Place {
  readonly message_id: string | undefined;
  readonly subagent: Subagent | undefined;
}

function onAssistant(state: State, line: AmpLineOf<"assistant">): Report[] {
  const { content, stop_reason, usage } = line.message;
  const out: Report[] = [];
  const message_id = nextMessage(state);
  const subagent = subagentOf(state, { call: line.parent_tool_use_id, out });
  const place = { message_id, subagent };
  let parent: string | null = null;
  for (const [index, block] of content.entries()) {
    if (block.type === "tool_use") {
      if (parent === null) {
        parent = `${message_id}/empty`;
        out.push(...emptyMessage({ ...place, key: parent }, { synthetic: false }));
      }
      out.push(...onToolUse(state, { use: block, place, parent }));
    } else {
      parent = `${message_id}/${index}`;
      const head = itemHead("message", { ...place, key: parent, native_item_id: null, content: [wordsOf(block)] });
      // Quirk: a message that was cut has the stop reason null (transcripts/amp/b2-stream-input-while-busy,
      // j1-max-tokens).
      out.push(...whole(head, stop_reason === null && index === content.length - 1 ? "failed" : "completed"));
    }
  }
  if (usage !== undefined) {
    const tokens = {
      input: usage.input_tokens ?? 0,
      output: usage.output_tokens ?? 0,
      reasoning: 0,
      cache_read: usage.cache_read_input_tokens ?? 0,
      cache_write: usage.cache_creation_input_tokens ?? 0,
    };
    out.push(stepUsage({ tokens, finish: stop_reason ?? undefined, message_id }));
  }
  // Quirk: with prompts on stdin only the last message's stop reason shows the end
  // (transcripts/amp/b1-stream-input-multi-turn).
  if (stop_reason === "end_turn" && subagent === undefined) {
    if (state.streamed) out.push({ type: "end", reason: "completed" });
    else state.answered = true;
  }
  return out;
}

function wordsOf(block: Exclude<AmpBlock, { type: "tool_use" }>): ContentPart {
  if (block.type === "text") return { type: "text", text: block.text };
  if (block.type === "thinking") return { type: "reasoning", text: block.thinking, visibility: "public" };
  return { type: "reasoning", text: "", visibility: "private" };
}

/** Arguments come complete, and nothing is heard of the tool until its result. */
function onToolUse(state: State, { use, place, parent }: { use: ToolUse; place: Place; parent: string }): Report[] {
  state.calls.set(use.id, use);
  const part = callPart(use);
  const call = { ...place, key: use.id };
  return [openCall({ ...call, parent }, part), closeCall(use.id, part), { type: "open", item: resultHead(call) }];
}

function onUser(state: State, line: AmpLineOf<"user">): Report[] {
  const out: Report[] = [];
  const subagent = subagentOf(state, { call: line.parent_tool_use_id, out });
  const texts: ContentPart[] = [];
  for (const block of line.message.content) {
    if (block.type === "text") texts.push({ type: "text", text: block.text });
    if (block.type === "tool_result") out.push(...onToolResult(state, block));
  }
  if (texts.length === 0) return out;
  // Quirk: the CLI of January 2026 prints no result between turns when prompts come on stdin.
  if (state.answered && subagent === undefined) out.push({ type: "end", reason: "completed" });
  state.answered = false;
  const key = nextMessage(state);
  const place = { message_id: key, subagent };
  if (subagent === undefined) out.push({ type: "begin", origin: "user" });
  out.push(...whole(itemHead("message", { ...place, key, native_item_id: null, role: "user", content: texts })));
  return out;
}

function onToolResult(state: State, result: ToolResult): Report[] {
  const call = result.tool_use_id;
  const use = state.calls.get(call);
  state.calls.delete(call);
  const { content, failed } = resultContent(use, result);
  const status = failed ? "failed" : "completed";
  const out: Report[] = [];
  if (state.subagents.delete(call)) out.push({ type: "close", key: subagentKey(call), status });
  // The head is for a result whose call was never printed.
  const item = itemHead("tool_result", { key: resultKey(call), native_item_id: call, content });
  out.push({ type: "close", key: resultKey(call), status, content, item });
  const todos = todosOf(use, result);
  if (todos !== null) out.push({ type: "todo", todos });
  return out;
}

const subagentKey = (call: string): string => `subagent/${call}`;

/** Documented, never seen: a subagent's own lines name the call that made it. */
function subagentOf(
  state: State,
  { call, out }: { call: string | null | undefined; out: Report[] },
): Subagent | undefined {
  if (call === null || call === undefined) return undefined;
  const use = state.calls.get(call);
  const subagent: Subagent = { id: call, parent_call_id: call, ...defined({ name: use?.name }) };
  if (!state.subagents.has(call)) {
    state.subagents.add(call);
    const detail = use === undefined ? call : callPart(use).title;
    const named = { key: subagentKey(call), native_item_id: call, subagent, parent: call };
    out.push({ type: "open", item: statusHead({ ...named, label: "subagent", detail }) });
  }
  return subagent;
}

const CANCELLED = /^User cancelled/;

/** The end of the process. Errors come with exit code 0, so only this line has them. */
function onResult(state: State, { is_error, error, result, subtype }: AmpLineOf<"result">): Report[] {
  state.streamed = false;
  state.answered = false;
  if (!is_error) return [{ type: "end", reason: "completed" }];
  const message = error ?? result ?? subtype;
  if (CANCELLED.test(message)) return [{ type: "end", reason: "aborted" }];
  if (subtype === "error_max_turns") return [{ type: "end", reason: "max_steps" }];
  return failure(message, { subtype });
}
