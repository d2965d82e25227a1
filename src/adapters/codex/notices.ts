/** What Codex reports beside its items: warnings, hooks, reviews, reroutes. Status items, never words of the model. */
import type { ItemHead, Report } from "../../core/report.ts";
import { itemHead, whole } from "../../core/report-builders.ts";
import type { NotificationOf, ParamsOf } from "../../dialects/codex.ts";
import { type State, type Thread, threadOf } from "./state.ts";

export type Notice = NotificationOf<
  | "warning"
  | "guardianWarning"
  | "deprecationNotice"
  | "configWarning"
  | "model/rerouted"
  | "modelProvider/authRecoveryStarted"
  | "modelProvider/authRecoveryCompleted"
  | "mcpServer/startupStatus/updated"
  | "thread/goal/updated"
  | "thread/archived"
  | "thread/unarchived"
  | "thread/deleted"
  | "thread/reverted"
  | "autoApprovalReview/strictReviewRequired"
  | "item/commandExecution/terminalInteraction"
>;

export function onNotice(state: State, line: Notice): Report[] {
  const threadId = "threadId" in line.params ? line.params.threadId : null;
  const thread = typeof threadId === "string" ? threadOf(state, threadId) : null;
  const say = (label: string, detail: string) => notice(state, { thread, label, detail });
  switch (line.method) {
    case "warning":
    case "guardianWarning":
      return say("Warning", line.params.message);
    case "deprecationNotice":
      return say("Deprecated", together(line.params.summary, line.params.details));
    case "configWarning":
      return say("Configuration", together(line.params.summary, line.params.details));
    case "model/rerouted": {
      const { fromModel, toModel, reason } = line.params;
      const notices = say("Model rerouted", `${fromModel} → ${toModel} (${reason})`);
      return thread?.subagent === null ? [{ type: "session", model: toModel }, ...notices] : notices;
    }
    case "modelProvider/authRecoveryStarted":
    case "modelProvider/authRecoveryCompleted":
      return say("Authentication", line.params.message);
    case "mcpServer/startupStatus/updated":
      return onMcpStatus(line.params);
    case "thread/goal/updated":
      return say("Goal", `${line.params.goal.objective} (${line.params.goal.status})`);
    case "thread/archived":
      return say("Thread", "archived");
    case "thread/unarchived":
      return say("Thread", "unarchived");
    case "thread/deleted":
      return say("Thread", "deleted");
    case "thread/reverted":
      return say("Thread", "reverted");
    case "autoApprovalReview/strictReviewRequired":
      return say("Approval review", "Every further command of this turn is reviewed.");
    case "item/commandExecution/terminalInteraction":
      // An empty input is only a look at the output.
      return line.params.stdin === "" ? [] : say("Typed into the terminal", line.params.stdin);
  }
}

/** The session is announced first; what was said before that follows. */
export function afterAnnouncement(state: State, announcement: Report): Report[] {
  const { early } = state;
  state.early = [];
  return [announcement, ...early];
}

/** A status item that begins and ends at once. */
export function notice(
  state: State,
  { thread, label, detail }: { thread: Thread | null; label: string; detail: string },
): Report[] {
  state.notices += 1;
  const key = `notice/${state.at}/${state.notices}`;
  const notices = whole(statusOf({ key, native_item_id: null, thread, label, detail }));
  if (state.thread !== null) return notices;
  state.early.push(...notices);
  return [];
}

export function onHook(state: State, { method, params }: NotificationOf<"hook/started" | "hook/completed">): Report[] {
  const { run, threadId } = params;
  const said = run.entries.map(({ text }) => text).filter((text) => text !== "");
  const item = statusOf({
    key: `hook/${run.id}`,
    native_item_id: run.id,
    thread: threadOf(state, threadId),
    label: `Hook ${run.eventName}`,
    detail: run.statusMessage ?? said.join("\n"),
  });
  if (method === "hook/started") return [{ type: "open", item }];
  const status = run.status === "completed" ? "completed" : "failed";
  return [{ type: "close", key: item.key, status, content: item.content, item }];
}

type ReviewLine = NotificationOf<"item/autoApprovalReview/started" | "item/autoApprovalReview/completed">;

export function onReview(state: State, { method, params }: ReviewLine): Report[] {
  const { reviewId, review, threadId } = params;
  const detail = together(review.status, review.rationale);
  const named = { key: `review/${reviewId}`, native_item_id: reviewId, thread: threadOf(state, threadId) };
  const item = statusOf({ label: "Approval review", detail, ...named });
  if (method === "item/autoApprovalReview/started") return [{ type: "open", item }];
  const status = review.status === "approved" ? "completed" : "failed";
  return [{ type: "close", key: item.key, status, content: item.content, item }];
}

function onMcpStatus({ name, status, error }: ParamsOf<"mcpServer/startupStatus/updated">): Report[] {
  // Starting and ready are the normal course of things.
  if (status !== "failed") return [];
  const message = `The MCP server ${name} did not start${typeof error === "string" ? `: ${error}` : "."}`;
  return [{ type: "error", message, code: "mcp_server_failed", details: { server: name }, fatal: false }];
}

interface Status {
  readonly key: string;
  readonly native_item_id: string | null;
  readonly thread: Thread | null;
  readonly label: string;
  readonly detail: string;
}

const statusOf = ({ key, native_item_id, thread, label, detail }: Status): ItemHead =>
  itemHead("status", {
    key,
    native_item_id,
    subagent: thread?.subagent ?? undefined,
    content: [{ type: "status", label, detail }],
  });

const together = (first: string, second: string | null | undefined): string =>
  typeof second === "string" && second !== "" ? `${first}\n${second}` : first;
