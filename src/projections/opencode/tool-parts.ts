/** Tool parts: pending, running, completed or error, in this order, each part final exactly once. */
import type { OpenCodeFilePart, OpenCodeToolState } from "../../dialects/opencode.ts";
import type { EventOf } from "../../protocol/events.ts";
import type { FileRefPart, Item, ToolCallPart, ToolResultPart } from "../../protocol/items.ts";
import { filePart, messageFor } from "./messages.ts";
import { type Conversation, eventId, isQuiet, makeId, ownId, type Rendering, type ToolEntry } from "./state.ts";
import { closeTool } from "./steps.ts";
import { absolutePath, bounded, finalMetadata, runningMetadata, titleOf } from "./tool-metadata.ts";
import { parseArguments, toolInput, toolName } from "./tools.ts";

/** OpenCode repeats all output so far in every update, so we emit one at most this often. */
const OUTPUT_EVERY_MS = 100;

const callOf = (item: Item): ToolCallPart | undefined => item.content.find((part) => part.type === "tool_call");
const resultOf = (item: Item): ToolResultPart | undefined => item.content.find((part) => part.type === "tool_result");

export function openCall(
  rendering: Rendering,
  { conversation, item }: { conversation: Conversation; item: Item },
): void {
  const call = callOf(item);
  if (call === undefined) return;
  const known = rendering.state.tools.get(call.call_id);
  // Some models use one id for all their calls: what is final is another call.
  if (known !== undefined && known.status !== "final") return;
  beginTool(rendering, { conversation, item, call });
}

function beginTool(
  rendering: Rendering,
  { conversation, item, call }: { conversation: Conversation; item: Item; call: ToolCallPart },
): ToolEntry {
  const { state, ms } = rendering;
  const message = messageFor(rendering, { conversation, item });
  const entry: ToolEntry = {
    conversation: conversation.key,
    session: conversation.id,
    messageID: message.id,
    id: ownId(state, { prefix: "prt", id: item.native_item_id }) ?? makeId(rendering, "prt", item.item_id, "tool"),
    callID: call.call_id,
    tool: toolName({ name: call.name, kind: call.tool_kind }),
    native: call.name,
    nativeInput: null,
    input: {},
    title: call.title,
    status: "pending",
    start: ms,
    output: "",
    shownAt: 0,
    child: null,
    answers: null,
  };
  message.openTools += 1;
  state.tools.set(call.call_id, entry);
  state.turn.used.add(entry.id);
  emitTool(rendering, { entry, toolState: { status: "pending", input: {}, raw: "" } });
  return entry;
}

/** The arguments are complete: the tool runs. */
export function runCall(
  rendering: Rendering,
  { conversation, item }: { conversation: Conversation; item: Item },
): void {
  const call = callOf(item);
  if (call === undefined) return;
  const entry = rendering.state.tools.get(call.call_id) ?? beginTool(rendering, { conversation, item, call });
  if (entry.status !== "pending") return;
  const native = parseArguments(call.arguments);
  const input = toolInput({ tool: entry.tool, native });
  entry.input = input;
  entry.nativeInput = isSame({ input, native }) ? null : native;
  entry.title = call.title;
  run(rendering, entry);
}

function run(rendering: Rendering, entry: ToolEntry): void {
  entry.status = "running";
  entry.start = rendering.ms;
  emitRunning(rendering, entry);
}

/** Running, with what is known by now: printed output, the child session it began. */
export function emitRunning(rendering: Rendering, entry: ToolEntry): void {
  const { input, start } = entry;
  const title = entry.child === null ? undefined : titleOf(entry, rendering.state.directory);
  const metadata = runningMetadata(entry);
  emitTool(rendering, { entry, toolState: { status: "running", input, title, metadata, time: { start } } });
}

/** The call a result item belongs to, for the deltas of its output. */
export function openResult(rendering: Rendering, item: Item): void {
  const result = resultOf(item);
  if (result !== undefined) rendering.state.results.set(item.item_id, result.call_id);
}

export function emitOutput(rendering: Rendering, { data }: EventOf<"item.delta">): void {
  const { state, ms } = rendering;
  const call = state.results.get(data.item_id);
  const entry = call === undefined ? undefined : state.tools.get(call);
  if (entry === undefined || entry.status !== "running") return;
  entry.output = bounded(entry.output + data.delta);
  if (entry.shownAt !== 0 && ms - entry.shownAt < OUTPUT_EVERY_MS) return;
  entry.shownAt = Math.max(1, ms);
  emitRunning(rendering, entry);
}

export function closeResult(
  rendering: Rendering,
  { conversation, item }: { conversation: Conversation; item: Item },
): void {
  const { state } = rendering;
  const result = resultOf(item);
  if (result === undefined) return;
  state.results.delete(item.item_id);
  const files = item.content.filter((part) => part.type === "file_ref");
  for (const file of files) emitFile(rendering, file);
  if (isQuiet(conversation)) return void state.tools.delete(result.call_id);
  const entry = state.tools.get(result.call_id) ?? beginTool(rendering, { conversation, item, call: stray(result) });
  if (entry.status === "final") return;
  if (entry.status === "pending") run(rendering, entry);
  finish(rendering, { entry, result, files, item });
  closeTool(rendering, entry);
}

/** A result whose call was never seen: it still happened. */
const stray = ({ call_id }: ToolResultPart): ToolCallPart => ({
  type: "tool_call",
  name: "unknown",
  arguments: "",
  call_id,
  tool_kind: "tool",
  title: "",
});

export function emitFile(rendering: Rendering, { action, path }: FileRefPart): void {
  if (action === "read" || rendering.state.copying) return;
  const file = absolutePath({ path, directory: rendering.state.directory });
  rendering.out.push({ id: eventId(rendering), type: "file.edited", properties: { file } });
}

function finish(
  rendering: Rendering,
  {
    entry,
    result,
    files,
    item,
  }: { entry: ToolEntry; result: ToolResultPart; files: readonly FileRefPart[]; item: Item },
): void {
  const { state, ms } = rendering;
  const { input, start } = entry;
  const time = { start, end: ms };
  entry.status = "final";
  // A tool that failed has done nothing: the metadata of its run is all there is to draw.
  if (item.status === "failed" && rendering.event.synthetic) {
    const error = result.output === "" ? INTERRUPTED : `${INTERRUPTED}\n${result.output}`;
    const metadata = { ...runningMetadata(entry), interrupted: true };
    emitTool(rendering, { entry, toolState: { status: "error", input, error, metadata, time } });
    return;
  }
  // A command that ran and said no is a result: OpenCode shows its output and exit code.
  const ran = entry.tool === "bash" && result.exit_code !== undefined;
  if (result.is_error && !ran) {
    const error = result.output === "" ? "The tool failed" : result.output;
    const metadata = runningMetadata(entry);
    emitTool(rendering, { entry, toolState: { status: "error", input, error, metadata, time } });
    return;
  }
  const attachments = attachmentsOf(rendering, { entry, item });
  const title = titleOf(entry, state.directory);
  const metadata = finalMetadata({ entry, result, files, directory: state.directory });
  emitTool(rendering, {
    entry,
    toolState: { status: "completed", input, output: result.output, title, metadata, time, attachments },
  });
}

/** The images of a result; undefined where it has none. */
function attachmentsOf(
  rendering: Rendering,
  { entry, item }: { entry: ToolEntry; item: Item },
): readonly OpenCodeFilePart[] | undefined {
  const images = item.content.filter((part) => part.type === "image");
  if (images.length === 0) return undefined;
  return images.flatMap((part, index) => {
    const id = makeId(rendering, "prt", item.item_id, String(index));
    const base = { sessionID: entry.session, messageID: entry.messageID, id };
    return filePart(part, { base, directory: rendering.state.directory }) ?? [];
  });
}

const INTERRUPTED = "Tool execution aborted";

/**
 * At idle every tool part is final: a call that was cut is an error, one that goes on in the background is done here.
 */
export function settleTools(rendering: Rendering, conversation: string): void {
  const { state, ms } = rendering;
  if (state.tools.size === 0) return;
  // The machine closes what a turn leaves open, so a result that is open still belongs to background work.
  const background = new Set(state.results.values());
  for (const [call, entry] of state.tools) {
    if (entry.conversation !== conversation) continue;
    // Background work keeps its entry, final as it is, so that its late result is known for what it is.
    if (!background.has(call)) state.tools.delete(call);
    if (entry.status === "final") continue;
    if (entry.status === "pending") run(rendering, entry);
    const { input, start, output } = entry;
    const time = { start, end: ms };
    entry.status = "final";
    if (background.has(call)) {
      const title = titleOf(entry, state.directory);
      const metadata = finalMetadata({ entry, result: null, files: [], directory: state.directory });
      const more = { ...metadata, background: true };
      emitTool(rendering, { entry, toolState: { status: "completed", input, output, title, metadata: more, time } });
    } else {
      const more = { ...runningMetadata(entry), interrupted: true };
      emitTool(rendering, { entry, toolState: { status: "error", input, error: INTERRUPTED, metadata: more, time } });
    }
    closeTool(rendering, entry);
  }
}

function emitTool(
  rendering: Rendering,
  { entry, toolState }: { entry: ToolEntry; toolState: OpenCodeToolState },
): void {
  const { id, callID, tool, messageID, session: sessionID } = entry;
  const metadata = nativeMetadata(entry);
  const part = { id, messageID, sessionID, type: "tool", tool, callID, state: toolState, metadata } as const;
  rendering.out.push({
    id: eventId(rendering),
    type: "message.part.updated",
    properties: { sessionID, part, time: rendering.ms },
  });
}

/** The agent's own name and input, where OpenCode's clients get another. */
function nativeMetadata({ native, nativeInput, tool }: ToolEntry): Readonly<Record<string, unknown>> | undefined {
  if (native === tool && nativeInput === null) return undefined;
  return { native: { tool: native, input: nativeInput ?? undefined } };
}

type Input = Readonly<Record<string, unknown>>;

const isEqual = (one: unknown, other: unknown): boolean =>
  one === other || (typeof one === "object" && JSON.stringify(one) === JSON.stringify(other));

function isSame({ input, native }: { input: Input; native: Input }): boolean {
  const keys = Object.keys(native);
  return keys.length === Object.keys(input).length && keys.every((key) => isEqual(input[key], native[key]));
}
