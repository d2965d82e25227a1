/** A scripted OpenAI server: Responses and Chat Completions, streamed or whole, faults included. */
import type { ServerResponse } from "node:http";
import { isShape } from "../dialects/shape.ts";
import { streamChat, wholeChat } from "./openai-chat.ts";
import type { Reply } from "./openai-reply.ts";
import { streamResponse, wholeResponse } from "./openai-responses.ts";
import type { ModelRequest, Script, ScriptTurn } from "./script.ts";
import { type ModelServer, sendJson, serveModel, untilGone, type Wire } from "./serve.ts";

export const serveOpenAi = (script: Script): Promise<ModelServer> => serveModel(openAiWire(), script);

function openAiWire(): Wire {
  let answers = 0;
  return {
    read: ({ method, path, headers, body }) => {
      if (method !== "POST" || (!isResponses(path) && !isChat(path))) return null;
      return { method, path, headers, body, ...readBody(body) };
    },
    other: ({ path }) => {
      // Agents list models under either name; an empty list keeps them with what they know.
      if (pathOf(path).endsWith("/models")) return { status: 200, body: { object: "list", data: [], models: [] } };
      return { status: 404, body: errorBody({ code: "not_found", message: `No such path: ${path}` }) };
    },
    async answer({ turn, recorded, response, signal }) {
      answers += 1;
      if (turn.type === "silence") return untilGone(signal);
      if (turn.type === "status") return sendStatus(response, turn);
      const reply: Reply = { number: answers, turn, recorded, response, signal };
      const chat = isChat(recorded.path);
      if (isShape(recorded.body) && recorded.body.stream === true) {
        response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
        await (chat ? streamChat(reply) : streamResponse(reply));
      } else sendJson(response, { status: 200, body: chat ? wholeChat(reply) : wholeResponse(reply) });
    },
  };
}

const pathOf = (path: string): string => path.split("?", 1)[0] ?? path;
const isResponses = (path: string): boolean => pathOf(path).endsWith("/responses");
const isChat = (path: string): boolean => pathOf(path).endsWith("/chat/completions");

function readBody(body: unknown): Pick<ModelRequest, "system" | "messages" | "tools" | "model"> {
  const { instructions, input, messages, tools, model } = isShape(body) ? body : {};
  const conversation = messages ?? input ?? [];
  return {
    system: typeof instructions === "string" ? instructions : systemOf(conversation),
    messages: JSON.stringify(conversation),
    tools: Array.isArray(tools) ? tools.flatMap(toolNames) : [],
    model: typeof model === "string" ? model : "",
  };
}

const systemOf = (messages: unknown): string =>
  JSON.stringify(
    Array.isArray(messages)
      ? messages.filter((one: unknown) => isShape(one) && (one.role === "system" || one.role === "developer"))
      : [],
  );

/** Chat puts the function inside, Responses beside; a namespace holds several. */
function toolNames(tool: unknown): string[] {
  if (!isShape(tool)) return [];
  if (isShape(tool.function)) return toolNames(tool.function);
  const name = typeof tool.name === "string" ? tool.name : String(tool.type);
  const inside = Array.isArray(tool.tools) ? tool.tools.flatMap(toolNames) : [];
  return [name, ...inside.map((one) => `${name}.${one}`)];
}

function sendStatus(response: ServerResponse, turn: Extract<ScriptTurn, { type: "status" }>): void {
  const { status, headers = {}, message = `Scripted status ${status}` } = turn;
  const code = turn.code ?? statusCodes[status] ?? "server_error";
  sendJson(response, { status, headers, body: turn.body ?? errorBody({ code, message }) });
}

const statusCodes: Readonly<Record<number, string>> = {
  400: "invalid_request_error",
  401: "invalid_api_key",
  403: "permission_denied",
  404: "not_found",
  429: "rate_limit_exceeded",
};

const errorBody = ({ code, message }: { code: string; message: string }) => ({
  error: { message, type: code, code, param: null },
});
