/** The command a tool call runs, from its arguments: a title may be the model's own description of it. */
import type { ToolCallPart } from "../protocol/items.ts";

/** Null when the call runs no command, or its arguments are not known yet. */
export function commandOf({ tool_kind, arguments: written }: ToolCallPart): string | null {
  if (tool_kind !== "command" && tool_kind !== "tool") return null;
  return commandIn(parsed(written))?.command ?? null;
}

/** The command in a tool's input, as the agents spell it, with the field that holds it. */
export function commandIn(input: unknown): { readonly field: string; readonly command: string } | null {
  if (typeof input !== "object" || input === null) return null;
  const fields: Readonly<Record<string, unknown>> = { ...input };
  for (const field of ["command", "cmd"]) {
    const value = fields[field];
    if (typeof value === "string" && value !== "") return { field, command: value };
    if (Array.isArray(value) && value.length > 0 && value.every((word) => typeof word === "string"))
      return { field, command: value.join(" ") };
  }
  return null;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** Whether the title is the command or its beginning, cut with an ellipsis. */
export function titleNames(title: string, command: string): boolean {
  const flat = (text: string): string => text.replace(/\s+/g, " ").trim();
  return flat(command).startsWith(flat(title.replace(/…$/, "")));
}
