/** Universal → OpenCode. Busy and idle come from turns, and from nothing else. */
import { COPIED } from "../../core/copied-history.ts";
import { defined } from "../../core/defined.ts";
import { type Fold, unreachable } from "../../core/fold.ts";
import { REWOUND } from "../../core/machine-state.ts";
import { timeOf } from "../../core/time-text.ts";
import type { OpenCodeEvent } from "../../dialects/opencode.ts";
import type { EventOf, MessagePlace, Revert, UniversalEvent } from "../../protocol/events.ts";
import type { Item } from "../../protocol/items.ts";
import {
  beginChild,
  beginCopy,
  completeChild,
  conversationOf,
  emitBusy,
  emitError,
  emitSession,
  endCopy,
  endIfDone,
  endTurn,
} from "./conversations.ts";
import { modelOf, tokensOf } from "./describe.ts";
import { errorOf, messageOf } from "./errors.ts";
import { openCodeSessionId } from "./ids.ts";
import {
  closeSummary,
  closeText,
  emitCompaction,
  emitDelta,
  emitFileParts,
  emitUser,
  openMessage,
  openSummary,
  openText,
} from "./messages.ts";
import { askPermission, askQuestion, resolvePermission, resolveQuestion } from "./requests.ts";
import {
  type Conversation,
  defaultOptions,
  eventId,
  isQuiet,
  type OpenCodeOptions,
  type OpenMessage,
  ownId,
  type Rendering,
  rootOf,
  type State,
  start,
} from "./state.ts";
import { endStep } from "./steps.ts";
import { closeResult, emitFile, emitOutput, openCall, openResult, runCall } from "./tool-parts.ts";

export const openCodeFold = (options: Partial<OpenCodeOptions> = {}): Fold<UniversalEvent, OpenCodeEvent, State> => ({
  start: () => start({ ...defaultOptions, ...options }),
  step(state, event) {
    const rendering: Rendering = { state, event, ms: timeOf(event.time), out: [] };
    render(rendering, event);
    return rendering.out;
  },
});

function render(rendering: Rendering, event: UniversalEvent): void {
  const isCopied = event.cause.rule === COPIED;
  if (isCopied !== rendering.state.copying) (isCopied ? beginCopy : endCopy)(rendering, rootOf(rendering));
  switch (event.type) {
    case "session.started":
      return onSessionStarted(rendering, event);
    case "session.updated":
      return onSessionUpdated(rendering, event);
    case "session.ended":
      return onSessionEnded(rendering);
    case "turn.started":
      return onTurnStarted(rendering, event);
    case "turn.state":
      return onTurnState(rendering, event);
    case "turn.continued":
      rendering.state.turn.continued = event.data.decision === "continue";
      return;
    case "turn.ended":
      return endTurn(rendering, event);
    case "item.started":
      return onItemStarted(rendering, event.data.item);
    case "item.delta":
      return event.data.part === "tool_output" ? emitOutput(rendering, event) : emitDelta(rendering, event);
    case "item.completed":
      return onItemCompleted(rendering, event.data.item);
    case "permission.requested":
      return askPermission(rendering, event);
    case "permission.resolved":
      return resolvePermission(rendering, event);
    case "question.requested":
      return askQuestion(rendering, event);
    case "question.resolved":
      return resolveQuestion(rendering, event);
    case "todo.updated":
      return onTodos(rendering, event);
    case "usage.updated":
      return onUsage(rendering, event);
    case "error":
      return onError(rendering, event);
    case "agent.unparsed":
    case "budget.updated":
      // OpenCode has no word for it; the universal log keeps it.
      return;
    default:
      return unreachable(event);
  }
}

function onSessionStarted(rendering: Rendering, { data }: EventOf<"session.started">): void {
  const { state } = rendering;
  const root = rootOf(rendering);
  const { agent, model, directory, mode, variant, title, parent_id: parent } = data.metadata;
  state.agent = agent;
  state.model = model;
  // A session that we opened says what was asked for; one that is only overheard does not.
  if (rendering.event.source === "daemon" && rendering.event.cause.rule === undefined) state.chosen = model;
  state.directory = directory ?? "";
  if (typeof parent === "string") state.parent = openCodeSessionId(parent);
  if (typeof mode === "string") root.agent = mode;
  if (data.metadata.permission_mode === PLAN) root.agent = PLAN;
  if (typeof variant === "string") state.variant = variant;
  if (typeof title === "string" && title !== "") root.title = title;
  emitSession(rendering, { conversation: root, type: "session.created" });
}

function onSessionUpdated(rendering: Rendering, { data }: EventOf<"session.updated">): void {
  const { state } = rendering;
  const root = rootOf(rendering);
  const removed = rendering.event.cause.rule === REWOUND ? rewound(state, data.removed ?? []) : (data.removed ?? []);
  for (const place of removed) emitRemoved(rendering, place);
  const changed = data.revert !== undefined || data.share !== undefined;
  const shown = data.agent ?? data.title ?? data.model ?? data.mode ?? data.permission_mode ?? data.variant;
  if (data.agent !== undefined) state.agent = data.agent;
  if (data.title !== undefined) root.title = data.title;
  if (data.model !== undefined) {
    state.model = data.model;
    if (rendering.event.source === "daemon" && state.chosen !== undefined) state.chosen = data.model;
  }
  if (data.variant !== undefined) state.variant = data.variant;
  if (data.mode !== undefined) root.agent = data.mode;
  if (data.permission_mode === PLAN) root.agent = PLAN;
  else if (data.permission_mode !== undefined && root.agent === PLAN) root.agent = data.mode ?? null;
  if (data.revert !== undefined) state.revert = data.revert === null ? null : revertAs(state, data.revert);
  if (data.share !== undefined) state.share = data.share;
  if (changed || shown !== undefined) emitSession(rendering, { conversation: root, type: "session.updated" });
}

/** The mode in which an agent looks and changes nothing: OpenCode has it as an agent of its own. */
const PLAN = "plan";

function revertAs({ recent }: State, { message_id, native_item_id: partID, snapshot, diff }: Revert) {
  const messageID = recent.find(({ logged }) => logged === message_id)?.id ?? message_id;
  return defined({ messageID, partID, snapshot, diff });
}

/** The host takes back everything from a message of the user's on: these are the messages that are gone with it. */
function rewound({ recent }: State, places: readonly MessagePlace[]): MessagePlace[] {
  const names = new Set(places.map(({ message_id }) => message_id));
  const first = recent.findIndex(({ logged }) => logged !== null && names.has(logged));
  return first < 0 ? [] : recent.splice(first).map(({ id }) => ({ message_id: id }));
}

function emitRemoved(rendering: Rendering, { message_id: messageID, native_item_id: partID }: MessagePlace): void {
  const sessionID = rootOf(rendering).id;
  const id = eventId(rendering);
  if (partID === undefined) rendering.out.push({ id, type: "message.removed", properties: { sessionID, messageID } });
  else rendering.out.push({ id, type: "message.part.removed", properties: { sessionID, messageID, partID } });
}

/** An ended session takes no more prompts; OpenCode keeps such sessions in its archive. It is idle already. */
function onSessionEnded(rendering: Rendering): void {
  const root = rootOf(rendering);
  root.archived = rendering.ms;
  emitSession(rendering, { conversation: root, type: "session.updated" });
}

function onTurnStarted(rendering: Rendering, { data }: EventOf<"turn.started">): void {
  rendering.state.turn.prompted = data.origin === "user" || data.origin === "queue";
  rendering.state.turn.asked = false;
  emitBusy(rendering, rootOf(rendering));
}

function onTurnState(rendering: Rendering, { data }: EventOf<"turn.state">): void {
  const { state, out } = rendering;
  const root = rootOf(rendering);
  if (data.state === "retrying") {
    root.status = "retry";
    // The model step that failed is begun again.
    if (root.message !== null) root.message.inStep = false;
    const { attempt = 1, message = "", next = rendering.ms } = data;
    const status = { type: "retry", attempt, message, next: Math.max(0, Math.round(next)) } as const;
    out.push({ id: eventId(rendering), type: "session.status", properties: { sessionID: root.id, status } });
    return;
  }
  if (root.status === "retry") emitBusy(rendering, root);
  if (data.state === "compacting") {
    if (!state.turn.compacting) {
      state.turn.compactingSince = rendering.ms;
      // In the middle of an answer it stays a part of that.
      if (root.message === null) emitCompaction(rendering, { conversation: root, auto: state.turn.asked });
    }
    state.turn.compacting = true;
    state.turn.summaryDue = true;
  }
  if (data.state !== "running" || !state.turn.compacting) return;
  state.turn.compacting = false;
  if (state.openSummaries.size > 0) state.turn.compacted = true;
  else emitCompacted(rendering);
}

function emitCompacted(rendering: Rendering): void {
  rendering.state.turn.compacting = false;
  rendering.state.turn.compacted = false;
  const sessionID = rootOf(rendering).id;
  rendering.out.push({ id: eventId(rendering), type: "session.compacted", properties: { sessionID } });
}

function onItemStarted(rendering: Rendering, item: Item): void {
  switch (item.kind) {
    case "message": {
      if (item.role !== "assistant" || isStructured(item)) return;
      const conversation = conversationOf(rendering, item);
      return isQuiet(conversation) ? undefined : openText(rendering, { conversation, item });
    }
    case "tool_call": {
      const conversation = conversationOf(rendering, item);
      return isQuiet(conversation) ? undefined : openCall(rendering, { conversation, item });
    }
    case "tool_result":
      return openResult(rendering, item);
    case "status":
      if (item.subagent !== undefined) beginChild(rendering, { item, subagent: item.subagent });
      return;
    case "system":
      return onSystemStarted(rendering, item);
    case "unknown":
      return;
    default:
      return unreachable(item.kind);
  }
}

function onItemCompleted(rendering: Rendering, item: Item): void {
  complete(rendering, item);
  if (item.subagent === undefined || item.kind === "status") return;
  endIfDone(rendering, conversationOf(rendering, item));
}

function complete(rendering: Rendering, item: Item): void {
  switch (item.kind) {
    case "message":
      return onMessageCompleted(rendering, item);
    case "tool_call": {
      const conversation = conversationOf(rendering, item);
      return isQuiet(conversation) ? undefined : runCall(rendering, { conversation, item });
    }
    case "tool_result":
      return closeResult(rendering, { conversation: conversationOf(rendering, item), item });
    case "status":
      if (item.subagent !== undefined) completeChild(rendering, { item, subagent: item.subagent });
      return;
    case "system":
      return onSystemCompleted(rendering, item);
    case "unknown":
      return;
    default:
      return unreachable(item.kind);
  }
}

function onMessageCompleted(rendering: Rendering, item: Item): void {
  if (item.role === "user" && item.subagent === undefined) rendering.state.turn.asked = true;
  if (item.role === "user") return emitUser(rendering, { conversation: conversationOf(rendering, item), item });
  if (item.role !== "assistant") return;
  if (isStructured(item)) return noteStructured(rendering, item);
  const place = rendering.state.texts.get(item.item_id);
  closeText(rendering, item);
  if (place !== undefined) emitFileParts(rendering, { item, place });
  for (const part of item.content) if (part.type === "file_ref") emitFile(rendering, part);
}

/** An answer in the shape that was asked for: OpenCode has it on the message, not in a part of it. */
const isStructured = ({ content }: Item): boolean => content.length === 1 && content[0]?.type === "json";

function noteStructured(rendering: Rendering, item: Item): void {
  const [part] = item.content;
  const conversation = conversationOf(rendering, item);
  if (part?.type !== "json" || isQuiet(conversation)) return;
  const id = ownId(rendering.state, { prefix: "msg", id: item.message_id });
  const message = conversation.message ?? openMessage(rendering, { conversation, id, seed: item.item_id });
  message.structured = part.json;
}

/** What an agent writes for itself: first of all the summary of a compaction, else a note to the model. */
function onSystemStarted(rendering: Rendering, item: Item): void {
  const { turn } = rendering.state;
  const conversation = conversationOf(rendering, item);
  if (!turn.summaryDue || isQuiet(conversation)) return;
  turn.summaryDue = false;
  openSummary(rendering, { conversation, item });
}

function onSystemCompleted(rendering: Rendering, item: Item): void {
  const conversation = conversationOf(rendering, item);
  if (!rendering.state.openSummaries.has(item.item_id)) return emitUser(rendering, { conversation, item });
  closeSummary(rendering, { conversation, item });
  if (rendering.state.turn.compacting || rendering.state.turn.compacted) emitCompacted(rendering);
}

function onTodos(rendering: Rendering, { data }: EventOf<"todo.updated">): void {
  const todos = data.todos.map(({ content, status, priority }) => ({
    content,
    status,
    priority: priority ?? "medium",
  }));
  const sessionID = rootOf(rendering).id;
  rendering.out.push({ id: eventId(rendering), type: "todo.updated", properties: { sessionID, todos } });
}

function onUsage(rendering: Rendering, { data }: EventOf<"usage.updated">): void {
  const { state } = rendering;
  state.tokens = tokensOf(data.session.tokens);
  state.cost = data.session.cost_usd ?? 0;
  if (data.step === null) return;
  const { message_id: native } = data.step;
  const owner = native === undefined ? undefined : ownerOf(state, native);
  const conversation = owner ?? rootOf(rendering);
  const message = summaryOf(state, native) ?? conversation.message;
  if (message !== null) endStep(rendering, { conversation, message, step: data.step });
}

function ownerOf({ conversations }: State, native: string): Conversation | undefined {
  for (const conversation of conversations.values()) if (conversation.message?.native === native) return conversation;
  return undefined;
}

/** The step that wrote a compaction's summary is the summary's, not that of the message which is open beside it. */
function summaryOf({ openSummaries }: State, native: string | undefined): OpenMessage | null {
  for (const { message } of openSummaries.values())
    if (message.native !== null && message.native === native) return message;
  return null;
}

/** An error is sent when it happens; it never means idle. The fatal one may repeat what was sent as a warning. */
function onError(rendering: Rendering, { data }: EventOf<"error">): void {
  const { state } = rendering;
  const error = errorOf(data, { provider: modelOf(state).providerID });
  const message = messageOf(error);
  if (data.fatal && state.turn.errors.includes(message)) return;
  state.turn.errors.push(message);
  emitError(rendering, { session: rootOf(rendering).id, error });
}
