/** Agents that Codex spawns: threads of their own on the same connection, items of ours with `subagent` set. */
import { defined } from "../../core/defined.ts";
import type { Report } from "../../core/report.ts";
import { itemHead } from "../../core/report-builders.ts";
import type { ItemOf } from "../../dialects/codex.ts";
import type { ContentPart } from "../../protocol/items.ts";
import { type State, type Thread, threadOf } from "./state.ts";

/** A call about other agents is done. One that spawned an agent names its thread only now. */
export function onCollab(state: State, item: ItemOf<"collabAgentToolCall">): Report[] {
  if (item.tool !== "spawnAgent" || item.status !== "completed") return [];
  return item.receiverThreadIds.flatMap((id) => {
    state.spawnedBy.set(id, item.id);
    const thread = threadOf(state, id);
    if (thread.subagent === null) return [];
    thread.subagent = { ...thread.subagent, parent_call_id: item.id };
    thread.task = item.prompt ?? id;
    return beginAgent(state, thread);
  });
}

export function onActivity(state: State, item: ItemOf<"subAgentActivity">): Report[] {
  const thread = threadOf(state, item.agentThreadId);
  if (thread.subagent === null) return [];
  thread.subagent = { ...thread.subagent, name: item.agentPath };
  if (item.kind === "started") return beginAgent(state, thread);
  if (item.kind === "interacted") return [];
  return endAgent(state, thread, { status: item.kind === "completed" ? "completed" : "failed" });
}

/** The agent is a status item while it works; it outlives the call that spawned it, and may outlive the turn. */
export function beginAgent(state: State, thread: Thread): Report[] {
  if (thread.working) return [];
  thread.working = true;
  thread.runs += 1;
  const content: ContentPart[] = [{ type: "status", label: "subagent", detail: thread.subagent?.name ?? thread.task }];
  const named = { key: agentKey(thread), native_item_id: thread.id, subagent: thread.subagent ?? undefined };
  return [{ type: "open", item: itemHead("status", { content, ...named }) }, backgroundReport(state)];
}

export function endAgent(state: State, thread: Thread, { status }: { status: "completed" | "failed" }): Report[] {
  if (!thread.working) return [];
  thread.working = false;
  return [{ type: "close", key: agentKey(thread), status }, backgroundReport(state)];
}

const agentKey = ({ id, runs }: Thread): string => `subagent/${id}/${runs}`;

/** All that goes on beside the foreground turn: agents at work, and commands that outlived their turn. */
export function backgroundReport(state: State): Report {
  const agents = [...state.threads.values()]
    .filter(({ working, subagent }) => working && subagent !== null)
    .map(({ id, subagent, task }) => {
      const call_id = subagent?.parent_call_id ?? undefined;
      return defined({ id, kind: "subagent", title: subagent?.name ?? task, call_id });
    });
  return { type: "background", open: [...agents, ...state.background.values()] };
}
