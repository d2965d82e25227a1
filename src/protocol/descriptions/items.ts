/** What each field of items and their parts means. */
import type * as items from "../items.ts";
import type { Fields } from "./fields.ts";

export const itemTypes = {
  Item: {
    item_id: "The item's id in Franca.",
    native_item_id: "The agent's own id, where it has one.",
    message_id: "Items of one native message share it.",
    parent_id: "The item it belongs to: for a tool call, the message that made it.",
    kind: "What it is.",
    role: "Whose it is.",
    status: "`in_progress` until it is final.",
    content: "Its parts.",
    subagent: "Present for work done by a subagent.",
  } satisfies Fields<items.Item>,
  Subagent: {
    id: "The subagent's id.",
    parent_call_id: "The tool call that started it.",
    name: "Its name or kind.",
  } satisfies Fields<items.Subagent>,
  TextPart: {
    type: "`text`.",
    text: "The text.",
    synthetic:
      "In a prompt: written by a program for the model, such as an editor's selection. Clients need not show it.",
    ignored: "In a prompt: for people only; the agent was not given it.",
  } satisfies Fields<items.TextPart>,
  ReasoningPart: {
    type: "`reasoning`.",
    text: "The reasoning, or a summary of it.",
    visibility: "Whether the agent shows it to its users.",
  } satisfies Fields<items.ReasoningPart>,
  ToolCallPart: {
    type: "`tool_call`.",
    name: "The tool's name, as the agent calls it.",
    arguments: "The arguments as JSON text; empty while they are still being written.",
    call_id: "Connects the call with its result.",
    tool_kind: "What kind of tool it is, the same for every agent.",
    title: "A line for people, for example the command.",
  } satisfies Fields<items.ToolCallPart>,
  ToolResultPart: {
    type: "`tool_result`.",
    call_id: "The call that it answers.",
    output: "What the tool returned.",
    is_error: "Whether the tool failed. Also true for a command with an exit code other than 0.",
    exit_code: "The exit code of a command, where the agent reports it.",
  } satisfies Fields<items.ToolResultPart>,
  FileRefPart: {
    type: "`file_ref`.",
    path: "The file, as the agent names it.",
    action: "What was done with it.",
    diff: "The change as a unified diff, where the agent gives one.",
    change: "What happened to the file, where the agent reports it.",
    mime: "The media type of a file that came with a prompt.",
    filename: "The name of a file that came with a prompt.",
  } satisfies Fields<items.FileRefPart>,
  ImagePart: {
    type: "`image`.",
    path: "Where the image is; or",
    data: "the image itself, as Base64.",
    mime: "Its media type.",
  } satisfies Fields<items.ImagePart>,
  JsonPart: { type: "`json`.", json: "Any JSON value." },
  StatusPart: { type: "`status`.", label: "A short word.", detail: "More about it." },
};
