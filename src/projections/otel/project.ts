/**
 * Universal → OpenTelemetry, by the GenAI semantic conventions: a session is a `create_agent` span, a turn an
 * `invoke_agent` span and the root of a trace of its own, model steps and tools are its children. A turn links to its
 * session's span. Ids come from the log alone: who renders twice gets the same spans.
 */
import type { Fold } from "../../core/fold.ts";
import type { EventOf, UniversalEvent, UsageTotal } from "../../protocol/events.ts";
import type { Item } from "../../protocol/items.ts";
import { attributesOf, durationOf, measuresOf, type Subject, spanIds, tokensOf } from "./conventions.ts";
import type { Attributes, Span, Telemetry } from "./telemetry.ts";

export interface OtelOptions {
  /** What was known of the session before the first event that is rendered. */
  readonly agent: string | null;
  readonly model: string | null;
  /** Whether prompts, answers, arguments and results are in the spans. */
  readonly content: boolean;
}

interface OpenTool {
  readonly startedAt: number;
  readonly name: string;
  readonly attributes: Attributes;
}

interface OpenTurn {
  readonly id: string;
  readonly startedAt: number;
  /** When the running model step began, as far as that is known: after the turn's start, the last step or tool. */
  stepFrom: number;
  steps: number;
  /** Calls that run, by call id. */
  readonly tools: Map<string, OpenTool>;
  /** Calls by id, until they run. */
  readonly called: Map<string, { readonly name: string; readonly arguments: string }>;
  prompt: string | null;
  answer: string | null;
  waited: number;
}

interface State {
  agent: string | null;
  model: string | null;
  turn: OpenTurn | null;
}

const MAX_CONTENT = 16_000;
const clip = (text: string): string => (text.length <= MAX_CONTENT ? text : `${text.slice(0, MAX_CONTENT - 1)}…`);

const at = ({ time }: UniversalEvent): number => Date.parse(time);

export function projectOtel({ agent, model, content }: OtelOptions): Fold<UniversalEvent, Telemetry, State> {
  return {
    start: () => ({ agent, model, turn: null }),
    step(state, event) {
      switch (event.type) {
        case "session.started":
          return onSession(state, event);
        case "session.updated":
          state.agent = event.data.agent ?? state.agent;
          if (event.data.model !== undefined) state.model = event.data.model;
          return [];
        case "turn.started":
          state.turn = openTurn(event);
          return [];
        case "item.started":
        case "item.completed":
          return state.turn === null ? [] : onItem(state, state.turn, { event, content });
        case "usage.updated":
          return state.turn === null ? [] : onStep(state, state.turn, { event, content });
        case "permission.requested":
        case "question.requested":
          if (state.turn !== null) state.turn.waited += 1;
          return [];
        case "turn.ended":
          return state.turn === null ? [] : onEnd(state, state.turn, { event, content });
        default:
          return [];
      }
    },
  };
}

const subjectOf = ({ agent, model }: State, { session_id }: UniversalEvent): Subject => ({ agent, model, session_id });

function onSession(state: State, event: EventOf<"session.started">): Telemetry[] {
  const { agent, model } = event.data.metadata;
  state.agent = agent;
  state.model = model;
  const span: Span = {
    ...spanIds({ trace: event.session_id, span: event.session_id }),
    name: `create_agent ${agent}`,
    kind: "internal",
    startedAt: at(event),
    endedAt: at(event),
    attributes: attributesOf("create_agent", subjectOf(state, event)),
    error: null,
  };
  return [{ type: "span", span }];
}

const openTurn = (event: EventOf<"turn.started">): OpenTurn => ({
  id: event.data.turn_id,
  startedAt: at(event),
  stepFrom: at(event),
  steps: 0,
  tools: new Map(),
  called: new Map(),
  prompt: null,
  answer: null,
  waited: 0,
});

interface Seen<Event> {
  readonly event: Event;
  readonly content: boolean;
}

function onItem(
  state: State,
  turn: OpenTurn,
  { event, content }: Seen<EventOf<"item.started"> | EventOf<"item.completed">>,
): Telemetry[] {
  const { item } = event.data;
  const isOver = event.type === "item.completed";
  if (item.kind === "message" && isOver) readWords(turn, item);
  const out: Telemetry[] = [];
  for (const part of item.content) {
    if (part.type === "tool_call") {
      turn.called.set(part.call_id, { name: part.name, arguments: part.arguments });
      if (isOver) startTool(turn, part.call_id, { startedAt: at(event), subject: subjectOf(state, event), content });
    } else if (part.type === "tool_result" && isOver) {
      const failed = part.is_error || item.status === "failed";
      const output = content ? { "gen_ai.tool.call.result": clip(part.output) } : {};
      out.push(...endTool(turn, part.call_id, { endedAt: at(event), failed, output }));
    }
  }
  return out;
}

function readWords(turn: OpenTurn, { role, subagent, content }: Item): void {
  const text = content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("");
  if (subagent !== undefined || text === "") return;
  if (role === "user") turn.prompt = text;
  else if (role === "assistant") turn.answer = text;
}

interface ToolStart {
  readonly startedAt: number;
  readonly subject: Subject;
  readonly content: boolean;
}

function startTool(turn: OpenTurn, callId: string, { startedAt, subject, content }: ToolStart): void {
  const call = turn.called.get(callId);
  if (call === undefined || turn.tools.has(callId)) return;
  turn.called.delete(callId);
  const attributes = {
    ...attributesOf("execute_tool", subject),
    "gen_ai.tool.name": call.name,
    "gen_ai.tool.call.id": callId,
    "gen_ai.tool.type": "function",
    ...(content ? { "gen_ai.tool.call.arguments": clip(call.arguments) } : {}),
  };
  turn.tools.set(callId, { startedAt, name: call.name, attributes });
}

interface ToolEnd {
  readonly endedAt: number;
  readonly failed: boolean;
  readonly output: Attributes;
}

function endTool(turn: OpenTurn, callId: string, { endedAt, failed, output }: ToolEnd): Telemetry[] {
  const tool = turn.tools.get(callId);
  if (tool === undefined) return [];
  turn.tools.delete(callId);
  turn.stepFrom = Math.max(turn.stepFrom, endedAt);
  const error = failed ? { type: "tool_error", message: "The tool reported an error." } : null;
  const span: Span = {
    ...spanIds({ trace: turn.id, span: `${turn.id}:${callId}`, parent: turn.id }),
    name: `execute_tool ${tool.name}`,
    kind: "internal",
    startedAt: tool.startedAt,
    endedAt,
    attributes: { ...tool.attributes, ...output },
    error,
  };
  return [{ type: "span", span }, durationOf(span)];
}

/** One model call, reported at its end. What is only a total of the turn is no step. */
function onStep(state: State, turn: OpenTurn, { event }: Seen<EventOf<"usage.updated">>): Telemetry[] {
  const { step } = event.data;
  if (step === null) return [];
  const endedAt = at(event);
  const startedAt = Math.min(turn.stepFrom, endedAt);
  turn.stepFrom = endedAt;
  turn.steps += 1;
  const subject = subjectOf(state, event);
  const usage = tokensOf(step.tokens);
  const cost = step.cost_usd === null ? {} : { "franca.cost_usd": step.cost_usd };
  const finish = step.finish === null ? {} : { "gen_ai.response.finish_reasons": [step.finish] };
  const span: Span = {
    ...spanIds({ trace: turn.id, span: `${turn.id}:step:${step.index}:${turn.steps}`, parent: turn.id }),
    name: state.model === null ? "chat" : `chat ${state.model}`,
    kind: "client",
    startedAt,
    endedAt,
    attributes: { ...attributesOf("chat", subject), ...usage, ...finish, ...cost },
    error: step.finish === "error" ? { type: "model_error", message: "The model call failed." } : null,
  };
  return [{ type: "span", span }, durationOf(span), ...measuresOf({ subject, tokens: step.tokens, at: endedAt })];
}

const FAILED: ReadonlySet<string> = new Set(["error", "interrupted"]);

function onEnd(state: State, turn: OpenTurn, { event, content }: Seen<EventOf<"turn.ended">>): Telemetry[] {
  const { reason, evidence, usage, error } = event.data;
  const endedAt = at(event);
  state.turn = null;
  const left = [...turn.tools.keys()].flatMap((id) => endTool(turn, id, { endedAt, failed: true, output: {} }));
  const subject = subjectOf(state, event);
  const said = content ? messagesOf(turn) : {};
  const span: Span = {
    ...spanIds({ trace: turn.id, span: turn.id }),
    links: [spanIds({ trace: event.session_id, span: event.session_id })],
    name: `invoke_agent ${state.agent ?? "agent"}`,
    kind: "internal",
    startedAt: turn.startedAt,
    endedAt,
    attributes: {
      ...attributesOf("invoke_agent", subject),
      ...tokensOf(usage.tokens),
      "gen_ai.response.finish_reasons": [reason],
      "franca.turn.id": turn.id,
      "franca.turn.reason": reason,
      "franca.turn.evidence": evidence,
      "franca.turn.requests": turn.waited,
      ...costOf(usage),
      ...said,
    },
    error: FAILED.has(reason)
      ? { type: error?.code ?? reason, message: content ? (error?.message ?? reason) : reason }
      : null,
  };
  const labels = { "gen_ai.agent.name": subject.agent ?? "unknown", "franca.turn.reason": reason };
  return [
    ...left,
    { type: "span", span },
    durationOf(span),
    { type: "count", name: "franca.turns", unit: "{turn}", value: 1, attributes: labels, at: endedAt },
    ...(usage.cost_usd === null
      ? []
      : [
          {
            type: "count" as const,
            name: "franca.cost",
            unit: "{USD}",
            value: usage.cost_usd,
            attributes: labels,
            at: endedAt,
          },
        ]),
  ];
}

const costOf = ({ cost_usd }: UsageTotal): Attributes => (cost_usd === null ? {} : { "franca.cost_usd": cost_usd });

function messagesOf({ prompt, answer }: OpenTurn): Attributes {
  const message = (role: string, text: string) =>
    JSON.stringify([{ role, parts: [{ type: "text", content: clip(text) }] }]);
  return {
    ...(prompt === null ? {} : { "gen_ai.input.messages": message("user", prompt) }),
    ...(answer === null ? {} : { "gen_ai.output.messages": message("assistant", answer) }),
  };
}
