/** Codex items that are tools → the parts of a tool call and of its result. Pure: what an item says, nothing else. */
import { defined } from "../../core/defined.ts";
import { unreachable } from "../../core/fold.ts";
import type { CodexItem, FileChange, ItemOf } from "../../dialects/codex.ts";
import type { ContentPart, ToolCallPart, ToolKind } from "../../protocol/items.ts";
import { unwrapped } from "./command-line.ts";
import { fileRefs } from "./files.ts";

export type ToolItem = ItemOf<
  | "commandExecution"
  | "fileChange"
  | "mcpToolCall"
  | "dynamicToolCall"
  | "functionCallOutput"
  | "collabAgentToolCall"
  | "webSearch"
  | "imageView"
  | "sleep"
  | "imageGeneration"
>;

const toolTypes: ReadonlySet<string> = new Set<ToolItem["type"]>([
  "commandExecution",
  "fileChange",
  "mcpToolCall",
  "dynamicToolCall",
  "functionCallOutput",
  "collabAgentToolCall",
  "webSearch",
  "imageView",
  "sleep",
  "imageGeneration",
]);

export const isTool = (item: CodexItem): item is ToolItem => toolTypes.has(item.type);

export interface ToolResult {
  readonly output: string;
  readonly is_error: boolean;
  readonly exit_code?: number | undefined;
  /** Files and images beside the text. */
  readonly parts: readonly ContentPart[];
  /** Somebody said no. */
  readonly denied: boolean;
}

export function callPart(item: ToolItem): ToolCallPart {
  const { name, kind, title, input } = describe(item);
  return {
    type: "tool_call",
    name,
    call_id: item.id,
    arguments: JSON.stringify(input),
    tool_kind: kind,
    title,
  };
}

/** Whether the arguments are all there when the item begins. Searches and pictures fill theirs in at the end. */
export function isCalled(item: ToolItem): boolean {
  switch (item.type) {
    case "webSearch":
      return item.query !== "";
    case "imageGeneration":
    case "functionCallOutput":
      return false;
    case "fileChange":
      return item.changes.length > 0;
    default:
      return true;
  }
}

interface Description {
  readonly name: string;
  readonly kind: ToolKind;
  readonly title: string;
  readonly input: unknown;
}

function describe(item: ToolItem): Description {
  switch (item.type) {
    case "commandExecution": {
      const command = unwrapped(item.command);
      return { name: "shell", kind: "command", title: command, input: { command, cwd: item.cwd } };
    }
    case "fileChange": {
      const title = item.changes.map(({ path }) => path).join(", ");
      return { name: "apply_patch", kind: "file_change", title, input: { changes: item.changes.map(asInput) } };
    }
    case "mcpToolCall": {
      const name = `${item.server}.${item.tool}`;
      return { name, kind: "tool", title: name, input: item.arguments ?? {} };
    }
    case "dynamicToolCall": {
      const name = qualified(item.namespace, item.tool);
      return { name, kind: "tool", title: name, input: item.arguments ?? {} };
    }
    case "functionCallOutput": {
      const name = qualified(item.namespace, item.name);
      return { name, kind: "tool", title: name, input: {} };
    }
    case "collabAgentToolCall":
      return describeCollab(item);
    case "webSearch": {
      const { query, action } = item;
      return {
        name: "web_search",
        kind: "web_search",
        title: query,
        input: defined({ query, action: action ?? undefined }),
      };
    }
    case "imageView":
      return { name: "view_image", kind: "tool", title: item.path, input: { path: item.path } };
    case "sleep":
      return { name: "sleep", kind: "tool", title: `${item.durationMs} ms`, input: { durationMs: item.durationMs } };
    case "imageGeneration": {
      const prompt = item.revisedPrompt ?? "";
      return { name: "image_generation", kind: "tool", title: prompt, input: { prompt } };
    }
    default:
      return unreachable(item);
  }
}

const qualified = (namespace: string | null | undefined, name: string): string =>
  namespace === null || namespace === undefined || namespace === "" ? name : `${namespace}.${name}`;

function describeCollab({ tool, prompt, receiverThreadIds }: ItemOf<"collabAgentToolCall">): Description {
  const agents = tool !== "spawnAgent" && receiverThreadIds.length > 0 ? receiverThreadIds : undefined;
  const input = defined({ prompt: prompt ?? undefined, agents });
  return { name: tool, kind: tool === "spawnAgent" ? "subagent" : "tool", title: prompt ?? tool, input };
}

const asInput = ({ path, kind, diff }: FileChange) => ({
  path,
  kind: kind.type,
  ...defined({ move_path: kind.move_path ?? undefined }),
  diff,
});

export function resultOf(item: ToolItem): ToolResult {
  switch (item.type) {
    case "commandExecution":
      return commandResult(item);
    case "fileChange": {
      const done = item.status === "completed";
      return {
        ...plain({ output: "", failed: !done }),
        parts: done ? fileRefs(item.changes) : [],
        denied: isDenied(item),
      };
    }
    case "mcpToolCall":
      return mcpResult(item);
    case "dynamicToolCall": {
      const output = (item.contentItems ?? []).map(({ text }) => text ?? "").join("\n");
      return plain({ output, failed: item.status === "failed" || item.success === false });
    }
    case "functionCallOutput":
      return plain({ output: textOf(item.output), failed: false });
    case "collabAgentToolCall":
      return plain({ output: agentLines(item), failed: item.status !== "completed" });
    case "webSearch":
      return plain({ output: (item.results ?? []).map((one) => JSON.stringify(one)).join("\n"), failed: false });
    case "imageView":
      return { ...plain({ output: "", failed: false }), parts: imageFile(item.path) };
    case "sleep":
      return plain({ output: "", failed: false });
    case "imageGeneration":
      return generatedImage(item);
    default:
      return unreachable(item);
  }
}

const plain = ({ output, failed }: { output: string; failed: boolean }): ToolResult => ({
  output,
  is_error: failed,
  parts: [],
  denied: false,
});

const isDenied = ({ status }: { status: string }): boolean => status === "declined";

function commandResult(item: ItemOf<"commandExecution">): ToolResult {
  const { exitCode, status, aggregatedOutput } = item;
  const failed = typeof exitCode === "number" ? exitCode !== 0 : status !== "completed";
  const reads = failed ? [] : item.commandActions.filter(({ type }) => type === "read");
  return {
    output: aggregatedOutput ?? "",
    is_error: failed,
    exit_code: exitCode ?? undefined,
    parts: reads.flatMap(({ path }): ContentPart[] =>
      typeof path === "string" ? [{ type: "file_ref", path, action: "read" }] : [],
    ),
    denied: isDenied(item),
  };
}

function mcpResult({ status, result, error }: ItemOf<"mcpToolCall">): ToolResult {
  if (error !== null && error !== undefined) return plain({ output: error.message, failed: true });
  const texts: string[] = [];
  const parts: ContentPart[] = [];
  for (const one of result?.content ?? []) {
    const image = mcpImage(one);
    if (image === null) texts.push(textOf(one));
    else parts.push(image);
  }
  if (texts.length === 0 && parts.length === 0 && result?.structuredContent != null) {
    texts.push(JSON.stringify(result.structuredContent));
  }
  return { ...plain({ output: texts.join("\n"), failed: status === "failed" }), parts };
}

function mcpImage(value: unknown): ContentPart | null {
  if (typeof value !== "object" || value === null || !("type" in value) || value.type !== "image") return null;
  if (!("data" in value) || typeof value.data !== "string") return null;
  const mime = "mimeType" in value && typeof value.mimeType === "string" ? value.mimeType : "image/png";
  return { type: "image", data: value.data, mime };
}

/** The text of whatever a tool gives back: a string, text parts, or anything else as JSON. */
function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  if (Array.isArray(value)) return value.map(textOf).join("\n");
  if (typeof value === "object" && value !== null && "text" in value && typeof value.text === "string")
    return value.text;
  return JSON.stringify(value) ?? "";
}

/** What became of the agents that a call was about, one a line. */
const agentLines = ({ agentsStates }: ItemOf<"collabAgentToolCall">): string =>
  Object.entries(agentsStates)
    .map(([thread, { status, message }]) => `${thread}: ${status}${typeof message === "string" ? `: ${message}` : ""}`)
    .join("\n");

const imageFile = (path: string): ContentPart[] => [
  { type: "file_ref", path, action: "read" },
  { type: "image", path, mime: mimeOf(path) },
];

function generatedImage({ status, result, savedPath, failure }: ItemOf<"imageGeneration">): ToolResult {
  const failed = status === "failed" || (failure !== null && failure !== undefined);
  const parts: ContentPart[] = [];
  if (typeof savedPath === "string") {
    parts.push({ type: "file_ref", path: savedPath, action: "write", change: "add" });
    parts.push({ type: "image", path: savedPath, mime: mimeOf(savedPath) });
  } else if (typeof result === "string" && result !== "")
    parts.push({ type: "image", data: result, mime: "image/png" });
  return { ...plain({ output: failed ? textOf(failure ?? "") : "", failed }), parts };
}

const mimes: ReadonlyMap<string, string> = new Map([
  ["jpg", "image/jpeg"],
  ["jpeg", "image/jpeg"],
  ["gif", "image/gif"],
  ["webp", "image/webp"],
  ["svg", "image/svg+xml"],
]);

export function mimeOf(path: string): string {
  const [, extension] = /\.(\w+)$/.exec(path) ?? [];
  return mimes.get(extension?.toLowerCase() ?? "") ?? "image/png";
}
