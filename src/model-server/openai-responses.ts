/** The Responses API: an answer is a list of output items, each streamed from `added` to `done`. */
import { isShape } from "../dialects/shape.ts";
import { countsOf, type Reply } from "./openai-reply.ts";
import { callId, finishOf, pieces, type ScriptBlock, type StreamFault } from "./script.ts";
import { pause, sendEvent, untilGone } from "./serve.ts";

type Event = { readonly type: string; readonly [field: string]: unknown };
type Call = Extract<ScriptBlock, { type: "tool_call" }>;

export async function streamResponse(reply: Reply): Promise<void> {
  const { turn, response, signal } = reply;
  let sequence = 0;
  const send = async (event: Event): Promise<void> => {
    await sendEvent(response, { event: event.type, data: { ...event, sequence_number: sequence } });
    sequence += 1;
  };
  await send({ type: "response.created", response: { ...envelope(reply), status: "in_progress" } });
  let sent = 0;
  for (const [index, block] of turn.blocks.entries()) {
    const { before, deltas, after } = itemEvents(reply, { block, index });
    for (const event of before) await send(event);
    for (const event of deltas) {
      if (turn.fault !== undefined && sent >= turn.fault.afterChunks)
        return breakOff(reply, { fault: turn.fault, send });
      if (signal.aborted) return;
      await send(event);
      sent += 1;
      if (turn.chunkDelayMs !== undefined) await pause(turn.chunkDelayMs, signal);
    }
    for (const event of after) await send(event);
  }
  if (turn.fault !== undefined) return breakOff(reply, { fault: turn.fault, send });
  const whole = wholeResponse(reply);
  await send({ type: whole.status === "incomplete" ? "response.incomplete" : "response.completed", response: whole });
  response.end();
}

async function breakOff(
  reply: Reply,
  { fault, send }: { fault: StreamFault; send: (event: Event) => Promise<void> },
): Promise<void> {
  const { response, signal } = reply;
  if (fault.type === "hang") return untilGone(signal);
  if (fault.type === "cut") return void response.destroy();
  const error = { code: fault.code, message: fault.message };
  await send({ type: "response.failed", response: { ...envelope(reply), status: "failed", error } });
  response.end();
}

/** The answer as it stands at its end; also the body for a request that did not ask for a stream. */
export function wholeResponse(reply: Reply) {
  const { turn } = reply;
  const finish = finishOf(turn);
  const cut = finish === "length" ? "max_output_tokens" : finish === "content_filter" ? "content_filter" : null;
  const { input, cached, output, reasoning } = countsOf(turn);
  return {
    ...envelope(reply),
    status: cut === null ? "completed" : "incomplete",
    incomplete_details: cut === null ? null : { reason: cut },
    output: turn.blocks.map((block, index) => doneItem(reply, { block, index })),
    usage: {
      input_tokens: input,
      input_tokens_details: { cached_tokens: cached },
      output_tokens: output,
      output_tokens_details: { reasoning_tokens: reasoning },
      total_tokens: input + output,
    },
  };
}

const envelope = ({ number, recorded }: Reply) => ({
  id: `resp_scripted${number}`,
  object: "response",
  created_at: 0,
  model: recorded.model,
  error: null,
});

interface Place {
  readonly block: ScriptBlock;
  readonly index: number;
}

interface ItemEvents {
  readonly before: readonly Event[];
  readonly deltas: readonly Event[];
  readonly after: readonly Event[];
}

function itemEvents(reply: Reply, place: Place): ItemEvents {
  const { block, index } = place;
  const item = doneItem(reply, place);
  const at = { item_id: item.id, output_index: index };
  const done: Event = { type: "response.output_item.done", output_index: index, item };
  const added = (empty: object): Event => ({
    type: "response.output_item.added",
    output_index: index,
    item: { ...item, status: "in_progress", ...empty },
  });
  const each = (type: string, text: string, more: object = {}): Event[] =>
    pieces(text, block.chunks).map((delta) => ({ type, ...at, ...more, delta }));
  switch (block.type) {
    case "text": {
      const refused = finishOf(reply.turn) === "refusal";
      const type = refused ? "response.refusal.delta" : "response.output_text.delta";
      return { before: [added({ content: [] })], deltas: each(type, block.text, { content_index: 0 }), after: [done] };
    }
    case "thinking": {
      const part = { type: "response.reasoning_summary_part.added", ...at, summary_index: 0 };
      const opened: Event = { ...part, part: { type: "summary_text", text: "" } };
      const deltas = each("response.reasoning_summary_text.delta", block.text, { summary_index: 0 });
      return { before: [added({ summary: [] }), opened], deltas, after: [done] };
    }
    case "tool_call": {
      const custom = isCustom(reply, block);
      const type = custom ? "response.custom_tool_call_input.delta" : "response.function_call_arguments.delta";
      const empty = custom ? { input: "" } : { arguments: "" };
      return { before: [added(empty)], deltas: each(type, argumentsOf(block, { custom })), after: [done] };
    }
  }
}

function doneItem(reply: Reply, { block, index }: Place) {
  const id = `${reply.number}_${index}`;
  switch (block.type) {
    case "text": {
      const refused = finishOf(reply.turn) === "refusal";
      const part = refused
        ? { type: "refusal", refusal: block.text }
        : { type: "output_text", text: block.text, annotations: [] };
      return { type: "message", id: `msg_${id}`, status: "completed", role: "assistant", content: [part] };
    }
    case "thinking":
      return { type: "reasoning", id: `rs_${id}`, summary: [{ type: "summary_text", text: block.text }] };
    case "tool_call":
      return callItem(reply, { block, id });
  }
}

function callItem(reply: Reply, { block, id }: { block: Call; id: string }) {
  const call_id = callId(block, id);
  if (isCustom(reply, block)) {
    const input = argumentsOf(block, { custom: true });
    return { type: "custom_tool_call", id: `ctc_${id}`, status: "completed", call_id, name: block.name, input };
  }
  return {
    type: "function_call",
    id: `fc_${id}`,
    status: "completed",
    call_id,
    ...namesOf(reply, block.name),
    arguments: argumentsOf(block, { custom: false }),
  };
}

const argumentsOf = ({ input }: Call, { custom }: { custom: boolean }): string =>
  custom && typeof input === "string" ? input : JSON.stringify(input);

const offered = ({ recorded: { body } }: Reply): readonly unknown[] =>
  isShape(body) && Array.isArray(body.tools) ? body.tools : [];

/** A tool that takes free text instead of JSON, as it was offered in the request. */
const isCustom = (reply: Reply, { name }: Call): boolean =>
  offered(reply).some((tool) => isShape(tool) && tool.type === "custom" && tool.name === name);

/** `namespace.tool`, where such a namespace was offered. */
function namesOf(reply: Reply, name: string): { name: string; namespace?: string } {
  const dot = name.indexOf(".");
  const namespace = name.slice(0, Math.max(dot, 0));
  const known = offered(reply).some((tool) => isShape(tool) && tool.type === "namespace" && tool.name === namespace);
  return known ? { name: name.slice(dot + 1), namespace } : { name };
}
