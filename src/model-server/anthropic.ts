/** A scripted Anthropic Messages server: streams a script's turns as the provider would, faults included. */
import type { ServerResponse } from "node:http";
import {
  callId,
  type Finish,
  finishOf,
  type ModelRequest,
  pieces,
  type Script,
  type ScriptBlock,
  type ScriptTurn,
  type StreamFault,
} from "./script.ts";
import { flushed, type ModelServer, pause, sendEvent, sendJson, serveModel, untilGone, type Wire } from "./serve.ts";

export const serveAnthropic = (script: Script): Promise<ModelServer> => serveModel(anthropicWire(), script);

type Answer = Extract<ScriptTurn, { type: "answer" }>;

const MESSAGES = "/v1/messages";
const ESTIMATED_TOKENS = 100;

function anthropicWire(): Wire {
  let answers = 0;
  return {
    read: ({ method, path, headers, body }) => {
      if (method !== "POST" || pathOf(path) !== MESSAGES) return null;
      return { method, path, headers, body, ...readBody(body) };
    },
    other: ({ method, path }) => {
      if (pathOf(path) === `${MESSAGES}/count_tokens`) return { status: 200, body: { input_tokens: ESTIMATED_TOKENS } };
      if (method === "HEAD" || path === "/") return { status: 200, body: {} };
      return { status: 404, body: errorBody({ code: "not_found_error", message: `No such path: ${path}` }) };
    },
    async answer({ turn, recorded, response, signal }) {
      answers += 1;
      if (turn.type === "silence") return untilGone(signal);
      if (turn.type === "status") return sendStatus(response, turn);
      const message = { id: `msg_scripted${answers}`, model: recorded.model, turn };
      if (isStream(recorded.body)) await stream({ message, response, signal });
      else sendJson(response, { status: 200, body: whole(message) });
    },
  };
}

interface Message {
  readonly id: string;
  readonly model: string;
  readonly turn: Answer;
}

async function stream({
  message,
  response,
  signal,
}: {
  message: Message;
  response: ServerResponse;
  signal: AbortSignal;
}): Promise<void> {
  const { turn } = message;
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
  const send = async (data: { readonly type: string; readonly [field: string]: unknown }): Promise<void> =>
    sendEvent(response, { event: data.type, data });
  await send({ type: "message_start", message: { ...envelope(message), content: [], usage: startUsage(turn) } });
  await send({ type: "ping" });
  let sent = 0;
  for (const [index, block] of turn.blocks.entries()) {
    await send({ type: "content_block_start", index, content_block: emptyBlock(block, placeOf(message, index)) });
    for (const delta of deltasOf(block)) {
      if (turn.fault !== undefined && sent >= turn.fault.afterChunks) return breakOff(response, turn.fault, signal);
      if (signal.aborted) return;
      await send({ type: "content_block_delta", index, delta });
      sent += 1;
      if (turn.chunkDelayMs !== undefined) await pause(turn.chunkDelayMs, signal);
    }
    await send({ type: "content_block_stop", index });
  }
  if (turn.fault !== undefined) return breakOff(response, turn.fault, signal);
  const delta = { stop_reason: stopReason[finishOf(turn)], stop_sequence: null };
  await send({ type: "message_delta", delta, usage: { output_tokens: outputOf(turn) } });
  await send({ type: "message_stop" });
  response.end();
}

async function breakOff(response: ServerResponse, fault: StreamFault, signal: AbortSignal): Promise<void> {
  switch (fault.type) {
    case "hang":
      return untilGone(signal);
    case "cut":
      await flushed(response);
      response.destroy();
      return;
    case "error":
      await sendEvent(response, { event: "error", data: errorBody(fault) });
      response.end();
      return;
  }
}

function sendStatus(response: ServerResponse, turn: Extract<ScriptTurn, { type: "status" }>): void {
  const { status, headers = {}, message = `Scripted status ${status}` } = turn;
  const code = turn.code ?? statusCodes[status] ?? "api_error";
  sendJson(response, { status, headers, body: turn.body ?? errorBody({ code, message }) });
}

const statusCodes: Readonly<Record<number, string>> = {
  400: "invalid_request_error",
  401: "authentication_error",
  403: "permission_error",
  404: "not_found_error",
  413: "request_too_large",
  429: "rate_limit_error",
  529: "overloaded_error",
};

const errorBody = ({ code, message }: { code: string; message: string }) => ({
  type: "error",
  error: { type: code, message },
});

const stopReason: Readonly<Record<Finish, string>> = {
  stop: "end_turn",
  tool_calls: "tool_use",
  length: "max_tokens",
  refusal: "refusal",
  content_filter: "refusal",
};

/** The answer to a request that did not ask for a stream. */
const whole = (message: Message) => ({
  ...envelope(message),
  content: message.turn.blocks.map((block, index) => fullBlock(block, placeOf(message, index))),
  stop_reason: stopReason[finishOf(message.turn)],
  usage: { ...startUsage(message.turn), output_tokens: outputOf(message.turn) },
});

const envelope = ({ id, model }: Message) => ({
  id,
  type: "message",
  role: "assistant",
  model,
  stop_reason: null,
  stop_sequence: null,
});

const placeOf = ({ id }: Message, index: number): string => `${id.replace("msg_", "")}_${index}`;

const outputOf = ({ usage }: Answer): number => (usage?.output ?? 20) + (usage?.reasoning ?? 0);

const startUsage = ({ usage }: Answer) => ({
  input_tokens: usage?.input ?? ESTIMATED_TOKENS,
  cache_creation_input_tokens: usage?.cacheWrite ?? 0,
  cache_read_input_tokens: usage?.cacheRead ?? 0,
  output_tokens: 1,
});

function emptyBlock(block: ScriptBlock, place: string) {
  switch (block.type) {
    case "text":
      return { type: "text", text: "" };
    case "thinking":
      return { type: "thinking", thinking: "", signature: "" };
    case "tool_call":
      return { type: "tool_use", id: toolId(block, place), name: block.name, input: {} };
  }
}

function fullBlock(block: ScriptBlock, place: string) {
  switch (block.type) {
    case "text":
      return { type: "text", text: block.text };
    case "thinking":
      return { type: "thinking", thinking: block.text, signature: SIGNATURE };
    case "tool_call":
      return { type: "tool_use", id: toolId(block, place), name: block.name, input: block.input };
  }
}

const SIGNATURE = "c2NyaXB0ZWQ=";

const toolId = (block: Extract<ScriptBlock, { type: "tool_call" }>, place: string): string =>
  block.id ?? `toolu_${callId(block, place)}`;

function deltasOf(block: ScriptBlock): readonly { readonly type: string; readonly [field: string]: unknown }[] {
  switch (block.type) {
    case "text":
      return pieces(block.text, block.chunks).map((text) => ({ type: "text_delta", text }));
    case "thinking":
      return [
        ...pieces(block.text, block.chunks).map((thinking) => ({ type: "thinking_delta", thinking })),
        { type: "signature_delta", signature: SIGNATURE },
      ];
    case "tool_call":
      return pieces(JSON.stringify(block.input), block.chunks).map((partial_json) => ({
        type: "input_json_delta",
        partial_json,
      }));
  }
}

function readBody(body: unknown): Pick<ModelRequest, "system" | "messages" | "firstMessage" | "tools" | "model"> {
  const { system, messages, tools, model } = isRecord(body) ? body : {};
  return {
    system: typeof system === "string" ? system : JSON.stringify(system ?? ""),
    messages: JSON.stringify(messages ?? []),
    firstMessage: JSON.stringify(Array.isArray(messages) ? (messages[0] ?? null) : null),
    tools: Array.isArray(tools) ? tools.flatMap((tool) => (isRecord(tool) ? [String(tool.name)] : [])) : [],
    model: typeof model === "string" ? model : "",
  };
}

const isStream = (body: unknown): boolean => isRecord(body) && body.stream === true;

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const pathOf = (path: string): string => path.split("?", 1)[0] ?? path;
