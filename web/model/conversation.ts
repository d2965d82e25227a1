/** A conversation from its events: one fold, for live sessions, for the past, and for recordings without a daemon. */
import { budgetWords } from "../../src/core/budget-words.ts";
import type { EventOf, UniversalEvent } from "../../src/protocol/events.ts";
import { applyItem } from "./conversation-items.ts";
import { type Conversation, emptyConversation } from "./conversation-state.ts";
import { applyTurn } from "./conversation-turns.ts";
import type { PermissionEntry, QuestionEntry, RequestEntry, ToolEntry } from "./entries.ts";

export function foldConversation(events: readonly UniversalEvent[]): Conversation {
  const conversation = emptyConversation();
  for (const event of events) applyEvent(conversation, event);
  return conversation;
}

export function applyEvent(conversation: Conversation, event: UniversalEvent): void {
  conversation.sequence = event.sequence;
  conversation.time = event.time;
  switch (event.type) {
    case "item.started":
    case "item.delta":
    case "item.completed":
      return applyItem(conversation, event);
    case "turn.started":
    case "turn.state":
    case "turn.continued":
    case "turn.ended":
      return applyTurn(conversation, event);
    case "permission.requested":
    case "question.requested":
      return ask(conversation, event);
    case "permission.resolved":
    case "question.resolved":
      return resolve(conversation, event);
    case "todo.updated":
      conversation.todos = event.data.todos;
      return;
    case "usage.updated":
      return applyUsage(conversation, event);
    case "error":
      if (!event.data.fatal) note(conversation, event, { label: event.data.message, detail: event.data.code ?? "" });
      return;
    case "budget.updated":
      return note(conversation, event, { label: budgetWords(event.data), detail: "" });
    case "agent.unparsed":
      conversation.unparsed += 1;
      return note(conversation, event, { label: "A line of the agent fits no known shape", detail: event.data.error });
    case "session.started":
    case "session.updated":
    case "session.ended":
      return applySession(conversation, event);
    default:
      // A newer daemon may send types that this page does not know: they are in the lanes.
      return;
  }
}

function note(
  conversation: Conversation,
  event: UniversalEvent,
  { label, detail }: { readonly label: string; readonly detail: string },
): void {
  const key = `note ${event.sequence}`;
  const at = Date.parse(event.time);
  conversation.entries.push({ type: "note", key, rev: 0, tone: "error", label, detail, at });
}

function applyUsage(conversation: Conversation, { data }: EventOf<"usage.updated">): void {
  conversation.usage = data.session;
  const { turn } = conversation;
  if (turn === null) return;
  turn.usage = data.turn;
  if (data.step !== null) turn.steps += 1;
}

type SessionEvent = EventOf<"session.started"> | EventOf<"session.updated"> | EventOf<"session.ended">;

function applySession(conversation: Conversation, event: SessionEvent): void {
  switch (event.type) {
    case "session.started": {
      const { agent, agent_version, model, directory, permission_mode } = event.data.metadata;
      conversation.agent = agent;
      conversation.agentVersion = agent_version;
      conversation.model = model;
      conversation.directory = directory;
      conversation.permissionMode = permission_mode;
      return;
    }
    case "session.updated":
      return applyChange(conversation, event.data);
    case "session.ended": {
      const { reason, message } = event.data;
      conversation.ended =
        message ?? (reason === "terminated" ? "The session was ended." : `The session ended: ${reason}.`);
      return;
    }
  }
}

function applyChange(conversation: Conversation, change: EventOf<"session.updated">["data"]): void {
  const { agent, agent_version, title, model, variant, mode, permission_mode, directory, trusted, queue } = change;
  if (agent !== undefined) conversation.agent = agent;
  if (agent_version !== undefined) conversation.agentVersion = agent_version;
  if (title !== undefined) conversation.title = title;
  if (model !== undefined) conversation.model = model;
  if (variant !== undefined) conversation.variant = variant;
  if (mode !== undefined) conversation.mode = mode;
  if (permission_mode !== undefined) conversation.permissionMode = permission_mode;
  if (directory !== undefined) conversation.directory = directory;
  if (trusted !== undefined) conversation.trusted = trusted;
  if (queue !== undefined) conversation.queue = queue;
}

type Asked = EventOf<"permission.requested"> | EventOf<"question.requested">;

function ask(conversation: Conversation, event: Asked): void {
  const askedAt = Date.parse(event.time);
  const open = { rev: 0, askedAt, resolvedAt: null };
  if (event.type === "question.requested") {
    const id = event.data.question_id;
    const entry: QuestionEntry = { type: "question", key: `question ${id}`, request: event.data, ...open };
    conversation.requests.set(id, entry);
    conversation.entries.push(entry);
    return;
  }
  const id = event.data.permission_id;
  const key = `permission ${id}`;
  const entry: PermissionEntry = { type: "permission", key, request: event.data, by: null, rule: null, ...open };
  conversation.requests.set(id, entry);
  conversation.entries.push(entry);
  setToolState(conversation, event.data.metadata.call_id, "needs");
}

type Resolved = EventOf<"permission.resolved"> | EventOf<"question.resolved">;

function resolve(conversation: Conversation, event: Resolved): void {
  const id = event.type === "permission.resolved" ? event.data.permission_id : event.data.question_id;
  const entry = conversation.requests.get(id);
  if (entry === undefined || entry.resolvedAt !== null) return;
  entry.resolvedAt = Date.parse(event.time);
  entry.rev += 1;
  if (event.type === "permission.resolved" && entry.type === "permission") {
    // The request keeps what was shown; the answer brings the status alone.
    entry.request = { ...entry.request, status: event.data.status };
    entry.by = event.source;
    entry.rule = event.cause.rule ?? null;
    const denied = event.data.status === "reject";
    setToolState(conversation, entry.request.metadata.call_id, denied ? "denied" : "running");
  } else if (event.type === "question.resolved" && entry.type === "question") {
    const { status, response } = event.data;
    entry.request = { ...entry.request, status, ...(response === undefined ? {} : { response }) };
  }
}

function setToolState(conversation: Conversation, callId: string | null, state: ToolEntry["state"]): void {
  const tool = callId === null ? undefined : conversation.tools.get(callId);
  if (tool === undefined || tool.endedAt !== null) return;
  tool.state = state;
  tool.rev += 1;
}

export const openRequests = ({ requests }: Conversation): RequestEntry[] =>
  [...requests.values()].filter(({ resolvedAt }) => resolvedAt === null);
