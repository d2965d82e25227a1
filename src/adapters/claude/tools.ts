/** Claude Code's tools by name: what kind each is, how it is titled, and what a permission for it is called. */

import { lookUp } from "../../core/look-up.ts";
import { isShape, isString } from "../../dialects/shape.ts";
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

function shorten(text: string): string {
  const line = text.split("\n", 1)[0] ?? "";
  const cut = line.length < text.length || line.length > TITLE_LENGTH;
  return cut ? `${line.slice(0, TITLE_LENGTH)}…` : line;
}
