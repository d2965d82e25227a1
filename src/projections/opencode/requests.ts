/** Permissions and questions, with the ids and the fields that OpenCode's dialogs need. */

import { canRemember } from "../../core/approval-words.ts";
import { defined } from "../../core/defined.ts";
import { unifiedDiff } from "../../core/diff.ts";
import type { OpenCodePermissionReply, OpenCodeQuestionInfo } from "../../dialects/opencode.ts";
import { isString, stringOf } from "../../dialects/shape.ts";
import type { EventOf, PermissionStatus, Question } from "../../protocol/events.ts";
import { eventId, makeId, type Rendering, rootOf, type ToolEntry } from "./state.ts";
import { firstText, recordOf, toolInput, toolName } from "./tools.ts";

export function askPermission(rendering: Rendering, { data }: EventOf<"permission.requested">): void {
  const { state } = rendering;
  const { tool, call_id: call, input, patterns, scopes = [], deadline: _, ...rest } = data.metadata;
  const more = scopes.length === 0 ? rest : { ...rest, scopes };
  const entry = call === null ? undefined : state.tools.get(call);
  const sessionID = entry?.session ?? rootOf(rendering).id;
  const id = makeId(rendering, "per", data.permission_id);
  state.requests.set(data.permission_id, { id, session: sessionID });
  rendering.out.push({
    id: eventId(rendering),
    type: "permission.asked",
    properties: {
      id,
      sessionID,
      permission: permissionName({ action: data.action, tool }),
      // The dialog shows them, also where nothing can be remembered.
      patterns: patterns.length === 0 ? [stringOf(more.title) ?? tool ?? data.action] : patterns,
      metadata: Object.assign({}, more, describedInput({ tool: tool ?? data.action, input })),
      always: canRemember(data.metadata) ? patterns : [],
      ...toolOf(entry),
    },
  });
}

/** What OpenCode's dialog shows is chosen by the permission's name; writing is editing to it. */
function permissionName({ action, tool }: { action: string; tool: string | null }): string {
  const name = toolName({ name: action, kind: "tool" });
  if (name !== action || tool === null || tool === action) return editing(name);
  // An action of the agent's own (`doom_loop`, `external_directory`) is not a tool's name and stays.
  return editing(action);
}

const editing = (name: string): string => (name === "write" || name === "apply_patch" ? "edit" : name);

/** The fields the dialogs read: the command, the file, the url. */
function describedInput({ tool, input }: { tool: string; input: unknown }): Readonly<Record<string, unknown>> {
  const mapped = toolInput({ tool: toolName({ name: tool, kind: "tool" }), native: recordOf(input) });
  const filepath = firstText(mapped, ["filePath", "filepath"]);
  const described: Record<string, unknown> = defined({ command: stringOf(mapped.command) });
  if (filepath !== "") Object.assign(described, { filepath }, diffOf({ path: filepath, input: mapped }));
  if (isString(mapped.url)) described.url = mapped.url;
  const native = recordOf(input);
  const isComplete = Object.keys(native).every((key) => described[key] === native[key]);
  if (!isComplete) described.input = native;
  return described;
}

/** What an edit would do, from what is known before it is done. */
function diffOf({ path, input }: { path: string; input: Readonly<Record<string, unknown>> }): {
  readonly diff?: string;
} {
  const { oldString: before, newString: after, content, diff } = input;
  if (typeof diff === "string") return { diff };
  if (typeof before === "string" && typeof after === "string") return { diff: unifiedDiff({ path, before, after }) };
  return typeof content === "string" ? { diff: unifiedDiff({ path, before: "", after: content }) } : {};
}

const replies: Readonly<Record<PermissionStatus, OpenCodePermissionReply>> = {
  requested: "once",
  accept: "once",
  accept_for_session: "always",
  reject: "reject",
};

export function resolvePermission(rendering: Rendering, { data }: EventOf<"permission.resolved">): void {
  const request = rendering.state.requests.get(data.permission_id);
  if (request === undefined) return;
  rendering.state.requests.delete(data.permission_id);
  rendering.out.push({
    id: eventId(rendering),
    type: "permission.replied",
    properties: { sessionID: request.session, requestID: request.id, reply: replies[data.status] },
  });
}

export function askQuestion(rendering: Rendering, { data }: EventOf<"question.requested">): void {
  const { state } = rendering;
  const call = data.metadata.call_id;
  const entry = call === null ? undefined : state.tools.get(call);
  const sessionID = entry?.session ?? rootOf(rendering).id;
  const id = makeId(rendering, "que", data.question_id);
  state.requests.set(data.question_id, { id, session: sessionID });
  rendering.out.push({
    id: eventId(rendering),
    type: "question.asked",
    properties: { id, sessionID, questions: data.questions.map(questionInfo), ...toolOf(entry) },
  });
}

const HEADER_LENGTH = 30;

const questionInfo = ({ question, header, options, multiple, custom }: Question): OpenCodeQuestionInfo =>
  defined({
    question,
    header: (header ?? question).slice(0, HEADER_LENGTH),
    options: options.map(({ label, description }) => ({ label, description: description ?? "" })),
    multiple: multiple || undefined,
    custom: custom ? undefined : custom,
  });

export function resolveQuestion(rendering: Rendering, { data }: EventOf<"question.resolved">): void {
  const request = rendering.state.requests.get(data.question_id);
  if (request === undefined) return;
  rendering.state.requests.delete(data.question_id);
  const about = { sessionID: request.session, requestID: request.id };
  if (data.status === "answered") {
    const answers = data.response ?? [];
    const call = data.metadata.call_id;
    const entry = call === null ? undefined : rendering.state.tools.get(call);
    if (entry !== undefined) entry.answers = answers;
    rendering.out.push({ id: eventId(rendering), type: "question.replied", properties: { ...about, answers } });
    return;
  }
  rendering.out.push({ id: eventId(rendering), type: "question.rejected", properties: about });
}

const toolOf = (entry: ToolEntry | undefined): { readonly tool?: { messageID: string; callID: string } } =>
  entry === undefined ? {} : { tool: { messageID: entry.messageID, callID: entry.callID } };
