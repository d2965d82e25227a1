/** Chat Completions: one choice whose message grows by deltas; reasoning in the field that compatible servers use. */
import { defined } from "../core/defined.ts";
import { isShape } from "../dialects/shape.ts";
import { countsOf, type Reply } from "./openai-reply.ts";
import { callId, type Finish, finishOf, pieces, type ScriptBlock, type StreamFault } from "./script.ts";
import { pause, sendEvent, untilGone } from "./serve.ts";

type Delta = Readonly<Record<string, unknown>>;

export async function streamChat(reply: Reply): Promise<void> {
  const { turn, response, signal } = reply;
  const send = async (delta: Delta, finish: string | null = null): Promise<void> =>
    sendEvent(response, { data: chunk(reply, { choices: [{ index: 0, delta, finish_reason: finish }] }) });
  await send({ role: "assistant", content: "" });
  let sent = 0;
  for (const [index, block] of turn.blocks.entries()) {
    for (const delta of deltasOf(reply, { block, index })) {
      if (turn.fault !== undefined && sent >= turn.fault.afterChunks) return breakOff(reply, turn.fault);
      if (signal.aborted) return;
      await send(delta);
      sent += 1;
      if (turn.chunkDelayMs !== undefined) await pause(turn.chunkDelayMs, signal);
    }
  }
  if (turn.fault !== undefined) return breakOff(reply, turn.fault);
  await send({}, finishReason[finishOf(turn)]);
  if (wantsUsage(reply)) await sendEvent(response, { data: chunk(reply, { choices: [], usage: usageOf(reply) }) });
  await sendEvent(response, { data: "[DONE]" });
  response.end();
}

async function breakOff({ response, signal }: Reply, fault: StreamFault): Promise<void> {
  if (fault.type === "hang") return untilGone(signal);
  if (fault.type === "cut") return void response.destroy();
  await sendEvent(response, { data: { error: { message: fault.message, type: fault.code, code: fault.code } } });
  response.end();
}

/** The body for a request that did not ask for a stream. */
export function wholeChat(reply: Reply) {
  const { turn } = reply;
  const said = (type: "text" | "thinking"): string =>
    turn.blocks.map((block) => (block.type === type ? block.text : "")).join("");
  const calls = turn.blocks.flatMap((block, index) =>
    block.type === "tool_call" ? [{ ...callHead(reply, { block, index }), function: wholeFunction(block) }] : [],
  );
  const message = {
    role: "assistant",
    content: said("text"),
    ...defined({
      reasoning_content: said("thinking") || undefined,
      tool_calls: calls.length > 0 ? calls : undefined,
    }),
  };
  return {
    ...envelope(reply, "chat.completion"),
    choices: [{ index: 0, message, finish_reason: finishReason[finishOf(turn)] }],
    usage: usageOf(reply),
  };
}

const finishReason: Readonly<Record<Finish, string>> = {
  stop: "stop",
  tool_calls: "tool_calls",
  length: "length",
  refusal: "stop",
  content_filter: "content_filter",
};

const envelope = ({ number, recorded }: Reply, object: string) => ({
  id: `chatcmpl_scripted${number}`,
  object,
  created: 0,
  model: recorded.model,
});

const chunk = (reply: Reply, rest: object) => ({ ...envelope(reply, "chat.completion.chunk"), ...rest });

function usageOf({ turn }: Reply) {
  const { input, cached, output, reasoning } = countsOf(turn);
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: { cached_tokens: cached },
    completion_tokens_details: { reasoning_tokens: reasoning },
  };
}

function wantsUsage({ recorded: { body } }: Reply): boolean {
  const options = isShape(body) ? body.stream_options : null;
  return isShape(options) && options.include_usage === true;
}

type Call = Extract<ScriptBlock, { type: "tool_call" }>;

const wholeFunction = ({ name, input }: Call) => ({ name, arguments: JSON.stringify(input) });

const callHead = (reply: Reply, { block, index }: { block: Call; index: number }) => ({
  id: callId(block, `${reply.number}_${index}`),
  type: "function",
});

function deltasOf(reply: Reply, { block, index }: { block: ScriptBlock; index: number }): Delta[] {
  switch (block.type) {
    case "text":
      if (finishOf(reply.turn) === "refusal") return pieces(block.text, block.chunks).map((refusal) => ({ refusal }));
      return pieces(block.text, block.chunks).map((content) => ({ content }));
    case "thinking":
      return pieces(block.text, block.chunks).map((reasoning_content) => ({ reasoning_content }));
    case "tool_call": {
      // Calls are counted among themselves, not among all blocks.
      const place = reply.turn.blocks.slice(0, index).filter(({ type }) => type === "tool_call").length;
      const begins = {
        index: place,
        ...callHead(reply, { block, index }),
        function: { name: block.name, arguments: "" },
      };
      return [
        { tool_calls: [begins] },
        ...pieces(JSON.stringify(block.input), block.chunks).map((text) => ({
          tool_calls: [{ index: place, function: { arguments: text } }],
        })),
      ];
    }
  }
}
