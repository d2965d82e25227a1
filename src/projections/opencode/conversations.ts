/** Sessions as OpenCode sees them: busy and idle once per turn, and a child session for every subagent. */
import type { OpenCodeError } from "../../dialects/opencode.ts";
import type { EventOf, TurnEnd } from "../../protocol/events.ts";
import type { Item, Subagent } from "../../protocol/items.ts";
import { describeSession, modelOf, tokensOf } from "./describe.ts";
import { endError, endFinish, messageOf } from "./errors.ts";
import { openCodeSessionId, slugOf } from "./ids.ts";
import { closeMessage, openMessage } from "./messages.ts";
import { type Conversation, eventId, isQuiet, type Rendering, ROOT, rootOf } from "./state.ts";
import { emitRunning, settleTools } from "./tool-parts.ts";
import { firstText } from "./tools.ts";

export function emitSession(
  rendering: Rendering,
  { conversation, type }: { conversation: Conversation; type: "session.created" | "session.updated" },
): void {
  conversation.updated = rendering.ms;
  const info = describeSession(rendering.state, conversation);
  rendering.out.push({ id: eventId(rendering), type, properties: { sessionID: conversation.id, info } });
}

export function emitBusy(rendering: Rendering, conversation: Conversation): void {
  if (conversation.status === "busy") return;
  conversation.status = "busy";
  rendering.out.push({
    id: eventId(rendering),
    type: "session.status",
    properties: { sessionID: conversation.id, status: { type: "busy" } },
  });
}

/** The pair that ends a turn. */
export function emitIdle(rendering: Rendering, conversation: Conversation): void {
  conversation.status = "idle";
  const sessionID = conversation.id;
  rendering.out.push({
    id: eventId(rendering),
    type: "session.status",
    properties: { sessionID, status: { type: "idle" } },
  });
  rendering.out.push({ id: eventId(rendering), type: "session.idle", properties: { sessionID } });
}

export function emitError(rendering: Rendering, { session, error }: { session: string; error: OpenCodeError }): void {
  rendering.out.push({ id: eventId(rendering), type: "session.error", properties: { sessionID: session, error } });
}

export function endTurn(rendering: Rendering, { data }: EventOf<"turn.ended">): void {
  const { state, ms } = rendering;
  const root = rootOf(rendering);
  for (const child of state.conversations.values()) {
    const stray = child.key !== ROOT && !isQuiet(child) && child.statusItems.size === 0;
    if (stray) endChild(rendering, child);
  }
  settleTools(rendering, ROOT);
  const { providerID } = modelOf(state);
  const error = endError(data, { provider: providerID });
  if (error !== null && !state.turn.errors.includes(messageOf(error))) {
    emitError(rendering, { session: root.id, error });
  }
  finishRoot(rendering, { root, data, error, ms });
  state.turn.errors = [];
  state.turn.compacting = false;
  state.turn.compacted = false;
  state.turn.summaryDue = false;
  state.turn.usedBefore = state.turn.used;
  state.turn.used = new Set();
  state.turn.continued = false;
  emitIdle(rendering, root);
}

/** What a fork takes over is rendered without a busy and an idle: nobody is at work. */
export function beginCopy({ state }: Rendering, root: Conversation): void {
  state.copying = true;
  root.status = "busy";
}

export function endCopy(rendering: Rendering, root: Conversation): void {
  settleTools(rendering, ROOT);
  closeMessage(rendering, { conversation: root, end: { completed: rendering.ms, finish: "stop", error: null } });
  rendering.state.copying = false;
  root.status = "idle";
}

function finishRoot(
  rendering: Rendering,
  { root, data, error, ms }: { root: Conversation; data: TurnEnd; error: OpenCodeError | null; ms: number },
): void {
  const { state } = rendering;
  // Every prompt has an answer in OpenCode's books, also when the agent said nothing.
  const unanswered = root.message === null && (error !== null || state.turn.prompted);
  if (unanswered) openMessage(rendering, { conversation: root, id: null, seed: data.turn_id });
  const { message } = root;
  state.turn.prompted = false;
  if (data.usage.tokens.input + data.usage.tokens.output > 0 || data.usage.cost_usd !== null) {
    emitSession(rendering, { conversation: root, type: "session.updated" });
  }
  if (message === null) return;
  const used = tokensOf(data.usage.tokens);
  if (message.tokens === null && used.total !== 0) message.tokens = used;
  // Priced steps add up already; for an agent that prices only whole turns, the price is set here.
  if (message.cost === 0) message.cost = data.usage.cost_usd ?? 0;
  const finish = endFinish(data, { last: message.finish });
  closeMessage(rendering, { conversation: root, end: { completed: ms, finish, error } });
}

/** The conversation an item belongs to: the session's own, or its subagent's. */
export function conversationOf(rendering: Rendering, item: Item): Conversation {
  const root = rootOf(rendering);
  if (item.subagent === undefined) return root;
  const child = childOf(rendering, item.subagent);
  // A subagent that was not announced works within the turn; what it says later belongs to no turn.
  if (item.role !== "user" && !isQuiet(root)) emitBusy(rendering, child);
  return child;
}

function childOf(rendering: Rendering, subagent: Subagent): Conversation {
  const { state, ms } = rendering;
  const known = state.conversations.get(subagent.id);
  if (known !== undefined) return known;
  const call = subagent.parent_call_id === null ? undefined : state.tools.get(subagent.parent_call_id);
  const parent =
    call === undefined ? rootOf(rendering) : (state.conversations.get(call.conversation) ?? rootOf(rendering));
  const name = subagent.name ?? (call === undefined ? "" : firstText(call.input, ["subagent_type"]));
  const what = call === undefined ? "" : firstText(call.input, ["description"]);
  const agent = name === "" ? "general" : name;
  const id = subagent.id.startsWith("ses_") ? subagent.id : openCodeSessionId(`${state.session}/${subagent.id}`);
  const child: Conversation = {
    key: subagent.id,
    id,
    slug: slugOf(id),
    parentID: parent.id,
    created: ms,
    updated: ms,
    archived: null,
    title: `${what === "" ? agent : what} (@${agent} subagent)`,
    agent,
    status: "idle",
    user: null,
    message: null,
    statusItems: new Set(),
    ending: false,
    prompt: call === undefined ? "" : firstText(call.input, ["prompt"]),
  };
  state.conversations.set(subagent.id, child);
  emitSession(rendering, { conversation: child, type: "session.created" });
  // OpenCode's TUI learns of sessions by their updates alone: without one, a child's requests are never shown.
  emitSession(rendering, { conversation: child, type: "session.updated" });
  if (call !== undefined && call.child === null) {
    call.child = child.id;
    if (call.status === "running") emitRunning(rendering, call);
  }
  return child;
}

/** A subagent begins: its status item is what keeps the child session busy. */
export function beginChild(rendering: Rendering, { item, subagent }: { item: Item; subagent: Subagent }): void {
  const child = childOf(rendering, subagent);
  child.statusItems.add(item.item_id);
  child.ending = false;
  emitBusy(rendering, child);
}

export function completeChild(rendering: Rendering, { item, subagent }: { item: Item; subagent: Subagent }): void {
  const child = rendering.state.conversations.get(subagent.id);
  child?.statusItems.delete(item.item_id);
  if (child === undefined || child.statusItems.size > 0) return;
  child.ending = true;
  endIfDone(rendering, child);
}

/** A subagent's own blocks and tools may be closed after it: its idle waits for them. */
export function endIfDone(rendering: Rendering, child: Conversation): void {
  const { texts, results, tools } = rendering.state;
  if (!child.ending || isQuiet(child)) return;
  for (const text of texts.values()) if (text.conversation === child.key) return;
  for (const call of results.values()) if (tools.get(call)?.conversation === child.key) return;
  endChild(rendering, child);
}

function endChild(rendering: Rendering, child: Conversation): void {
  child.ending = false;
  settleTools(rendering, child.key);
  const finish = child.message?.finish ?? null;
  const known = finish === null || finish === "tool-calls" ? "stop" : finish;
  closeMessage(rendering, { conversation: child, end: { completed: rendering.ms, finish: known, error: null } });
  emitIdle(rendering, child);
}
