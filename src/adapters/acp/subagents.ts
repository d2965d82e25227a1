/** Subagents: a session of their own, or only a name beside the protocol. Items of theirs are items of the session. */
import type { Report } from "../../core/report.ts";
import { itemHead, statusPart } from "../../core/report-builders.ts";
import { closeBlock } from "./blocks.ts";
import { addThread, type Call, type State, type Thread } from "./state.ts";

/** A subagent is a status item while it works. Its own session is known from here on. */
export function beginSubagent(state: State, { id, title }: { id: string; title: string | null }): Report[] {
  const known = state.threads.get(id);
  if (known?.working === true) return [];
  const thread = known ?? addThread(state, { id, subagent: subagentOf(state, { id, title }) });
  thread.working = true;
  const item = itemHead("status", {
    key: subagentKey(thread),
    native_item_id: id,
    subagent: thread.subagent ?? undefined,
    content: [statusPart("subagent", title ?? "")],
  });
  return [{ type: "open", item }];
}

function subagentOf(state: State, { id, title }: { id: string; title: string | null }) {
  const isSpawning = ({ name, input }: Call): boolean => /task|agent/i.test(name) && input !== undefined;
  const spawning = state.calls.get(id) ?? [...state.calls.values()].findLast(isSpawning);
  const named = title === null || title === "" ? {} : { name: title };
  return { id, parent_call_id: spawning?.id ?? null, ...named };
}

/** The call that spawned it has returned. */
export const endSpawned = (state: State, callId: string, { failed }: { failed: boolean }): Report[] =>
  [...state.threads.values()]
    .filter(({ subagent, working }) => working && subagent?.parent_call_id === callId)
    .flatMap((thread) => [...closeBlock(thread, "completed"), ...endSubagent(state, { id: thread.id, failed })]);

export function endSubagent(state: State, { id, failed }: { id: string; failed: boolean }): Report[] {
  const thread = state.threads.get(id);
  if (thread === undefined || !thread.working) return [];
  thread.working = false;
  return [{ type: "close", key: subagentKey(thread), status: failed ? "failed" : "completed" }];
}

const subagentKey = ({ id }: Thread): string => `subagent/${id}`;
