/** Agents that Codex spawns: threads of their own on the same connection, items of ours with `subagent` set. */
import type { ItemHead, Report } from "../../core/report.ts";
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
  return [{ type: "open", item: { ...agentHead(thread), content } }, backgroundReport(state)];
}

export function endAgent(state: State, thread: Thread, { status }: { status: "completed" | "failed" }): Report[] {
  if (!thread.working) return [];
  thread.working = false;
  return [{ type: "close", key: agentHead(thread).key, status }, backgroundReport(state)];
}

const agentHead = ({ id, subagent, runs }: Thread): ItemHead => ({
  key: `subagent/${id}/${runs}`,
  native_item_id: id,
  kind: "status",
  role: "system",
  ...(subagent !== null && { subagent }),
  content: [],
});

/** All that goes on beside the foreground turn: agents at work, and commands that outlived their turn. */
export function backgroundReport(state: State): Report {
  const agents = [...state.threads.values()]
    .filter(({ working, subagent }) => working && subagent !== null)
    .map(({ id, subagent, task }) => {
      const callId = subagent?.parent_call_id ?? null;
      return { id, kind: "subagent", title: subagent?.name ?? task, ...(callId !== null && { call_id: callId }) };
    });
  return { type: "background", open: [...agents, ...state.background.values()] };
}
