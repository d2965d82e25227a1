/** A scripted Gemini server: `generateContent`, streamed or whole, and `countTokens`, faults included. */
import type { ServerResponse } from "node:http";
import { defined } from "../core/defined.ts";
import { isShape, type Shape, shapeOf } from "../dialects/shape.ts";
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

export const serveGemini = (script: Script): Promise<ModelServer> => serveModel(geminiWire(), script);

type Answer = Extract<ScriptTurn, { type: "answer" }>;

interface Reply {
  readonly number: number;
  readonly turn: Answer;
  readonly model: string;
  readonly response: ServerResponse;
  readonly signal: AbortSignal;
}

/** `/v1beta/models/<model>:<method>?alt=sse` */
const PATH = /\/models\/([^/:]+):(\w+)(?:\?|$)/;

const methodOf = (path: string): string | undefined => PATH.exec(path)?.[2];

function geminiWire(): Wire {
  let answers = 0;
  return {
    read: ({ method, path, headers, body }) => {
      const called = methodOf(path);
      if (method !== "POST" || (called !== "generateContent" && called !== "streamGenerateContent")) return null;
      return { method, path, headers, body, ...readBody(body), model: PATH.exec(path)?.[1] ?? "" };
    },
    other: ({ path }) => {
      if (methodOf(path) === "countTokens") return { status: 200, body: { totalTokens: 100 } };
      if (/\/models(\?|$)/.test(path)) return { status: 200, body: { models: [] } };
      return { status: 404, body: errorBody({ status: 404, code: "NOT_FOUND", message: `No such path: ${path}` }) };
    },
    async answer({ turn, recorded, response, signal }) {
      answers += 1;
      if (turn.type === "silence") return untilGone(signal);
      if (turn.type === "status") return sendStatus(response, turn);
      const reply: Reply = { number: answers, turn, model: recorded.model, response, signal };
      if (methodOf(recorded.path) === "generateContent") {
        const parts = turn.blocks.flatMap((block, index) => partsOf(reply, { block: { ...block, chunks: 1 }, index }));
        return sendJson(response, { status: 200, body: chunk(reply, { parts, isLast: true }) });
      }
      response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
      await stream(reply);
    },
  };
}

function readBody(body: unknown): Pick<ModelRequest, "system" | "messages" | "firstMessage" | "tools"> {
  const { systemInstruction, contents, tools } = shapeOf(body);
  const messages: readonly unknown[] = Array.isArray(contents) ? contents : [];
  return {
    system: JSON.stringify(systemInstruction ?? ""),
    messages: JSON.stringify(messages),
    firstMessage: JSON.stringify(messages[0] ?? ""),
    tools: (Array.isArray(tools) ? tools : []).flatMap(toolNames),
  };
}

function toolNames(tool: unknown): string[] {
  const { functionDeclarations } = shapeOf(tool);
  const declared: readonly unknown[] = Array.isArray(functionDeclarations) ? functionDeclarations : [];
  return declared.filter(isShape).map(({ name }) => String(name));
}

async function stream(reply: Reply): Promise<void> {
  const { turn, response, signal } = reply;
  let sent = 0;
  for (const [index, block] of turn.blocks.entries()) {
    for (const part of partsOf(reply, { block, index })) {
      if (turn.fault !== undefined && sent >= turn.fault.afterChunks) return breakOff(reply, turn.fault);
      if (signal.aborted) return;
      await sendEvent(response, { data: chunk(reply, { parts: [part], isLast: false }) });
      sent += 1;
      if (turn.chunkDelayMs !== undefined) await pause(turn.chunkDelayMs, signal);
    }
  }
  if (turn.fault !== undefined) return breakOff(reply, turn.fault);
  await sendEvent(response, { data: chunk(reply, { parts: [{ text: "" }], isLast: true }) });
  response.end();
}

async function breakOff({ response, signal }: Reply, fault: StreamFault): Promise<void> {
  if (fault.type === "hang") return untilGone(signal);
  if (fault.type === "cut") {
    await flushed(response);
    return void response.destroy();
  }
  await sendEvent(response, { data: errorBody({ status: 500, code: fault.code, message: fault.message }) });
  response.end();
}

/** A call comes whole, with its arguments. */
function partsOf({ number }: Reply, { block, index }: { block: ScriptBlock; index: number }): Shape[] {
  switch (block.type) {
    case "text":
      return pieces(block.text, block.chunks).map((text) => ({ text }));
    case "thinking":
      return pieces(block.text, block.chunks).map((text) => ({ text, thought: true }));
    case "tool_call":
      return [{ functionCall: { id: callId(block, `${number}_${index}`), name: block.name, args: block.input } }];
  }
}

/** Calls and refusals have no reason of their own. */
const finishReason: Readonly<Record<Finish, string>> = {
  stop: "STOP",
  tool_calls: "STOP",
  length: "MAX_TOKENS",
  refusal: "SAFETY",
  content_filter: "SAFETY",
};

function chunk(reply: Reply, { parts, isLast }: { parts: readonly Shape[]; isLast: boolean }): unknown {
  const { turn, number, model } = reply;
  const finish = isLast ? finishReason[finishOf(turn)] : undefined;
  return {
    candidates: [{ index: 0, content: { role: "model", parts }, ...defined({ finishReason: finish }) }],
    ...(isLast ? { usageMetadata: usageOf(turn) } : {}),
    modelVersion: model,
    responseId: `scripted${number}`,
  };
}

/** What came from a cache is part of the prompt; thoughts are beside the answer. */
function usageOf({ usage }: Answer) {
  const { input = 100, output = 20, reasoning = 0, cacheRead = 0 } = usage ?? {};
  return {
    promptTokenCount: input + cacheRead,
    cachedContentTokenCount: cacheRead,
    candidatesTokenCount: output,
    thoughtsTokenCount: reasoning,
    totalTokenCount: input + cacheRead + output + reasoning,
  };
}

const statusCodes: Readonly<Record<number, string>> = {
  400: "INVALID_ARGUMENT",
  401: "UNAUTHENTICATED",
  403: "PERMISSION_DENIED",
  404: "NOT_FOUND",
  429: "RESOURCE_EXHAUSTED",
};

function sendStatus(response: ServerResponse, turn: Extract<ScriptTurn, { type: "status" }>): void {
  const { status, headers = {}, message = `Scripted status ${status}` } = turn;
  const code = turn.code ?? statusCodes[status] ?? "INTERNAL";
  sendJson(response, { status, headers, body: turn.body ?? errorBody({ status, code, message }) });
}

const errorBody = ({ status, code, message }: { status: number; code: string; message: string }) => ({
  error: { code: status, message, status: code },
});
