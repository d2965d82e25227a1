/** Mock → reports. The mock's language was made to be easy, so this is the shortest adapter: read it first. */
import type { AdapterInput, Send } from "../../core/agent-io.ts";
import { type Fold, unreachable } from "../../core/fold.ts";
import type { ItemHead, Report } from "../../core/report.ts";
import type { MockHears, MockLine, MockSays, MockSaysOf } from "../../dialects/mock.ts";
import type { ContentPart, Subagent } from "../../protocol/items.ts";
import { encode } from "./encode.ts";

export interface State {
  /** Blocks still being written, by their id. */
  readonly blocks: Map<string, MockSaysOf<"block">>;
  /** The latest message item, which is the parent of calls of the same native message. */
  latest: { readonly message: string; readonly key: string } | null;
  readonly subagents: Map<string, Subagent>;
  /** Calls that have no result yet, for whom a subagent works. */
  readonly calls: Map<string, Subagent | undefined>;
}

export const adapter: Fold<AdapterInput<MockLine>, Report | Send, State> = {
  start: () => ({ blocks: new Map(), latest: null, subagents: new Map(), calls: new Map() }),
  step(state, input) {
    switch (input.type) {
      case "line":
        return onLine(state, input.line);
      case "command":
        return encode(input);
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

function onLine(state: State, line: MockLine): readonly Report[] {
  switch (line.type) {
    case "prompt":
    case "steer":
    case "answer":
    case "answers":
    case "set":
    case "compact":
    case "abort":
      return onHostLine(line);
    case "block":
    case "delta":
    case "block.end":
    case "image":
    case "summary":
      return onMessage(state, line);
    case "call":
    case "run":
    case "output":
    case "result":
    case "subagent":
      return onTool(state, line);
    default:
      return onOther(line);
  }
}

/** What we said, in a recording: the mock does not echo prompts. */
function onHostLine(line: MockHears): Report[] {
  switch (line.type) {
    case "prompt":
    case "steer": {
      const content: ContentPart[] = [{ type: "text", text: line.text }];
      const item: ItemHead = {
        key: line.id,
        native_item_id: null,
        message_id: line.id,
        kind: "message",
        role: "user",
        content,
      };
      const opened: Report[] = [
        { type: "open", item },
        { type: "close", key: line.id, status: "completed" },
      ];
      return line.type === "prompt" ? [{ type: "begin", origin: "user" }, ...opened] : opened;
    }
    case "answer":
      return [{ type: "permission.answered", key: line.id, reply: line.reply }];
    case "answers":
      return [{ type: "question.answered", key: line.id, answers: line.answers }];
    case "compact":
      return [{ type: "begin", origin: "user" }];
    case "set":
    case "abort":
      return [];
    default:
      return unreachable(line);
  }
}

type MessageLine = MockSaysOf<"block" | "delta" | "block.end" | "image" | "summary">;

function onMessage(state: State, line: MessageLine): Report[] {
  switch (line.type) {
    case "block":
      state.blocks.set(line.id, line);
      state.latest = { message: line.message, key: line.id };
      return [{ type: "open", item: blockHead(state, line) }];
    case "delta":
      return [{ type: "delta", key: line.id, part: state.blocks.get(line.id)?.kind ?? "text", delta: line.text }];
    case "block.end": {
      const block = state.blocks.get(line.id);
      state.blocks.delete(line.id);
      const item = block === undefined ? strayHead(line.id) : blockHead(state, block);
      const close = { type: "close", key: line.id, status: "completed", item } as const;
      if (line.text === undefined) return [close];
      return [{ ...close, content: [blockPart(block?.kind ?? "text", line.text)] }];
    }
    case "image": {
      state.latest = { message: line.message, key: line.id };
      const content: ContentPart[] = [{ type: "image", mime: line.mime, data: line.data }];
      const item: ItemHead = { ...strayHead(line.id), message_id: line.message, content: [] };
      return [
        { type: "open", item },
        { type: "close", key: line.id, status: "completed", content },
      ];
    }
    case "summary": {
      const content: ContentPart[] = [{ type: "text", text: line.text }];
      const item: ItemHead = { key: line.id, native_item_id: line.id, kind: "system", role: "system", content };
      return [
        { type: "open", item },
        { type: "close", key: line.id, status: "completed", content },
      ];
    }
    default:
      return unreachable(line);
  }
}

type ToolLine = MockSaysOf<"call" | "run" | "output" | "result" | "subagent">;

function onTool(state: State, line: ToolLine): Report[] {
  switch (line.type) {
    case "call":
      return onCall(state, line);
    case "run":
      return [{ type: "open", item: resultHead(state, line.id) }];
    case "output":
      return [{ type: "delta", key: resultKey(line.id), part: "tool_output", delta: line.text }];
    case "result":
      return onResult(state, line);
    case "subagent":
      return onSubagent(state, line);
    default:
      return unreachable(line);
  }
}

function onCall(state: State, line: MockSaysOf<"call">): Report[] {
  const out: Report[] = [];
  if (state.latest?.message !== line.message) {
    // A message that begins with a call gets an empty block, so that the call has a parent.
    const key = `${line.message}/empty`;
    state.latest = { message: line.message, key };
    const item: ItemHead = { ...strayHead(key), native_item_id: null, message_id: line.message };
    out.push({ type: "open", item, synthetic: true }, { type: "close", key, status: "completed" });
  }
  const subagent = line.subagent === undefined ? undefined : state.subagents.get(line.subagent);
  state.calls.set(line.id, subagent);
  const part = {
    type: "tool_call",
    name: line.tool,
    call_id: line.id,
    tool_kind: line.kind,
    title: line.title,
  } as const;
  const item: ItemHead = {
    key: line.id,
    native_item_id: line.id,
    kind: "tool_call",
    role: "assistant",
    message_id: line.message,
    parent: state.latest.key,
    content: [{ ...part, arguments: "" }],
    ...(subagent && { subagent }),
  };
  const content: ContentPart[] = [{ ...part, arguments: JSON.stringify(line.input) }];
  out.push({ type: "open", item }, { type: "close", key: line.id, status: "completed", content });
  return out;
}

function onResult(state: State, line: MockSaysOf<"result">): Report[] {
  const item = resultHead(state, line.id);
  state.calls.delete(line.id);
  const content: ContentPart[] = [
    { type: "tool_result", call_id: line.id, output: line.output, is_error: line.error },
    ...(line.files ?? []).map(({ path, action, diff }): ContentPart => {
      return { type: "file_ref", path, action, ...(diff !== undefined && { diff }) };
    }),
  ];
  const status = line.error ? "failed" : "completed";
  return [{ type: "close", key: item.key, status, content, item, denied: line.denied ?? false }];
}

/** A subagent is a status item of its own, from its beginning to its end. */
function onSubagent(state: State, line: MockSaysOf<"subagent">): Report[] {
  const subagent: Subagent = { id: line.id, parent_call_id: line.call, name: line.name };
  const content: ContentPart[] = [{ type: "status", label: "subagent", detail: line.name }];
  const item: ItemHead = {
    key: line.id,
    native_item_id: line.id,
    kind: "status",
    role: "system",
    parent: line.call,
    subagent,
    content,
  };
  if (line.status === "started") {
    state.subagents.set(line.id, subagent);
    return [{ type: "open", item }];
  }
  state.subagents.delete(line.id);
  return [{ type: "close", key: line.id, status: line.status, content, item }];
}

type OtherLine = Exclude<MockSays, MessageLine | ToolLine>;

function onOther(line: OtherLine): readonly Report[] {
  switch (line.type) {
    case "ready": {
      const { version, model, directory, permission_mode, tools } = line;
      const metadata = { agent: "mock", agent_version: version, model, directory, permission_mode, tools };
      return [{ type: "session", native_session_id: line.session, metadata }];
    }
    case "ask": {
      const { id: key, action, tool, call: call_id, input, patterns } = line;
      return [{ type: "permission", key, action, tool, call_id, input, patterns }];
    }
    case "question": {
      const questions = line.questions.map((question) => ({ ...question, custom: true }));
      return [{ type: "question", key: line.id, questions, call_id: null }];
    }
    case "answered":
      return [{ type: "permission.answered", key: line.id, reply: line.reply }];
    case "todos":
      return [{ type: "todo", todos: line.todos }];
    case "usage": {
      const tokens = { ...line.tokens, cache_read: 0, cache_write: 0 };
      return [{ type: "usage", scope: "step", mode: "add", tokens, cost_usd: line.cost_usd, finish: line.finish }];
    }
    case "error":
      return [{ type: "error", message: line.message, code: line.code, fatal: line.fatal }];
    case "retry": {
      const { attempt, message, delay_ms: delayMs } = line;
      return [{ type: "state", state: "retrying", attempt, message, delayMs }];
    }
    case "compacting":
    case "running":
      return [{ type: "state", state: line.type }];
    case "background": {
      const open = line.tasks.map(({ id, title, call }) => {
        return { id, kind: "task", title, ...(call !== undefined && { call_id: call }) };
      });
      return [{ type: "background", open }];
    }
    case "wake":
      return [{ type: "begin", origin: "background" }];
    case "title":
      return [{ type: "session", title: line.title }];
    case "settings":
      return [onSettings(line)];
    case "end": {
      if (line.reason !== "error") return [{ type: "end", reason: line.reason }];
      const { message, code } = line.error ?? { message: "The mock failed.", code: "mock_error" };
      return [{ type: "end", reason: "error", error: { message, code, details: null }, says: true }];
    }
    case "heartbeat":
      return [];
    default:
      return unreachable(line);
  }
}

function onSettings({ model, mode, permission_mode }: MockSaysOf<"settings">): Report {
  return {
    type: "session",
    ...(model !== undefined && { model }),
    ...(mode !== undefined && { mode }),
    ...(permission_mode !== undefined && { permission_mode }),
  };
}

const resultKey = (call: string): string => `${call}/result`;

function resultHead(state: State, call: string): ItemHead {
  const subagent = state.calls.get(call);
  return {
    key: resultKey(call),
    native_item_id: call,
    kind: "tool_result",
    role: "tool",
    parent: call,
    content: [{ type: "tool_result", call_id: call, output: "", is_error: false }],
    ...(subagent && { subagent }),
  };
}

const blockPart = (kind: "text" | "reasoning", text: string): ContentPart =>
  kind === "text" ? { type: "text", text } : { type: "reasoning", text, visibility: "public" };

function blockHead(state: State, block: MockSaysOf<"block">): ItemHead {
  const subagent = block.subagent === undefined ? undefined : state.subagents.get(block.subagent);
  return {
    ...strayHead(block.id),
    message_id: block.message,
    content: [blockPart(block.kind, "")],
    ...(subagent && { subagent }),
  };
}

/** A message item of which only the id is known. */
const strayHead = (key: string): ItemHead => ({
  key,
  native_item_id: key,
  kind: "message",
  role: "assistant",
  content: [{ type: "text", text: "" }],
});
