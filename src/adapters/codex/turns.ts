/** Turns of a thread: the own thread's are the session's, those of spawned agents are only their work. */
import type { Send } from "../../core/agent-io.ts";
import type { Report } from "../../core/report.ts";
import { itemHead, whole } from "../../core/report-builders.ts";
import type { Thread as NativeThread, ParamsOf } from "../../dialects/codex.ts";
import type { ContentPart } from "../../protocol/items.ts";
import { beginAgent, endAgent } from "./agents.ts";
import { clean, interrupt } from "./encode.ts";
import { attemptOf, errorReport, failedEnd } from "./failure.ts";
import { breakOff, leaveTools } from "./items.ts";
import { permissionMode } from "./launch.ts";
import { afterAnnouncement } from "./notices.ts";
import { endModelStep, isLive, ownThread, type State, threadOf } from "./state.ts";

/** A thread is announced. Our own was announced by the answer to our request, unless that is not in the recording. */
export function startThread(state: State, thread: NativeThread): Report[] {
  const { parentThreadId, agentNickname, name } = thread;
  if (typeof parentThreadId === "string" && state.thread !== null && state.thread !== thread.id) {
    const known = threadOf(state, thread.id);
    if (known.subagent !== null && typeof agentNickname === "string") {
      known.subagent = { ...known.subagent, name: agentNickname };
    }
    return [];
  }
  const isNews = state.thread === null;
  state.thread ??= thread.id;
  threadOf(state, thread.id);
  if (!isNews) return [];
  const metadata = {
    agent: "codex",
    agent_version: thread.cliVersion ?? null,
    model: thread.model ?? null,
    directory: thread.cwd ?? null,
  };
  return afterAnnouncement(state, {
    type: "session",
    native_session_id: thread.id,
    metadata,
    title: name ?? undefined,
  });
}

/** Codex has taken the prompt and named its turn. */
export function onTurnKnown(state: State, { turnId, at }: { turnId: string; at: number }): (Report | Send)[] {
  const thread = ownThread(state);
  if (thread === null) return [];
  thread.turn = turnId;
  return [{ type: "begin", origin: "user" }, ...interruptIfAsked(state, at)];
}

export function onTurnStarted(
  state: State,
  { threadId, turn }: ParamsOf<"turn/started">,
  at: number,
): (Report | Send)[] {
  const thread = threadOf(state, threadId);
  thread.turn = turn.id;
  endModelStep(thread);
  thread.modelStep = 0;
  if (thread.subagent !== null) return beginAgent(state, thread);
  const origin = state.requested ? "user" : "agent";
  return [{ type: "begin", origin }, ...interruptIfAsked(state, at)];
}

function interruptIfAsked(state: State, at: number): Send[] {
  const thread = ownThread(state);
  if (!state.interruptWhenKnown || thread === null || !isLive(state)) return [];
  state.interruptWhenKnown = false;
  return interrupt(state, thread, at);
}

type Completed = ParamsOf<"turn/completed">;

export function onTurnCompleted(state: State, { threadId, turn }: Completed, at: number): (Report | Send)[] {
  const thread = threadOf(state, threadId);
  const { status } = turn;
  thread.turn = null;
  endModelStep(thread);
  const kept = leaveTools(state, thread, { keep: status === "completed" });
  if (thread.subagent !== null) {
    const broken = breakOff(thread);
    const ended = endAgent(state, thread, { status: status === "completed" ? "completed" : "failed" });
    return [...broken, ...kept, ...ended];
  }
  thread.blocks.clear();
  const out: (Report | Send)[] = [...changes(state, turn.id), ...kept, endOf(state, turn)];
  // A command that began while the turn was being interrupted has escaped the first cleaning.
  if (state.interrupted && isLive(state)) out.push(clean(state, threadId, at));
  state.requested = false;
  state.interrupted = false;
  state.cancelled = false;
  return out;
}

function endOf({ interrupted, cancelled }: State, { status, error }: Completed["turn"]): Report {
  if (status === "failed") return failedEnd(error ?? null);
  if (status !== "interrupted") return { type: "end", reason: "completed" };
  return { type: "end", reason: cancelled && !interrupted ? "rejected" : "aborted" };
}

/** The turn's diff grows with every change and is repeated after every model call: it is reported once, when whole. */
export function onDiff(state: State, { threadId, diff }: ParamsOf<"turn/diff/updated">): Report[] {
  if (threadOf(state, threadId).subagent === null) state.diff = diff;
  return [];
}

function changes(state: State, turnId: string): Report[] {
  const { diff } = state;
  state.diff = null;
  if (diff === null || diff === "") return [];
  const key = `${turnId}/diff`;
  const content: ContentPart[] = [
    { type: "status", label: "Changes of this turn", detail: changedFiles(diff) },
    { type: "json", json: { diff } },
  ];
  return whole(itemHead("status", { key, native_item_id: null, content }));
}

const changedFiles = (diff: string): string =>
  [...diff.matchAll(/^diff --git a\/.+ b\/(.+)$/gm)].map(([, path]) => path ?? "").join(", ");

const todoStates = { pending: "pending", inProgress: "in_progress", completed: "completed" } as const;

/** The plan of the session is its own thread's; a spawned agent's plan is its own affair. */
export function onPlan(state: State, { threadId, plan }: ParamsOf<"turn/plan/updated">): Report[] {
  if (threadOf(state, threadId).subagent !== null) return [];
  const todos = plan.map(({ step, status }, index) => ({
    id: String(index + 1),
    content: step,
    status: todoStates[status],
  }));
  return [{ type: "todo", todos }];
}

export function onError(state: State, { threadId, error, willRetry }: ParamsOf<"error">): Report[] {
  const thread = threadOf(state, threadId);
  if (!willRetry) return [errorReport(error, { own: thread.subagent === null })];
  // The answer begins anew: what was being written is not continued.
  const broken = breakOff(thread);
  endModelStep(thread);
  if (thread.subagent !== null) return broken;
  const message = error.additionalDetails ?? error.message;
  return [...broken, { type: "state", state: "retrying", attempt: attemptOf(error.message), message, delayMs: 0 }];
}

export function onSettings(state: State, params: ParamsOf<"thread/settings/updated">): Report[] {
  if (threadOf(state, params.threadId).subagent !== null) return [];
  const { model, approvalPolicy, sandboxPolicy } = params.threadSettings;
  state.model = model;
  const mode = permissionMode({ approvalPolicy, sandbox: sandboxPolicy });
  // Live, the mode is what the session asked for; two of ours are one to Codex.
  return [{ type: "session", model, permission_mode: mode !== null && !isLive(state) ? mode : undefined }];
}
