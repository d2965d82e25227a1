/**
 * Stream parts → lines, and the assistant's message that goes back to the model. What breaks off is closed as failed.
 */
import type { TextStreamPart, ToolSet } from "ai";
import { defined } from "../core/defined.ts";
import { isValueTooDeep } from "../core/json.ts";
import type { BuiltinSays } from "../dialects/builtin.ts";
import type { AssistantParts } from "./conversation.ts";
import type { ModelCall } from "./step.ts";
import { findTool } from "./tools/index.ts";
import type { Tool } from "./tools/tool.ts";

export interface Speaker {
  readonly say: (line: BuiltinSays) => Promise<void>;
  /** On every line of a child. */
  readonly mark: { readonly subagent?: string };
  readonly ownCallId: (native: string) => string;
  /** While a plugin wants to see texts first, each is held back and said as one; null: texts are streamed. */
  readonly completeText: ((ids: { messageID: string; partID: string }, text: string) => Promise<string>) | null;
}

type Part = TextStreamPart<ToolSet>;
type Metadata = Extract<Part, { type: "text-end" }>["providerMetadata"];

interface Block {
  readonly id: string;
  readonly kind: "text" | "reasoning";
  text: string;
  metadata: Metadata;
}

interface Heard {
  readonly speaker: Speaker;
  readonly message_id: string;
  readonly tools: readonly Tool[];
  readonly content: AssistantParts;
  readonly calls: ModelCall[];
  /** Open blocks and calls by the provider's names. */
  readonly blocks: Map<string, Block>;
  readonly inputs: Map<string, string>;
  blockCount: number;
}

export interface SpokenMessage {
  readonly hear: (part: Part) => Promise<void>;
  /** The answer did not come to its end: what was open is closed as failed. Returns the texts as far as they got. */
  readonly breakOff: () => Promise<AssistantParts>;
  readonly finish: () => Promise<{ content: AssistantParts; calls: readonly ModelCall[] }>;
}

export function startSpeaker(
  speaker: Speaker,
  { message_id, tools }: { message_id: string; tools: readonly Tool[] },
): SpokenMessage {
  const heard: Heard = {
    speaker,
    message_id,
    tools,
    content: [],
    calls: [],
    blocks: new Map(),
    inputs: new Map(),
    blockCount: 0,
  };
  return {
    hear: (part) => hear(heard, part),
    breakOff: () => breakOff(heard),
    async finish() {
      for (const native of [...heard.blocks.keys()]) await endBlock(heard, { native, metadata: undefined });
      for (const [native, call_id] of heard.inputs) await dropInput(heard, { native, call_id });
      return { content: heard.content, calls: heard.calls };
    },
  };
}

async function hear(heard: Heard, part: Part): Promise<void> {
  switch (part.type) {
    case "text-start":
      return startBlock(heard, { native: `text ${part.id}`, kind: "text", metadata: part.providerMetadata });
    case "reasoning-start":
      return startBlock(heard, { native: `reasoning ${part.id}`, kind: "reasoning", metadata: part.providerMetadata });
    case "text-delta":
      return addText(heard, { native: `text ${part.id}`, text: part.text, metadata: part.providerMetadata });
    case "reasoning-delta":
      return addText(heard, { native: `reasoning ${part.id}`, text: part.text, metadata: part.providerMetadata });
    case "text-end":
      return endBlock(heard, { native: `text ${part.id}`, metadata: part.providerMetadata });
    case "reasoning-end":
      return endBlock(heard, { native: `reasoning ${part.id}`, metadata: part.providerMetadata });
    case "tool-input-start":
      return startInput(heard, { native: part.id, tool: part.toolName });
    case "tool-call":
      return addCall(heard, part);
    // The loop runs tools and keeps the rest; what a tool's input looks like half-written interests nobody.
    default:
      return;
  }
}

async function startBlock(
  heard: Heard,
  { native, kind, metadata }: { native: string; kind: Block["kind"]; metadata: Metadata },
): Promise<void> {
  const { speaker, message_id } = heard;
  const block: Block = { id: `${message_id}/${heard.blockCount}`, kind, text: "", metadata };
  heard.blockCount += 1;
  heard.blocks.set(native, block);
  // Also where its words are held back: a plugin that is asked about the text may look at its message.
  await speaker.say({ type: `${kind}.start`, id: block.id, message_id, ...speaker.mark });
}

const isHeld = ({ speaker }: Heard, { kind }: Block): boolean => kind === "text" && speaker.completeText !== null;

async function addText(
  heard: Heard,
  { native, text, metadata }: { native: string; text: string; metadata: Metadata },
): Promise<void> {
  const block = heard.blocks.get(native);
  if (block === undefined) return;
  block.metadata = metadata ?? block.metadata;
  block.text += text;
  if (text === "" || isHeld(heard, block)) return;
  await heard.speaker.say({ type: `${block.kind}.delta`, id: block.id, delta: text });
}

async function endBlock(heard: Heard, { native, metadata }: { native: string; metadata: Metadata }): Promise<void> {
  const block = heard.blocks.get(native);
  if (block === undefined) return;
  heard.blocks.delete(native);
  const { speaker, message_id } = heard;
  const { id, kind } = block;
  if (isHeld(heard, block) && speaker.completeText !== null) {
    block.text = await speaker.completeText({ messageID: message_id, partID: id }, block.text.trimEnd());
    if (block.text !== "") await speaker.say({ type: "text.delta", id, delta: block.text });
  }
  const { text } = block;
  await speaker.say({ type: `${kind}.end`, id, text, failed: false });
  const options = metadata ?? block.metadata;
  // Providers refuse empty texts, but an empty reasoning block may carry a signature they want back.
  if (text === "" && (kind === "text" || options === undefined)) return;
  heard.content.push({ type: kind, text, ...defined({ providerOptions: options }) });
}

async function startInput(heard: Heard, { native, tool }: { native: string; tool: string }): Promise<void> {
  const { speaker, message_id, tools } = heard;
  if (heard.inputs.has(native)) return;
  const call_id = speaker.ownCallId(native);
  heard.inputs.set(native, call_id);
  const kind = findTool(tools, tool)?.kind ?? "tool";
  await speaker.say({ type: "tool.input", call_id, tool, kind, message_id, ...speaker.mark });
}

async function addCall(heard: Heard, part: Extract<Part, { type: "tool-call" }>): Promise<void> {
  const { speaker, message_id, tools } = heard;
  const { toolCallId: native, toolName: tool, providerMetadata } = part;
  const input: unknown = isValueTooDeep(part.input) ? "(nested too deeply)" : part.input;
  await startInput(heard, { native, tool });
  const call_id = heard.inputs.get(native) ?? native;
  heard.inputs.delete(native);
  const known = findTool(tools, tool);
  heard.calls.push({ call_id, tool, input });
  heard.content.push({
    type: "tool-call",
    toolCallId: call_id,
    toolName: tool,
    // Providers take back only objects; what was no JSON is shown to the model as it wrote it.
    input: typeof input === "object" && input !== null ? input : { text: input },
    ...defined({ providerOptions: providerMetadata }),
  });
  const kind = known?.kind ?? "tool";
  const title = titleOf({ known, tool, input });
  await speaker.say({ type: "tool.call", call_id, tool, kind, message_id, input, title, ...speaker.mark });
}

function titleOf({ known, tool, input }: { known: Tool | null; tool: string; input: unknown }): string {
  try {
    return known?.prepare(input).title ?? tool;
  } catch {
    // The input does not fit; the result will say so.
    return tool;
  }
}

async function breakOff(heard: Heard): Promise<AssistantParts> {
  const { speaker } = heard;
  const said: AssistantParts = heard.content.filter(({ type }) => type === "text");
  for (const block of heard.blocks.values()) {
    // Nobody has heard a text that was held back.
    const text = isHeld(heard, block) ? "" : block.text;
    await speaker.say({ type: `${block.kind}.end`, id: block.id, text, failed: true });
    if (block.kind === "text" && text !== "") said.push({ type: "text", text });
  }
  heard.blocks.clear();
  for (const [native, call_id] of heard.inputs) await dropInput(heard, { native, call_id });
  const message = "The tool did not run: the model's answer broke off.";
  for (const { call_id } of heard.calls) await speaker.say({ type: "tool.error", call_id, message, denied: false });
  return said;
}

async function dropInput(heard: Heard, { native, call_id }: { native: string; call_id: string }): Promise<void> {
  heard.inputs.delete(native);
  const message = "The call was never completed.";
  await heard.speaker.say({ type: "tool.error", call_id, message, denied: false });
}
