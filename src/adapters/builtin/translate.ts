/** The builtin agent's lines → reports. Its loop decides when it is done; the turn machine decides when the turn is. */
import type { AdapterInput, Send } from "../../core/agent-io.ts";
import { defined } from "../../core/defined.ts";
import { type Fold, unreachable } from "../../core/fold.ts";
import type { Report } from "../../core/report.ts";
import { itemHead, resultKey, statusHead, stepUsage, whole } from "../../core/report-builders.ts";
import {
  type BuiltinHears,
  type BuiltinLine,
  type BuiltinSays,
  type BuiltinTokens,
  isBuiltinHeard,
} from "../../dialects/builtin.ts";
import { isString } from "../../dialects/shape.ts";
import type { RequestedAction } from "../../permissions/inspection.ts";
import type { Tokens } from "../../protocol/events.ts";
import type { ContentPart, Subagent } from "../../protocol/items.ts";
import { encode } from "./encode.ts";
import { type Says, type State, subagentOf } from "./state.ts";
import { onToolCall, onToolError, onToolInput, onToolResult } from "./tools.ts";

export const adapter: Fold<AdapterInput<BuiltinLine>, Report | Send, State> = {
  start: () => ({ latest: new Map(), calls: new Map(), subagents: new Map(), prompts: 0, waiting: false }),
  step(state, input) {
    switch (input.type) {
      case "line":
        return isBuiltinHeard(input.line) ? onHeard(state, input.line) : onSaid(state, input.line);
      case "command":
        return encode(input.command);
      case "disconnected":
        state.calls.clear();
        state.latest.clear();
        return [];
      case "connected":
      case "response":
      case "tick":
        return [];
      default:
        return unreachable(input);
    }
  },
};

function onSaid(state: State, line: BuiltinSays): Report[] {
  switch (line.type) {
    case "session":
      return [onSession(line)];
    case "changed":
      return [onChanged(line)];
    case "tool.input":
      return onToolInput(state, line);
    case "tool.call":
      return onToolCall(state, line);
    case "tool.output":
      return [{ type: "delta", key: resultKey(line.call_id), part: "tool_output", delta: line.delta }];
    case "tool.result":
      return onToolResult(state, line);
    case "tool.error":
      return onToolError(state, line);
    case "permission.asked":
      return [onPermission(line)];
    case "permission.answered":
      return [{ type: "permission.answered", key: line.id, reply: line.reply }];
    case "question.asked":
      return [{ type: "question", key: line.id, questions: line.questions.map(onQuestion), call_id: line.call_id }];
    case "question.answered":
      return [{ type: "question.answered", key: line.id, answers: line.answers }];
    case "todo":
      return [{ type: "todo", todos: line.todos.map(onTodo) }];
    case "subagent.start":
      return onSubagentStart(state, line);
    case "subagent.end":
      return onSubagentEnd(state, line);
    case "notice":
      return onNotice(state, line);
    case "end":
      return onEnd(state, line);
    default:
      return onStepLine(state, line);
  }
}

type StepLine = Says<
  | "step.start"
  | "step.finish"
  | "step.failed"
  | "text.start"
  | "text.delta"
  | "text.end"
  | "reasoning.start"
  | "reasoning.delta"
  | "reasoning.end"
  | "retry"
  | "compaction.start"
  | "compaction.end"
  | "compaction.failed"
>;

/** What the model says, step by step, and what happens between steps. */
function onStepLine(state: State, line: StepLine): Report[] {
  switch (line.type) {
    case "step.start":
      return goOn(state);
    case "step.finish":
      return onStepFinish(state, line);
    case "step.failed":
      state.latest.delete(line.message_id);
      return [];
    case "text.start":
    case "reasoning.start":
      return onBlockStart(state, line);
    case "text.delta":
      return [{ type: "delta", key: line.id, part: "text", delta: line.delta }];
    case "reasoning.delta":
      return [{ type: "delta", key: line.id, part: "reasoning", delta: line.delta }];
    case "text.end":
    case "reasoning.end":
      return [onBlockEnd(line)];
    case "retry":
      state.waiting = true;
      return [
        { type: "state", state: "retrying", attempt: line.attempt, message: line.message, delayMs: line.delay_ms },
      ];
    case "compaction.start":
      state.waiting = true;
      // Asked for while nothing ran, a compaction is a turn of its own.
      return [
        { type: "begin", origin: "agent" },
        { type: "state", state: "compacting" },
      ];
    case "compaction.end":
      return onCompactionEnd(state, line);
    case "compaction.failed":
      return goOn(state);
    default:
      return unreachable(line);
  }
}

/** What the host said, in a recording. Live, the machine knows it already. */
function onHeard(state: State, line: BuiltinHears): Report[] {
  switch (line.type) {
    case "prompt":
    case "steer":
      return onPrompt(state, line);
    case "permission.reply":
      return [{ type: "permission.answered", key: line.id, reply: line.reply }];
    case "question.reply":
      return [{ type: "question.answered", key: line.id, answers: line.answers }];
    case "question.reject":
      return [{ type: "question.answered", key: line.id, answers: null }];
    // The agent's own lines report what came of these.
    case "abort":
    case "set":
    case "compact":
      return [];
    default:
      return unreachable(line);
  }
}

function onPrompt(state: State, line: Extract<BuiltinHears, { type: "prompt" | "steer" }>): Report[] {
  state.prompts += 1;
  const key = `prompt/${state.prompts}`;
  const content: ContentPart[] = [{ type: "text", text: line.text }];
  return [
    { type: "begin", origin: "user" },
    ...whole(itemHead("message", { key, native_item_id: null, role: "user", content })),
  ];
}

const onSession = (line: Says<"session">): Report => ({
  type: "session",
  native_session_id: line.session_id,
  metadata: {
    agent: "builtin",
    agent_version: line.version,
    model: line.model,
    directory: line.directory,
    permission_mode: line.permission_mode,
    tools: line.tools,
  },
});

const onChanged = ({ model, mode, permission_mode }: Says<"changed">): Report => ({
  type: "session",
  model,
  mode,
  permission_mode,
});

function goOn(state: State): Report[] {
  if (!state.waiting) return [];
  state.waiting = false;
  return [{ type: "state", state: "running" }];
}

function onStepFinish(state: State, line: Says<"step.finish">): Report[] {
  state.latest.delete(line.message_id);
  return [stepUsage({ tokens: counted(line), finish: line.finish, message_id: line.message_id })];
}

/** The counts alone: a line may carry more. */
function counted({ tokens }: { readonly tokens: BuiltinTokens }): Tokens {
  const { input, output, reasoning, cache_read, cache_write } = tokens;
  return { input, output, reasoning, cache_read, cache_write };
}

function onBlockStart(state: State, line: Says<"text.start"> | Says<"reasoning.start">): Report[] {
  state.latest.set(line.message_id, line.id);
  const content: ContentPart[] = [
    line.type === "text.start" ? { type: "text", text: "" } : { type: "reasoning", text: "", visibility: "public" },
  ];
  const named = { key: line.id, message_id: line.message_id, subagent: subagentOf(state, line) };
  return [{ type: "open", item: itemHead("message", { ...named, content }) }];
}

const onBlockEnd = (line: Says<"text.end"> | Says<"reasoning.end">): Report => ({
  type: "close",
  key: line.id,
  status: line.failed ? "failed" : "completed",
  content: [
    line.type === "text.end"
      ? { type: "text", text: line.text }
      : { type: "reasoning", text: line.text, visibility: "public" },
  ],
});

const onPermission = (line: Says<"permission.asked">): Report => ({
  type: "permission",
  key: line.id,
  action: line.action,
  tool: line.tool,
  call_id: line.call_id,
  input: line.input,
  requested: requestedBy(line),
  metadata: line.metadata,
});

/** The builtin agent writes this metadata, so the path is the real one and the command is the one that runs. */
function requestedBy({ action, metadata: { command, filepath, url } }: Says<"permission.asked">): RequestedAction {
  if (action === "bash") return isString(command) ? { kind: "command", command } : { kind: "unknown" };
  if (isString(url)) return { kind: "url", url };
  if (!isString(filepath)) return { kind: "tool" };
  const access = action === "edit" ? "write" : action === "external_directory" ? "unknown" : "read";
  return { kind: "paths", access, paths: [filepath] };
}

const onQuestion = (question: Says<"question.asked">["questions"][number]) => ({
  id: question.id,
  ...defined({ header: question.header }),
  question: question.question,
  options: question.options.map(({ label, description }) => defined({ label, description })),
  multiple: question.multiple,
  custom: question.custom,
});

const onTodo = ({ id, content, status, priority }: Says<"todo">["todos"][number]) =>
  defined({ id, content, status, priority });

/** The summary is a system item; beside its text stands what it replaces, so that the log alone rebuilds the rest. */
function onCompactionEnd(state: State, line: Says<"compaction.end">): Report[] {
  const content: ContentPart[] = [
    { type: "text", text: line.summary },
    { type: "json", json: { compaction: { from: line.kept.from } } },
  ];
  const item = itemHead("system", { key: line.id, message_id: line.id, content });
  return [
    { type: "open", item },
    // The agent has taken the summary, so the model call that wrote it ended well.
    stepUsage({ tokens: counted(line), finish: "stop", message_id: line.id }),
    { type: "close", key: line.id, status: "completed", content },
    ...goOn(state),
  ];
}

const subagentKey = (id: string): string => `subagent/${id}`;

function onSubagentStart(state: State, line: Says<"subagent.start">): Report[] {
  const subagent: Subagent = { id: line.id, parent_call_id: line.call_id, name: line.name };
  state.subagents.set(line.id, subagent);
  const named = { key: subagentKey(line.id), native_item_id: line.id, parent: line.call_id, subagent };
  return [{ type: "open", item: statusHead({ ...named, label: line.title }) }];
}

function onSubagentEnd(state: State, line: Says<"subagent.end">): Report[] {
  state.subagents.delete(line.id);
  return [{ type: "close", key: subagentKey(line.id), status: line.failed ? "failed" : "completed" }];
}

function onNotice(state: State, line: Says<"notice">): Report[] {
  const content: ContentPart[] = [{ type: "status", label: line.label, detail: line.detail }];
  return whole(itemHead("status", { key: line.id, subagent: subagentOf(state, line), content }));
}

function onEnd(state: State, line: Says<"end">): Report[] {
  state.latest.clear();
  state.calls.clear();
  state.waiting = false;
  const { error } = line;
  if (error === undefined) return [{ type: "end", reason: line.reason }];
  const info = { message: error.message, code: error.code, details: error.details ?? null };
  return [{ type: "end", reason: line.reason, error: info, says: true }];
}
