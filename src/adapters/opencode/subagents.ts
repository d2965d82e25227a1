/** Subagents: OpenCode runs a task as a child session. Its items are items of ours, named after the child. */
import { defined } from "../../core/defined.ts";
import type { Report } from "../../core/report.ts";
import { statusHead } from "../../core/report-builders.ts";
import type { OpenCodeSession, OpenCodeSessionEvent, OpenCodeToolPart } from "../../dialects/opencode.ts";
import type { Subagent } from "../../protocol/items.ts";
import { type State, type Thread, threadOf } from "./state.ts";

/** How many lines of a child may wait for the call that made it. */
const HELD_LIMIT = 50;

/** A child session begins. The task tool's own update, a little later, shows which call made it. */
export function onChildCreated(state: State, info: OpenCodeSession & { readonly parentID: string }): void {
  if (state.threads.has(info.id)) return;
  state.unlinked.set(info.id, { name: info.agent ?? info.title ?? null, held: [] });
}

/** The child that a task tool runs, from its metadata. */
export function childOf(part: OpenCodeToolPart): string | null {
  const metadata = part.state.status === "pending" ? undefined : part.state.metadata;
  const id = metadata?.sessionId;
  return part.tool === "task" && typeof id === "string" ? id : null;
}

/** Names the child after its call; what it had said before comes now. */
export function link(
  state: State,
  { child, callId, name }: { child: string; callId: string | null; name: string | null },
): OpenCodeSessionEvent[] {
  const waiting = state.unlinked.get(child);
  const known = state.threads.get(child);
  const called = waiting?.name ?? name ?? known?.subagent?.name;
  const subagent: Subagent = defined({ id: child, parent_call_id: callId, name: called });
  if (known !== undefined) {
    // A child that is put to work again belongs to its new call.
    if (callId !== null && !known.busy) known.subagent = subagent;
    return [];
  }
  state.unlinked.delete(child);
  threadOf(state, child).subagent = subagent;
  return waiting?.held ?? [];
}

/** Whether the line has to wait. A child that works before its call is known does not wait for it. */
export function hold(state: State, { child, event }: { child: string; event: OpenCodeSessionEvent }): boolean {
  const waiting = state.unlinked.get(child);
  if (waiting === undefined) return false;
  const early = event.type === "session.updated" || event.type === "session.diff" || !isWork(event);
  if (!early || waiting.held.length >= HELD_LIMIT) return false;
  waiting.held.push(event);
  return true;
}

function isWork(event: OpenCodeSessionEvent): boolean {
  switch (event.type) {
    case "session.status":
    case "session.idle":
    case "message.part.delta":
    case "permission.asked":
    case "question.asked":
      return true;
    case "message.updated":
      return event.properties.info.role === "assistant";
    default:
      return false;
  }
}

const keyOf = (thread: Thread): string => `subagent/${thread.id}/${thread.runs}`;

export function openSubagent(state: State, thread: Thread): Report[] {
  const { subagent } = thread;
  if (subagent === null || thread.shown) return [];
  thread.shown = true;
  thread.runs += 1;
  const parent = callKey(state, subagent.parent_call_id);
  const named = { key: keyOf(thread), native_item_id: thread.id, subagent, parent: parent ?? undefined };
  const item = statusHead({ ...named, label: "subagent", detail: subagent.name ?? thread.id });
  return [{ type: "open", item }];
}

export function closeSubagent({ thread, failed }: { thread: Thread; failed: boolean }): Report[] {
  if (!thread.shown) return [];
  thread.shown = false;
  return [{ type: "close", key: keyOf(thread), status: failed ? "failed" : "completed" }];
}

/** The item of the call that made a child. */
function callKey(state: State, callId: string | null): string | null {
  for (const [id, part] of state.parts) if (part.type === "tool" && part.callId === callId) return id;
  return null;
}
