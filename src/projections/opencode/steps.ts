/** Model steps in OpenCode's messages: step-start and step-finish, which comes after the tools that the step called. */
import type { UsageStep } from "../../protocol/events.ts";
import { tokensOf } from "./describe.ts";
import { stepFinish } from "./errors.ts";
import {
  type Conversation,
  eventId,
  makeId,
  type OpenMessage,
  type Rendering,
  type State,
  type ToolEntry,
} from "./state.ts";

/** A model call begins. */
export function beginStep(
  rendering: Rendering,
  { conversation, message }: { conversation: Conversation; message: OpenMessage },
): void {
  emitStepEnd(rendering, { session: conversation.id, message });
  message.inStep = true;
  const id = makeId(rendering, "prt", rendering.event.event_id, "step-start");
  const part = { id, sessionID: conversation.id, messageID: message.id, type: "step-start" } as const;
  rendering.out.push({
    id: eventId(rendering),
    type: "message.part.updated",
    properties: { sessionID: conversation.id, part, time: rendering.ms },
  });
}

/** A model call ended. The message keeps the step's tokens, which is what fills the context, and adds up the cost. */
export function endStep(
  rendering: Rendering,
  { conversation, message, step }: { conversation: Conversation; message: OpenMessage; step: UsageStep },
): void {
  const { id: session } = conversation;
  if (message.summary && !message.inStep) beginStep(rendering, { conversation, message });
  else emitStepEnd(rendering, { session, message });
  const reason = stepFinish(step.finish);
  const tokens = tokensOf(step.tokens);
  const cost = step.cost_usd ?? 0;
  message.inStep = false;
  message.stepped = true;
  message.finish = reason;
  message.tokens = tokens;
  message.cost += cost;
  message.due = { reason, cost, tokens };
  if (!isWriting(rendering.state, message)) emitStepEnd(rendering, { session, message });
}

/** As in OpenCode itself, a step ends after the tools that it called. */
export function emitStepEnd(
  rendering: Rendering,
  { session, message }: { session: string; message: OpenMessage },
): void {
  const { due } = message;
  if (due === null) return;
  message.due = null;
  const id = makeId(rendering, "prt", rendering.event.event_id, "step-finish");
  const part = { id, sessionID: session, messageID: message.id, type: "step-finish", ...due } as const;
  rendering.out.push({
    id: eventId(rendering),
    type: "message.part.updated",
    properties: { sessionID: session, part, time: rendering.ms },
  });
}

/** Whether a step of the message still has something to come: a tool's end, or the whole text of a summary. */
function isWriting({ openSummaries }: State, { id, openTools }: OpenMessage): boolean {
  if (openTools > 0) return true;
  for (const { message } of openSummaries.values()) if (message.id === id) return true;
  return false;
}

/** A tool is final: if it was the last one of its step, the step ends. */
export function closeTool(rendering: Rendering, { messageID, conversation: key }: ToolEntry): void {
  const conversation = rendering.state.conversations.get(key);
  const message = conversation?.message ?? null;
  if (conversation === undefined || message === null || message.id !== messageID) return;
  message.openTools -= 1;
  if (!isWriting(rendering.state, message)) emitStepEnd(rendering, { session: conversation.id, message });
}
