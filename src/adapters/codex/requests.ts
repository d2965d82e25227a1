/** What Codex asks of us → permissions and questions. What we cannot give is refused at once: it never waits. */

import type { Send } from "../../core/agent-io.ts";
import { defined } from "../../core/defined.ts";
import { unreachable } from "../../core/fold.ts";
import type { PermissionReport, Report } from "../../core/report.ts";
import { answer, METHOD_NOT_FOUND, type RpcId, refuse, withdraw } from "../../core/rpc.ts";
import { type CodexRequest, isCodexRequest, type RequestOf } from "../../dialects/codex.ts";
import { shapeOf } from "../../dialects/shape.ts";
import type { RequestedAction } from "../../permissions/inspection.ts";
import { answerFor, replySeen } from "./answers.ts";
import { commandLine, unwrapped } from "./command-line.ts";
import { onElicitation } from "./elicitation.ts";
import { placeOf } from "./items.ts";
import { isLive, type State, threadOf } from "./state.ts";

export interface Incoming {
  readonly id: RpcId;
  readonly method: string;
  readonly params: unknown;
}

export function onRequest(state: State, incoming: Incoming): (Report | Send)[] {
  const { id, method, params } = incoming;
  const request = { method, params };
  if (!isCodexRequest(request)) return refuseUnknown(state, incoming);
  if (request.method === "item/tool/call") return refuseTool(state, { id, tool: request.params.tool });
  const report = asReport(state, { id, request });
  if (report === null) return refuseUnknown(state, incoming);
  state.asked.set(report.key, { id, method, type: report.type, params });
  return [report];
}

type Asking = Exclude<CodexRequest, { method: "item/tool/call" }>;
type Question = Extract<Report, { type: "question" }>;

function asReport(state: State, { id, request }: { id: RpcId; request: Asking }): PermissionReport | Question | null {
  switch (request.method) {
    case "item/commandExecution/requestApproval":
      return onCommandApproval(id, request.params);
    case "item/fileChange/requestApproval":
      return onFileApproval(state, id, request.params);
    case "item/tool/requestUserInput":
      return onUserInput(id, request.params);
    case "item/permissions/requestApproval":
      return onPermissions(id, request.params);
    case "mcpServer/elicitation/request":
      return onElicitation(request.params, { key: keyOf(request.params, id), call: callOf(state, request.params) });
    case "applyPatchApproval": {
      const { conversationId, callId, fileChanges, reason } = request.params;
      return {
        type: "permission",
        key: keyOf({ threadId: conversationId }, id),
        action: "apply_patch",
        tool: "apply_patch",
        call_id: callId,
        input: { changes: fileChanges },
        requested: { kind: "paths", access: "write", paths: changedPaths(fileChanges) },
        metadata: reasonOf(reason),
      };
    }
    case "execCommandApproval": {
      const { conversationId, callId, command, cwd, reason } = request.params;
      return {
        type: "permission",
        key: keyOf({ threadId: conversationId }, id),
        action: "shell",
        tool: "shell",
        call_id: callId,
        input: { command: commandLine(command), cwd },
        requested: { kind: "command", command: commandLine(command), directory: cwd },
        metadata: reasonOf(reason),
      };
    }
    default:
      return unreachable(request);
  }
}

/** MCP calls run one at a time per server, so the latest one is meant; the request does not name it. */
function callOf(state: State, { threadId, serverName }: { threadId: string; serverName: string }) {
  const running = [...threadOf(state, threadId).tools.values()].filter(({ title }) =>
    title.startsWith(`${serverName}.`),
  );
  const latest = running.at(-1);
  return latest === undefined ? null : { callId: latest.callId, name: latest.title };
}

/** Ids of requests start again with every process, turn ids do not: together they name a request for good. */
const keyOf = ({ threadId, turnId }: { threadId: string; turnId?: string | null | undefined }, id: RpcId): string =>
  `${threadId}/${turnId ?? ""}/request/${id}`;

const reasonOf = (reason: string | null | undefined) => defined({ reason: reason ?? undefined });

function onCommandApproval(id: RpcId, params: RequestOf<"item/commandExecution/requestApproval">): PermissionReport {
  const { itemId, kind, cwd, reason, networkApprovalContext, proposedExecpolicyAmendment } = params;
  const command = unwrapped(params.command ?? "");
  const host = networkApprovalContext?.host;
  const action = host !== undefined ? "network" : kind === "writeStdin" ? "write_stdin" : "shell";
  return {
    type: "permission",
    key: keyOf(params, id),
    action,
    tool: "shell",
    call_id: itemId,
    input: defined({ command, cwd: cwd ?? undefined, host }),
    requested: requestedBy(action, { command, directory: cwd ?? undefined, host }),
    metadata: { ...reasonOf(reason), ...defined({ proposed_rule: proposedExecpolicyAmendment ?? undefined }) },
  };
}

interface CommandRequest {
  readonly command: string;
  readonly directory: string | undefined;
  readonly host: string | undefined;
}

/** Input for a running program is not a command line, whatever its field is called. */
function requestedBy(action: string, { command, directory, host }: CommandRequest): RequestedAction {
  if (host !== undefined) return { kind: "url", url: host };
  return action === "shell" && command !== "" ? { kind: "command", command, directory } : { kind: "unknown" };
}

/** The request does not repeat the changes: they are in the item that began before it. */
function onFileApproval(
  state: State,
  id: RpcId,
  params: RequestOf<"item/fileChange/requestApproval">,
): PermissionReport {
  const { threadId, turnId, itemId, reason, grantRoot } = params;
  const thread = threadOf(state, threadId);
  const changes = thread.tools.get(placeOf(thread, { turnId, itemId }).key)?.changes ?? [];
  const paths = changes.flatMap(({ path, kind }) => [path, ...moved(kind)]);
  // With a root, Codex requests write access below it for the rest of the session.
  const roots = typeof grantRoot === "string" ? [grantRoot] : [];
  return {
    type: "permission",
    key: keyOf(params, id),
    action: "apply_patch",
    tool: "apply_patch",
    call_id: itemId,
    input: { changes: changes.map(({ path, kind, diff }) => ({ path, kind: kind.type, diff })) },
    requested:
      paths.length === 0 ? { kind: "unknown" } : { kind: "paths", access: "write", paths: [...paths, ...roots] },
    metadata: { ...reasonOf(reason), ...defined({ grant_root: grantRoot ?? undefined }) },
  };
}

function onPermissions(id: RpcId, params: RequestOf<"item/permissions/requestApproval">): PermissionReport {
  const { itemId, cwd, reason, permissions } = params;
  return {
    type: "permission",
    key: keyOf(params, id),
    action: "permissions",
    tool: null,
    call_id: itemId,
    input: permissions,
    // Additional rights for later actions, not for a single one.
    requested: { kind: "unknown" },
    metadata: { ...reasonOf(reason), cwd },
  };
}

/** The target of a file that is moved too. */
function moved(change: unknown): string[] {
  const { move_path: target } = shapeOf(change);
  return typeof target === "string" ? [target] : [];
}

const changedPaths = (changes: Readonly<Record<string, unknown>>): string[] =>
  Object.entries(changes).flatMap(([path, change]) => [path, ...moved(change)]);

function onUserInput(id: RpcId, params: RequestOf<"item/tool/requestUserInput">): Question {
  const { itemId, questions, isBlocking, autoResolutionMs } = params;
  const secret = questions.filter(({ isSecret }) => isSecret === true).map((question) => question.id);
  return {
    type: "question",
    key: keyOf(params, id),
    call_id: itemId,
    questions: questions.map(({ id: name, header, question, isOther, options }) => ({
      id: name,
      header,
      question,
      options: (options ?? []).map(({ label, description }) => ({ label, description })),
      multiple: false,
      custom: isOther === true || (options ?? []).length === 0,
    })),
    metadata: defined({
      blocking: isBlocking === false ? false : undefined,
      resolves_by_itself_ms: autoResolutionMs ?? undefined,
      secret: secret.length > 0 ? secret : undefined,
    }),
  };
}

function refuseUnknown(state: State, { id, method }: Incoming): (Report | Send)[] {
  const message = `Codex asked for ${method}, which Franca cannot give; it was refused.`;
  const report: Report = { type: "error", message, code: "request_refused", details: { method }, fatal: false };
  if (!isLive(state)) return [report];
  const line = refuse(state.rpc, { id, code: METHOD_NOT_FOUND, message: `${method} is not offered by this client` });
  return line === null ? [report] : [report, { type: "send.line", line }];
}

/** We offer no tools of our own, so none can be called; the model gets the protocol's error. */
function refuseTool(state: State, { id, tool }: { id: RpcId; tool: string }): Send[] {
  if (!isLive(state)) return [];
  const text = `There is no tool named ${tool} here.`;
  const line = answer(state.rpc, { id, result: { contentItems: [{ type: "inputText", text }], success: false } });
  return line === null ? [] : [{ type: "send.line", line }];
}

/** Codex no longer waits for an answer. When we gave none, nobody can any more. */
export function onResolved(state: State, id: RpcId): Report[] {
  if (!withdraw(state.rpc, id)) return [];
  for (const [key, asked] of state.asked) {
    if (asked.id !== id) continue;
    state.asked.delete(key);
    return [dropped(key, asked.type)];
  }
  return [];
}

const dropped = (key: string, type: "permission" | "question"): Report =>
  type === "permission"
    ? { type: "permission.answered", key, reply: "reject" }
    : { type: "question.answered", key, answers: null };

/** An answer to one of Codex's requests, as a recording's host gave it. */
export function onHostAnswer(state: State, { id, result }: { id: RpcId; result: unknown }): Report[] {
  if (!withdraw(state.rpc, id)) return [];
  for (const [key, asked] of state.asked) {
    if (asked.id !== id) continue;
    state.asked.delete(key);
    const seen = replySeen(asked, result);
    if (seen.cancelled) state.cancelled = true;
    if (seen.type === "permission") return [{ type: "permission.answered", key, reply: seen.reply }];
    return [{ type: "question.answered", key, answers: seen.answers }];
  }
  return [];
}

/** The turn is being stopped: every open request is answered with the word that ends it. */
export function cancelAll(state: State): Send[] {
  const out: Send[] = [];
  for (const asked of state.asked.values()) {
    const line = answer(state.rpc, { id: asked.id, result: answerFor(asked, { type: "cancel" }) });
    if (line !== null) out.push({ type: "send.line", line });
  }
  state.asked.clear();
  return out;
}
