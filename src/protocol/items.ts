/** Items: one block of a message, a tool call, a tool result, a status. The nouns of the vocabulary. */
import * as z from "zod";
import { ItemId } from "./id-schemas.ts";

export const ItemKind = z.enum(["message", "tool_call", "tool_result", "system", "status", "unknown"]);
export type ItemKind = z.infer<typeof ItemKind>;

export const ItemRole = z.enum(["user", "assistant", "system", "tool"]);
export type ItemRole = z.infer<typeof ItemRole>;

export const ItemStatus = z.enum(["in_progress", "completed", "failed"]);
export type ItemStatus = z.infer<typeof ItemStatus>;

export const ToolKind = z.enum(["command", "file_change", "web_search", "subagent", "note", "tool"]);
export type ToolKind = z.infer<typeof ToolKind>;

export const TextPart = z.object({
  type: z.literal("text"),
  text: z.string(),
  /** In a prompt: written by a program for the model, such as an editor's selection; clients need not show it. */
  synthetic: z.boolean().optional(),
  /** In a prompt: for people only; the agent was not given it. */
  ignored: z.boolean().optional(),
});
export type TextPart = z.infer<typeof TextPart>;

export const ReasoningPart = z.object({
  type: z.literal("reasoning"),
  text: z.string(),
  visibility: z.enum(["public", "private"]),
});
export type ReasoningPart = z.infer<typeof ReasoningPart>;

export const ToolCallPart = z.object({
  type: z.literal("tool_call"),
  name: z.string(),
  /** JSON, encoded as a string; empty while the arguments are still being written. */
  arguments: z.string(),
  call_id: z.string(),
  tool_kind: ToolKind,
  title: z.string(),
});
export type ToolCallPart = z.infer<typeof ToolCallPart>;

export const ToolResultPart = z.object({
  type: z.literal("tool_result"),
  call_id: z.string(),
  output: z.string(),
  is_error: z.boolean(),
  /** Of a command: its exit code, where the agent reports it. */
  exit_code: z.number().int().optional(),
});
export type ToolResultPart = z.infer<typeof ToolResultPart>;

export const FileRefPart = z.object({
  type: z.literal("file_ref"),
  path: z.string(),
  action: z.enum(["read", "write", "patch"]),
  diff: z.string().optional(),
  /** What happened to the file, where the agent reports it. */
  change: z.enum(["add", "update", "delete", "move"]).optional(),
  /** Of a file that came with a prompt, as its sender described it. */
  mime: z.string().optional(),
  filename: z.string().optional(),
});
export type FileRefPart = z.infer<typeof FileRefPart>;

export const ImagePart = z.object({
  type: z.literal("image"),
  path: z.string().optional(),
  /** Base64. */
  data: z.string().optional(),
  mime: z.string(),
});
export type ImagePart = z.infer<typeof ImagePart>;

export const JsonPart = z.object({ type: z.literal("json"), json: z.unknown() });
export const StatusPart = z.object({ type: z.literal("status"), label: z.string(), detail: z.string().optional() });

export const ContentPart = z.discriminatedUnion("type", [
  TextPart,
  ReasoningPart,
  ToolCallPart,
  ToolResultPart,
  FileRefPart,
  ImagePart,
  JsonPart,
  StatusPart,
]);
export type ContentPart = z.infer<typeof ContentPart>;

export const Subagent = z.object({
  id: z.string(),
  parent_call_id: z.string().nullable(),
  name: z.string().optional(),
});
export type Subagent = z.infer<typeof Subagent>;

export const Item = z.object({
  item_id: ItemId,
  native_item_id: z.string().nullable(),
  /** Blocks of one native message share it. */
  message_id: z.string().nullable(),
  parent_id: ItemId.nullable(),
  kind: ItemKind,
  role: ItemRole,
  status: ItemStatus,
  content: z.array(ContentPart).readonly(),
  subagent: Subagent.optional(),
});
export type Item = Readonly<z.infer<typeof Item>>;
