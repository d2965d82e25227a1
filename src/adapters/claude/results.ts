/** Tool results: their output as text, the images and files in them, and whether the tool ran at all. */
import { defined } from "../../core/defined.ts";
import type { Report } from "../../core/report.ts";
import { itemHead, resultHead, resultKey, whole } from "../../core/report-builders.ts";
import type { ClaudeToolResult } from "../../dialects/claude.ts";
import { readBlock } from "../../dialects/claude-guard.ts";
import { isShape, isString } from "../../dialects/shape.ts";
import type { ContentPart, Subagent } from "../../protocol/items.ts";
import { fileRefs } from "./files.ts";
import { questionSeen } from "./permissions.ts";
import type { State } from "./state.ts";
import { onAgentResult } from "./tasks.ts";
import { onTodoTool } from "./todos.ts";
import { toolKind } from "./tools.ts";

interface ToolReturn {
  readonly block: ClaudeToolResult;
  /** `tool_use_result`: what the tool returned before it was made into text; a string on errors. */
  readonly returned: unknown;
  /** The entry of `tool_result_meta` for this call. */
  readonly meta: unknown;
  readonly subagent: Subagent | undefined;
}

export function onToolResult(state: State, { block, returned, meta, subagent }: ToolReturn): Report[] {
  const call = block.tool_use_id;
  const tool = state.tools.get(call);
  const failed = block.is_error;
  const { output, images } = read(block.content);
  const name = tool?.name ?? "";
  const exit_code = failed && toolKind(name) === "command" ? exitCodeOf(output) : undefined;
  const content: ContentPart[] = [
    defined({ type: "tool_result", call_id: call, output, is_error: failed, exit_code }),
    ...images,
    ...(failed ? [] : fileRefs({ name, input: tool?.input, returned })),
  ];
  const denied = failed && wasDenied({ meta, output });
  const out: Report[] = denied ? denial(state, { call, output }) : [];
  if (name === "AskUserQuestion" && !state.askedCalls.has(call)) {
    out.push(...questionSeen({ call, input: tool?.input, returned, output, failed }));
  }
  out.push({
    type: "close",
    key: resultKey(call),
    status: failed ? "failed" : "completed",
    content,
    item: resultHead({ key: call, subagent: tool?.subagent ?? subagent }),
    denied,
  });
  if (!failed && tool !== undefined && tool.subagent === undefined) {
    out.push(...onTodoTool(state.todos, { name, input: tool.input, returned, output }));
  }
  out.push(...onAgentResult(state, { call, returned, failed }));
  return out;
}

/** A rule said no and no person was asked: reported once, by a line of its own or by the result. */
export function denial(state: State, { call, output }: { call: string; output: string }): Report[] {
  if (state.askedCalls.has(call) || state.denials.has(call)) return [];
  state.denials.add(call);
  const subagent = state.tools.get(call)?.subagent;
  const named = { key: `${call}/denied`, native_item_id: call, parent: call, subagent };
  const content: ContentPart[] = [{ type: "status", label: "permission_denied", detail: output }];
  return whole(itemHead("status", { content, ...named }));
}

function exitCodeOf(output: string): number | undefined {
  const code = /^Exit code (\d+)/.exec(output)?.[1];
  return code === undefined ? undefined : Number(code);
}

// The words of versions that do not send `tool_result_meta`.
const DENIALS = [
  "The user doesn't want to proceed with this tool use",
  "The user doesn't want to take this action right now",
  "Permission to use ",
  "Claude requested permissions to ",
  "Tool permission request failed",
  "Tool permission stream closed",
];

function wasDenied({ meta, output }: { meta: unknown; output: string }): boolean {
  if (isShape(meta)) return isString(meta.non_execution_kind);
  return DENIALS.some((words) => output.startsWith(words));
}

function read(content: ClaudeToolResult["content"]): { output: string; images: ContentPart[] } {
  if (content === undefined) return { output: "", images: [] };
  if (typeof content === "string") return { output: content, images: [] };
  const texts: string[] = [];
  const images: ContentPart[] = [];
  for (const block of content.map(readBlock)) {
    if (block.type === "text") texts.push(block.text);
    else if (block.type === "image") {
      const { data, media_type } = block.source;
      images.push(defined({ type: "image", mime: media_type ?? "image/png", data }));
    } else texts.push(JSON.stringify(block.type === "other" ? block.native : block));
  }
  return { output: texts.join("\n"), images };
}
