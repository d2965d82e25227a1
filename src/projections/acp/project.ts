/** Universal → ACP: what Franca writes as an agent. A prompt is answered at the end of its turn, after all of it. */

import { AUTH_REQUIRED, INTERNAL_ERROR, stopReasons } from "../../core/acp.ts";
import { budgetWords } from "../../core/budget-words.ts";
import { type Fold, unreachable } from "../../core/fold.ts";
import type { EventOf, SlashCommand, Todo, TurnEnd, UniversalEvent, UsageTotal } from "../../protocol/events.ts";
import type { Item } from "../../protocol/items.ts";
import { type AcpOutput, chunk, type Response, type Update, updateLine } from "./lines.ts";
import { permissionRequest, questionRequest } from "./requests.ts";
import { type AcpOptions, type State, start } from "./state.ts";
import { closeUnrun, onCallCompleted, onCallStarted, onOutput, onResult } from "./tools.ts";

interface Projected extends State {
  /** The call of each open result item, and the messages of subagents. */
  readonly results: Map<string, string>;
  readonly messages: Map<string, string>;
}

export const acpFold = (options: AcpOptions = {}): Fold<UniversalEvent, AcpOutput, Projected> => ({
  start: () => ({ ...start(options), results: new Map(), messages: new Map() }),
  step(state, event) {
    const session = event.session_id;
    switch (event.type) {
      case "permission.requested":
        return [permissionRequest(state, { session, data: event.data })];
      case "question.requested": {
        const request = questionRequest(state, { session, data: event.data });
        return request === null ? [] : [request];
      }
      case "turn.ended":
        return onTurnEnded(state, event);
      default:
        return updatesOf(state, event).map((update) => updateLine(session, update));
    }
  },
});

type Updating = Exclude<UniversalEvent, { type: "permission.requested" | "question.requested" | "turn.ended" }>;

function updatesOf(state: Projected, event: Updating): Update[] {
  switch (event.type) {
    case "turn.started":
      return onTurnStarted(state, event);
    case "item.started":
      return onItemStarted(state, event.data.item);
    case "item.delta":
      return onDelta(state, event);
    case "item.completed":
      return onItemCompleted(state, event.data.item);
    case "session.updated":
      return onSessionUpdated(event);
    case "todo.updated":
      return [{ sessionUpdate: "plan", entries: event.data.todos.flatMap(planEntry) }];
    case "turn.state":
      return onTurnState(state, event);
    case "error":
      return event.data.fatal ? [] : notice(state, { severity: "warning", title: event.data.message });
    case "budget.updated":
      return notice(state, { severity: "warning", title: budgetWords(event.data) });
    case "session.started":
      return commandsUpdate(event.data.metadata.commands);
    case "session.ended":
    case "turn.continued":
    case "permission.resolved":
    case "question.resolved":
    case "usage.updated":
    case "agent.unparsed":
      // Answers are the client's own; usage comes with the end; the size of the context window is not known.
      return [];
    default:
      return unreachable(event);
  }
}

function onTurnStarted(state: State, { data }: EventOf<"turn.started">): Update[] {
  const { turn_id, origin, prompt_id = null } = data;
  state.turn = { id: turn_id, origin, promptId: prompt_id };
  return isAsked(origin) ? [] : [unaskedTurn(turn_id, "running")];
}

const isAsked = (origin: string): boolean => origin === "user" || origin === "queue";

/** A turn that no prompt began has no answer: clients that know us see where it begins and ends. */
const unaskedTurn = (id: string, state: "running" | "idle"): Update => ({
  sessionUpdate: "session_info_update",
  _meta: { franca: { turn: { id, state } } },
});

function onItemStarted(state: Projected, item: Item): Update[] {
  if (item.kind === "tool_call") return onCallStarted(state, item);
  if (item.kind === "tool_result") {
    const part = item.content.find((one) => one.type === "tool_result");
    if (part !== undefined) state.results.set(item.item_id, part.call_id);
  }
  // The words of a subagent are not the agent's own: they are shown as thoughts.
  if (item.kind === "message" && item.subagent !== undefined) state.messages.set(item.item_id, item.subagent.id);
  return [];
}

function onDelta(state: Projected, event: EventOf<"item.delta">): Update[] {
  const { item_id, delta, part } = event.data;
  if (part === "tool_output") return onOutput(state, event, state.results.get(item_id));
  const subagent = state.messages.get(item_id);
  const kind = part === "reasoning" || subagent !== undefined ? "agent_thought_chunk" : "agent_message_chunk";
  return [chunk(kind, { text: delta, messageId: item_id, meta: subagent === undefined ? undefined : { subagent } })];
}

function onItemCompleted(state: Projected, item: Item): Update[] {
  state.messages.delete(item.item_id);
  switch (item.kind) {
    case "tool_call":
      return onCallCompleted(state, item);
    case "tool_result":
      state.results.delete(item.item_id);
      return onResult(state, item);
    case "message":
      return item.role === "user" ? onUserMessage(state, item) : imagesOf(item);
    case "status":
      return item.subagent === undefined ? item.content.flatMap((part) => statusNotice(state, part)) : [];
    case "system":
    case "unknown":
      return [];
    default:
      return unreachable(item.kind);
  }
}

const statusNotice = (state: State, part: Item["content"][number]): Update[] =>
  part.type === "status" ? notice(state, { severity: "info", title: part.label, description: part.detail }) : [];

function onUserMessage(state: State, item: Item): Update[] {
  if (!state.echo(state.turn?.promptId ?? null)) return [];
  return item.content.flatMap((part) =>
    part.type === "text" ? [chunk("user_message_chunk", { text: part.text, messageId: item.item_id })] : [],
  );
}

const imagesOf = (item: Item): Update[] =>
  item.content.flatMap((part) =>
    part.type === "image" && part.data !== undefined
      ? [
          {
            sessionUpdate: "agent_message_chunk",
            content: { type: "image", data: part.data, mimeType: part.mime },
            messageId: item.item_id,
          },
        ]
      : [],
  );

function onSessionUpdated({ data }: EventOf<"session.updated">): Update[] {
  const { title, permission_mode: mode, commands } = data;
  return [
    ...commandsUpdate(commands),
    ...(title === undefined ? [] : [{ sessionUpdate: "session_info_update", title }]),
    // What an editor calls a mode is what needs asking; the agent's own modes are configuration.
    ...(mode === undefined ? [] : [{ sessionUpdate: "current_mode_update", currentModeId: mode }]),
  ];
}

/** Clients show them as completions; the prompt carries the chosen one as words. */
export const commandsUpdate = (commands: readonly SlashCommand[] | undefined): Update[] => {
  if (commands === undefined) return [];
  const availableCommands = commands.map(({ name, description, hint }) => ({
    name,
    description: description ?? "",
    ...(hint === undefined ? {} : { input: { hint } }),
  }));
  return [{ sessionUpdate: "available_commands_update", availableCommands }];
};

function planEntry({ content, status, priority }: Todo): unknown[] {
  if (status === "cancelled") return [];
  const known = priority === "high" || priority === "low" ? priority : "medium";
  return [{ content, status, priority: known }];
}

function onTurnState(state: State, { data }: EventOf<"turn.state">): Update[] {
  if (data.state === "retrying") {
    return notice(state, { severity: "warning", title: "Retrying", description: data.message });
  }
  if (data.state !== "compacting" || !state.client.compaction) return [];
  return [{ sessionUpdate: "compaction_update", compactionId: data.turn_id, status: "in_progress" }];
}

interface Notice {
  readonly severity: "info" | "warning";
  readonly title: string;
  readonly description?: string | undefined;
}

const notice = ({ client }: State, { severity, title, description }: Notice): Update[] =>
  client.notices
    ? [{ sessionUpdate: "notice", severity, title, ...(description === undefined ? {} : { description }) }]
    : [];

function onTurnEnded(state: Projected, { session_id, data }: EventOf<"turn.ended">): AcpOutput[] {
  const { turn } = state;
  state.turn = null;
  const unrun = closeUnrun(state, new Set(state.results.values())).map((update) => updateLine(session_id, update));
  if (turn === null || !isAsked(turn.origin)) {
    return [...unrun, updateLine(session_id, unaskedTurn(data.turn_id, "idle"))];
  }
  return [...unrun, responseOf(data)];
}

function responseOf(data: TurnEnd): Response {
  const { turn_id: id, reason, error, usage } = data;
  const stopReason = stopReasons[reason];
  const meta = { franca: { reason, cost_usd: usage.cost_usd } };
  if (stopReason !== null) return { jsonrpc: "2.0", id, result: { stopReason, usage: usageOf(usage), _meta: meta } };
  const code = error?.code === "auth_required" ? AUTH_REQUIRED : INTERNAL_ERROR;
  const message = error?.message ?? `The turn ended: ${reason}.`;
  return { jsonrpc: "2.0", id, error: { code, message, data: { reason, code: error?.code ?? null } } };
}

function usageOf({ tokens }: UsageTotal): Readonly<Record<string, number>> {
  const { input, output, reasoning, cache_read, cache_write } = tokens;
  return {
    inputTokens: input,
    outputTokens: output + reasoning,
    totalTokens: input + output + reasoning + cache_read + cache_write,
    cachedReadTokens: cache_read,
    cachedWriteTokens: cache_write,
    thoughtTokens: reasoning,
  };
}
