/** Mock → reports. The mock's language was made to be easy, so this is the shortest adapter: read it first. */
import type { AdapterInput, Send } from "../../core/agent-io.ts";
import { defined } from "../../core/defined.ts";
import { type Fold, unreachable } from "../../core/fold.ts";
import type { ItemHead, Report } from "../../core/report.ts";
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
import type { MockHears, MockLine, MockSays, MockSaysOf } from "../../dialects/mock.ts";
import { isString } from "../../dialects/shape.ts";
import type { RequestedAction } from "../../permissions/inspection.ts";
import type { ContentPart, Subagent, ToolCallPart } from "../../protocol/items.ts";
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
      const named = { key: line.id, native_item_id: null, message_id: line.id };
      const said = whole(itemHead("message", { ...named, role: "user", content }));
      return line.type === "prompt" ? [{ type: "begin", origin: "user" }, ...said] : said;
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
      const item = blockHead(state, block ?? { id: line.id, kind: "text" });
      const close = { type: "close", key: line.id, status: "completed", item } as const;
      if (line.text === undefined) return [close];
      return [{ ...close, content: [blockPart(block?.kind ?? "text", line.text)] }];
    }
    case "image": {
      state.latest = { message: line.message, key: line.id };
      const content: ContentPart[] = [{ type: "image", mime: line.mime, data: line.data }];
      return [
        { type: "open", item: itemHead("message", { key: line.id, message_id: line.message, content: [] }) },
        { type: "close", key: line.id, status: "completed", content },
      ];
    }
    case "summary": {
      const content: ContentPart[] = [{ type: "text", text: line.text }];
      return whole(itemHead("system", { key: line.id, content }));
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
      return [{ type: "open", item: resultOf(state, line.id) }];
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
    const key = `${line.message}/empty`;
    state.latest = { message: line.message, key };
    out.push(...emptyMessage({ key, message_id: line.message }, { synthetic: true }));
  }
  const subagent = subagentOf(state, line);
  state.calls.set(line.id, subagent);
  const part: ToolCallPart = {
    type: "tool_call",
    name: line.tool,
    call_id: line.id,
    tool_kind: line.kind,
    title: line.title,
    arguments: JSON.stringify(line.input),
  };
  const named = { key: line.id, message_id: line.message, parent: state.latest.key, subagent };
  out.push(openCall(named, part), closeCall(line.id, part));
  return out;
}

const subagentOf = (state: State, { subagent }: { readonly subagent?: string | undefined }): Subagent | undefined =>
  subagent === undefined ? undefined : state.subagents.get(subagent);

const resultOf = (state: State, call: string): ItemHead => resultHead({ key: call, subagent: state.calls.get(call) });

function onResult(state: State, line: MockSaysOf<"result">): Report[] {
  const item = resultOf(state, line.id);
  state.calls.delete(line.id);
  const content: ContentPart[] = [
    { type: "tool_result", call_id: line.id, output: line.output, is_error: line.error },
    ...(line.files ?? []).map(({ path, action, diff }) => defined({ type: "file_ref" as const, path, action, diff })),
  ];
  const status = line.error ? "failed" : "completed";
  return [{ type: "close", key: item.key, status, content, item, denied: line.denied ?? false }];
}

/** A subagent is a status item of its own, from its beginning to its end. */
function onSubagent(state: State, line: MockSaysOf<"subagent">): Report[] {
  const subagent: Subagent = { id: line.id, parent_call_id: line.call, name: line.name };
  const item = statusHead({ key: line.id, parent: line.call, subagent, label: "subagent", detail: line.name });
  if (line.status === "started") {
    state.subagents.set(line.id, subagent);
    return [{ type: "open", item }];
  }
  state.subagents.delete(line.id);
  return [{ type: "close", key: line.id, status: line.status, content: item.content, item }];
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
      const { id: key, action, tool, call: call_id, input } = line;
      return [{ type: "permission", key, action, tool, call_id, input, requested: requestedBy(line) }];
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
      return [stepUsage({ tokens, cost_usd: line.cost_usd, finish: line.finish })];
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
      const open = line.tasks.map(({ id, title, call }) => defined({ id, kind: "task", title, call_id: call }));
      return [{ type: "background", open }];
    }
    case "wake":
      return [{ type: "begin", origin: "background" }];
    case "title":
      return [{ type: "session", title: line.title }];
    case "settings":
      return [{ type: "session", model: line.model, mode: line.mode, permission_mode: line.permission_mode }];
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

function requestedBy({ action, input, patterns }: MockSaysOf<"ask">): RequestedAction {
  if (action === "bash") {
    return isString(input.command) ? { kind: "command", command: input.command } : { kind: "unknown" };
  }
  return action === "edit" ? { kind: "paths", access: "write", paths: patterns } : { kind: "tool" };
}

const blockPart = (kind: "text" | "reasoning", text: string): ContentPart =>
  kind === "text" ? { type: "text", text } : { type: "reasoning", text, visibility: "public" };

/** Of a block that ends without having begun, only the id is known. */
const blockHead = (
  state: State,
  block: Pick<MockSaysOf<"block">, "id" | "kind"> & {
    readonly message?: string;
    readonly subagent?: string | undefined;
  },
): ItemHead =>
  itemHead("message", {
    key: block.id,
    message_id: block.message,
    subagent: subagentOf(state, block),
    content: [blockPart(block.kind, "")],
  });
