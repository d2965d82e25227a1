/** Claude Code's tools by name: what kind each is, how it is titled, and what a permission for it is called. */

import { lookUp } from "../../core/look-up.ts";
import { isShape, isString, type Shape } from "../../dialects/shape.ts";
import type { PathAccess, RequestedAction } from "../../permissions/inspection.ts";
import type { ToolKind } from "../../protocol/items.ts";

const kinds: Readonly<Record<string, ToolKind>> = {
  Bash: "command",
  PowerShell: "command",
  Edit: "file_change",
  Write: "file_change",
  MultiEdit: "file_change",
  NotebookEdit: "file_change",
  WebSearch: "web_search",
  WebFetch: "web_search",
  web_search: "web_search",
  web_fetch: "web_search",
  TodoWrite: "note",
  TodoRead: "note",
  TaskCreate: "note",
  TaskUpdate: "note",
  TaskList: "note",
  TaskGet: "note",
  AskUserQuestion: "note",
  ExitPlanMode: "note",
  EnterPlanMode: "note",
  Task: "subagent",
  Agent: "subagent",
};

export const toolKind = (name: string): ToolKind => lookUp(kinds, name) ?? "tool";

/** The most informative field of the input, per tool. */
const titleFields: Readonly<Record<string, readonly string[]>> = {
  Bash: ["command"],
  PowerShell: ["command"],
  Read: ["file_path"],
  Edit: ["file_path"],
  Write: ["file_path"],
  MultiEdit: ["file_path"],
  NotebookEdit: ["notebook_path"],
  Glob: ["pattern"],
  Grep: ["pattern"],
  WebSearch: ["query"],
  WebFetch: ["url"],
  Task: ["description", "subagent_type"],
  Agent: ["description", "subagent_type"],
  TaskCreate: ["subject"],
  Skill: ["skill"],
};

const TITLE_LENGTH = 200;

export function toolTitle(name: string, input: unknown): string {
  if (isShape(input)) {
    for (const field of lookUp(titleFields, name) ?? []) {
      const value = input[field];
      if (isString(value) && value !== "") return shorten(value);
    }
  }
  return name;
}

const actions: Readonly<Record<string, string>> = {
  Bash: "bash",
  PowerShell: "bash",
  Read: "read",
  Edit: "edit",
  Write: "edit",
  MultiEdit: "edit",
  NotebookEdit: "edit",
  Glob: "glob",
  Grep: "grep",
  WebFetch: "webfetch",
  WebSearch: "websearch",
  Task: "task",
  Agent: "task",
};

export const permissionAction = (name: string): string => lookUp(actions, name) ?? name;

/**
 * The real action of a permission request, from the tool's input. The rules that the CLI suggests are not used: they
 * leave out parts of a command.
 */
export function requestedBy(tool: string, input: Shape): RequestedAction {
  switch (tool) {
    case "Bash":
      return isString(input.command) ? { kind: "command", command: input.command } : { kind: "unknown" };
    case "Edit":
    case "Write":
    case "MultiEdit":
      return fileAction(input.file_path, "write");
    case "NotebookEdit":
      return fileAction(input.notebook_path, "write");
    case "Read":
      return fileAction(input.file_path ?? input.notebook_path, "read");
    case "Glob":
    case "Grep":
    case "LS":
      return fileAction(input.path ?? ".", "read");
    case "WebFetch":
      return isString(input.url) ? { kind: "url", url: input.url } : { kind: "unknown" };
    // Its syntax is not that of a shell that we parse.
    case "PowerShell":
      return { kind: "unknown" };
    default:
      return { kind: "tool" };
  }
}

const fileAction = (path: unknown, access: PathAccess): RequestedAction =>
  isString(path) ? { kind: "paths", access, paths: [path] } : { kind: "unknown" };

function shorten(text: string): string {
  const line = text.split("\n", 1)[0] ?? "";
  const cut = line.length < text.length || line.length > TITLE_LENGTH;
  return cut ? `${line.slice(0, TITLE_LENGTH)}…` : line;
}
