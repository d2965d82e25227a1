/** Universal → OpenCode. Busy and idle come from turns, and from nothing else. */
import { type Fold, unreachable } from "../../core/fold.ts";
import type { OpenCodeEvent } from "../../dialects/opencode.ts";
import type { EventOf, MessagePlace, Revert, UniversalEvent } from "../../protocol/events.ts";
import type { Item } from "../../protocol/items.ts";
import {
  beginChild,
  completeChild,
  conversationOf,
  endIfDone,
  endTurn,
  tellBusy,
  tellError,
  tellSession,
} from "./conversations.ts";
import { modelOf, tokensOf } from "./describe.ts";
import { errorOf, messageOf } from "./errors.ts";
import {
  closeSummary,
  closeText,
  openMessage,
  openSummary,
  openText,
  tellDelta,
  tellFileParts,
  tellUser,
} from "./messages.ts";
import { askPermission, askQuestion, resolvePermission, resolveQuestion } from "./requests.ts";
import {
  defaultOptions,
  eventId,
  isQuiet,
  type OpenCodeOptions,
  type OpenMessage,
  ownId,
  rootOf,
  type State,
  start,
  type Telling,
} from "./state.ts";
import { endStep } from "./steps.ts";
import { closeResult, openCall, openResult, runCall, tellFile, tellOutput } from "./tool-parts.ts";

export const openCodeFold = (options: Partial<OpenCodeOptions> = {}): Fold<UniversalEvent, OpenCodeEvent, State> => ({
  start: () => start({ ...defaultOptions, ...options }),
  step(state, event) {
    const telling: Telling = { state, event, ms: Date.parse(event.time), out: [] };
    retell(telling, event);
    return telling.out;
  },
});

function retell(telling: Telling, event: UniversalEvent): void {
  switch (event.type) {
    case "session.started":
      return onSessionStarted(telling, event);
    case "session.updated":
      return onSessionUpdated(telling, event);
    case "session.ended":
      return onSessionEnded(telling);
    case "turn.started":
      return onTurnStarted(telling, event);
    case "turn.state":
      return onTurnState(telling, event);
    case "turn.continued":
      telling.state.turn.continued = event.data.decision === "continue";
      return;
    case "turn.ended":
      return endTurn(telling, event);
    case "item.started":
      return onItemStarted(telling, event.data.item);
    case "item.delta":
      return event.data.part === "tool_output" ? tellOutput(telling, event) : tellDelta(telling, event);
    case "item.completed":
      return onItemCompleted(telling, event.data.item);
    case "permission.requested":
      return askPermission(telling, event);
    case "permission.resolved":
      return resolvePermission(telling, event);
    case "question.requested":
      return askQuestion(telling, event);
    case "question.resolved":
      return resolveQuestion(telling, event);
    case "todo.updated":
      return onTodos(telling, event);
    case "usage.updated":
      return onUsage(telling, event);
    case "error":
      return onError(telling, event);
    case "agent.unparsed":
      // OpenCode has no word for it; the universal log keeps it.
      return;
    default:
      return unreachable(event);
  }
}

function onSessionStarted(telling: Telling, { data }: EventOf<"session.started">): void {
  const { state } = telling;
  const root = rootOf(telling);
  const { agent, model, directory, mode, variant, title } = data.metadata;
  state.agent = agent;
  state.model = model;
  // A session that we opened says what was asked for; one that is only overheard does not.
  if (telling.event.source === "daemon" && telling.event.cause.rule === undefined) state.chosen = model;
  state.directory = directory ?? "";
  if (typeof mode === "string") root.agent = mode;
  if (data.metadata.permission_mode === PLAN) root.agent = PLAN;
  if (typeof variant === "string") state.variant = variant;
  if (typeof title === "string" && title !== "") root.title = title;
  tellSession(telling, { conversation: root, type: "session.created" });
}

function onSessionUpdated(telling: Telling, { data }: EventOf<"session.updated">): void {
  const { state } = telling;
  const root = rootOf(telling);
  for (const place of data.removed ?? []) tellRemoved(telling, place);
  const changed = data.revert !== undefined || data.share !== undefined;
  const shown = data.agent ?? data.title ?? data.model ?? data.mode ?? data.permission_mode ?? data.variant;
  if (data.agent !== undefined) state.agent = data.agent;
  if (data.title !== undefined) root.title = data.title;
  if (data.model !== undefined) {
    state.model = data.model;
    if (telling.event.source === "daemon" && state.chosen !== undefined) state.chosen = data.model;
  }
  if (data.variant !== undefined) state.variant = data.variant;
  if (data.mode !== undefined) root.agent = data.mode;
  if (data.permission_mode === PLAN) root.agent = PLAN;
  else if (data.permission_mode !== undefined && root.agent === PLAN) root.agent = data.mode ?? null;
  if (data.revert !== undefined) state.revert = data.revert === null ? null : revertAs(data.revert);
  if (data.share !== undefined) state.share = data.share;
  if (changed || shown !== undefined) tellSession(telling, { conversation: root, type: "session.updated" });
}

/** The mode in which an agent looks and changes nothing: OpenCode has it as an agent of its own. */
const PLAN = "plan";

function revertAs({ message_id: messageID, native_item_id: partID, snapshot, diff }: Revert) {
  return {
    messageID,
    ...(partID === undefined ? {} : { partID }),
    ...(snapshot === undefined ? {} : { snapshot }),
    ...(diff === undefined ? {} : { diff }),
  };
}

function tellRemoved(telling: Telling, { message_id: messageID, native_item_id: partID }: MessagePlace): void {
  const sessionID = rootOf(telling).id;
  const id = eventId(telling);
  if (partID === undefined) telling.out.push({ id, type: "message.removed", properties: { sessionID, messageID } });
  else telling.out.push({ id, type: "message.part.removed", properties: { sessionID, messageID, partID } });
}

/** An ended session takes no more prompts; OpenCode keeps such sessions in its archive. It is idle already. */
function onSessionEnded(telling: Telling): void {
  const root = rootOf(telling);
  root.archived = telling.ms;
  tellSession(telling, { conversation: root, type: "session.updated" });
}

function onTurnStarted(telling: Telling, { data }: EventOf<"turn.started">): void {
  telling.state.turn.prompted = data.origin === "user" || data.origin === "queue";
  tellBusy(telling, rootOf(telling));
}

function onTurnState(telling: Telling, { data }: EventOf<"turn.state">): void {
  const { state, out } = telling;
  const root = rootOf(telling);
  if (data.state === "retrying") {
    root.status = "retry";
    // The model step that failed is begun again.
    if (root.message !== null) root.message.inStep = false;
    const { attempt = 1, message = "", next = telling.ms } = data;
    const status = { type: "retry", attempt, message, next: Math.max(0, Math.round(next)) } as const;
    out.push({ id: eventId(telling), type: "session.status", properties: { sessionID: root.id, status } });
    return;
  }
  if (root.status === "retry") tellBusy(telling, root);
  if (data.state === "compacting") {
    state.turn.compacting = true;
    state.turn.summaryDue = true;
  }
  if (data.state !== "running" || !state.turn.compacting) return;
  state.turn.compacting = false;
  if (state.openSummaries.size > 0) state.turn.compacted = true;
  else tellCompacted(telling);
}

function tellCompacted(telling: Telling): void {
  telling.state.turn.compacting = false;
  telling.state.turn.compacted = false;
  const sessionID = rootOf(telling).id;
  telling.out.push({ id: eventId(telling), type: "session.compacted", properties: { sessionID } });
}

function onItemStarted(telling: Telling, item: Item): void {
  switch (item.kind) {
    case "message": {
      if (item.role !== "assistant" || isStructured(item)) return;
      const conversation = conversationOf(telling, item);
      return isQuiet(conversation) ? undefined : openText(telling, { conversation, item });
    }
    case "tool_call": {
      const conversation = conversationOf(telling, item);
      return isQuiet(conversation) ? undefined : openCall(telling, { conversation, item });
    }
    case "tool_result":
      return openResult(telling, item);
    case "status":
      if (item.subagent !== undefined) beginChild(telling, { item, subagent: item.subagent });
      return;
    case "system":
      return onSystemStarted(telling, item);
    case "unknown":
      return;
    default:
      return unreachable(item.kind);
  }
}

function onItemCompleted(telling: Telling, item: Item): void {
  complete(telling, item);
  if (item.subagent === undefined || item.kind === "status") return;
  endIfDone(telling, conversationOf(telling, item));
}

function complete(telling: Telling, item: Item): void {
  switch (item.kind) {
    case "message":
      return onMessageCompleted(telling, item);
    case "tool_call": {
      const conversation = conversationOf(telling, item);
      return isQuiet(conversation) ? undefined : runCall(telling, { conversation, item });
    }
    case "tool_result":
      return closeResult(telling, { conversation: conversationOf(telling, item), item });
    case "status":
      if (item.subagent !== undefined) completeChild(telling, { item, subagent: item.subagent });
      return;
    case "system":
      return onSystemCompleted(telling, item);
    case "unknown":
      return;
    default:
      return unreachable(item.kind);
  }
}

function onMessageCompleted(telling: Telling, item: Item): void {
  if (item.role === "user") return tellUser(telling, { conversation: conversationOf(telling, item), item });
  if (item.role !== "assistant") return;
  if (isStructured(item)) return noteStructured(telling, item);
  const place = telling.state.texts.get(item.item_id);
  closeText(telling, item);
  if (place !== undefined) tellFileParts(telling, { item, place });
  for (const part of item.content) if (part.type === "file_ref") tellFile(telling, part);
}

/** An answer in the shape that was asked for: OpenCode has it on the message, not in a part of it. */
const isStructured = ({ content }: Item): boolean => content.length === 1 && content[0]?.type === "json";

function noteStructured(telling: Telling, item: Item): void {
  const [part] = item.content;
  const conversation = conversationOf(telling, item);
  if (part?.type !== "json" || isQuiet(conversation)) return;
  const id = ownId(telling.state, { prefix: "msg", id: item.message_id });
  const message = conversation.message ?? openMessage(telling, { conversation, id, seed: item.item_id });
  message.structured = part.json;
}

/** What an agent writes for itself: first of all the summary of a compaction, else a note to the model. */
function onSystemStarted(telling: Telling, item: Item): void {
  const { turn } = telling.state;
  const conversation = conversationOf(telling, item);
  if (!turn.summaryDue || isQuiet(conversation)) return;
  turn.summaryDue = false;
  openSummary(telling, { conversation, item });
}

function onSystemCompleted(telling: Telling, item: Item): void {
  const conversation = conversationOf(telling, item);
  if (!telling.state.openSummaries.has(item.item_id)) return tellUser(telling, { conversation, item });
  closeSummary(telling, { conversation, item });
  if (telling.state.turn.compacting || telling.state.turn.compacted) tellCompacted(telling);
}

function onTodos(telling: Telling, { data }: EventOf<"todo.updated">): void {
  const todos = data.todos.map(({ content, status, priority }) => ({
    content,
    status,
    priority: priority ?? "medium",
  }));
  const sessionID = rootOf(telling).id;
  telling.out.push({ id: eventId(telling), type: "todo.updated", properties: { sessionID, todos } });
}

function onUsage(telling: Telling, { data }: EventOf<"usage.updated">): void {
  const { state } = telling;
  state.tokens = tokensOf(data.session.tokens);
  state.cost = data.session.cost_usd ?? 0;
  if (data.step === null) return;
  const { message_id: native } = data.step;
  const owner =
    native === undefined
      ? undefined
      : [...state.conversations.values()].find((conversation) => conversation.message?.native === native);
  const conversation = owner ?? rootOf(telling);
  const message = summaryOf(state, native) ?? conversation.message;
  if (message !== null) endStep(telling, { conversation, message, step: data.step });
}

/** The step that wrote a compaction's summary is the summary's, not that of the message which is open beside it. */
function summaryOf({ openSummaries }: State, native: string | undefined): OpenMessage | null {
  for (const { message } of openSummaries.values())
    if (message.native !== null && message.native === native) return message;
  return null;
}

/** An error is sent when it happens; it never means idle. The fatal one may repeat what was sent as a warning. */
function onError(telling: Telling, { data }: EventOf<"error">): void {
  const { state } = telling;
  const error = errorOf(data, { provider: modelOf(state).providerID });
  const message = messageOf(error);
  if (data.fatal && state.turn.errors.includes(message)) return;
  state.turn.errors.push(message);
  tellError(telling, { session: rootOf(telling).id, error });
}
