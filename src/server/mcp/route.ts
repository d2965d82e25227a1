/**
 * The MCP endpoint: JSON-RPC over streamable HTTP, tools only. An answer that takes long is a stream with progress
 * notifications before it; a client that leaves has cancelled. `franca mcp` is the same on standard input and output.
 */
import { randomUUID } from "node:crypto";
import type { ServerResponse } from "node:http";
import * as z from "zod";
import { INVALID_PARAMS, METHOD_NOT_FOUND } from "../../core/rpc.ts";
import { ApiError } from "../../protocol/errors.ts";
import { type Call, defineRoute, json, type Route, sent } from "../http/route.ts";
import { streamEvents } from "../http/sse.ts";
import { type Authority, authorityOf, openScopes } from "./authority.ts";
import { failure, type ToolResult } from "./result.ts";
import { describeTools, findTool } from "./tools.ts";

/** The newest version we speak; older ones differ in nothing that we use. */
const VERSIONS = ["2025-06-18", "2025-03-26", "2024-11-05"] as const;
const SCOPE_HEADER = "mcp-session-id";

const Message = z.looseObject({
  jsonrpc: z.literal("2.0"),
  id: z.union([z.string().max(256), z.number()]).optional(),
  method: z.string().max(256).optional(),
  params: z.looseObject({}).optional(),
});
type Message = z.infer<typeof Message>;

const Reply = z.looseObject({ jsonrpc: z.literal("2.0"), id: z.union([z.string(), z.number()]) });

const Query = z.strictObject({
  full: z
    .enum(["true", "false"])
    .optional()
    .describe("All sessions, and the tool `answer`. Not for the credential of a session."),
  directory: z.string().min(1).optional().describe("Where new sessions work. Default: the daemon's own folder."),
});
type McpCall = Call<z.infer<typeof Query>, Message>;

const scopes = openScopes();
/** Calls that run, by scope and id, so that a notification can cancel one. */
const running = new Map<string, AbortController>();

const mcp = defineRoute({
  method: "post",
  path: "/v1/mcp",
  access: { surface: "mcp", action: "read" },
  doc: {
    id: "mcp",
    tag: "MCP",
    summary: "Use Franca as an MCP server",
    description:
      "One JSON-RPC message of the Model Context Protocol. Tools: `agents`, `ask`, `sessions`, `read`, `abort`, and " +
      "with `full=true` also `answer`. A request gets its answer as JSON, or `tools/call` as a stream with progress " +
      "where `Accept` allows it; a notification gets 202. A credential of the surface `mcp` gives access to the sessions " +
      "that its holder has started, and to the tools that its actions allow.",
    errors: [],
    answers: "json",
    requestHeaders: { "Mcp-Session-Id": "As the answer to `initialize` gave it: what was started in it may be used." },
    answerHeaders: { "Mcp-Session-Id": "With the answer to `initialize`." },
  },
  query: Query,
  body: Message,
  answer: Reply,
  handle: async (call) => {
    const { method, id } = call.body;
    const authority = authorityFor(call);
    if (method === undefined || id === undefined) {
      if (method === "notifications/cancelled") cancel(call);
      call.outgoing.writeHead(202).end();
      return sent;
    }
    if (method === "tools/call") return callTool(call, { authority, id });
    return json({ jsonrpc: "2.0", id, ...answerTo(call, { method, authority }) });
  },
});

function authorityFor({ sessions, caller, incoming, query }: McpCall): Authority {
  const header = incoming.headers[SCOPE_HEADER];
  return authorityOf({
    sessions,
    caller,
    wantsAll: query.full === "true",
    scope: typeof header === "string" ? header.slice(0, 256) : undefined,
    scopes,
    directory: query.directory,
  });
}

function answerTo(
  { body, version, outgoing }: McpCall,
  { method, authority }: { method: string; authority: Authority },
): { readonly result: unknown } | { readonly error: { readonly code: number; readonly message: string } } {
  switch (method) {
    case "initialize": {
      const asked = body.params?.protocolVersion;
      const protocolVersion = VERSIONS.find((one) => one === asked) ?? VERSIONS[0];
      outgoing.setHeader(SCOPE_HEADER, randomUUID());
      const serverInfo = { name: "franca", version };
      return { result: { protocolVersion, capabilities: { tools: {} }, serverInfo } };
    }
    case "ping":
      return { result: {} };
    case "tools/list":
      return { result: { tools: describeTools(authority) } };
    default:
      return { error: { code: METHOD_NOT_FOUND, message: `There is no method ${method} here, only tools.` } };
  }
}

interface ToolCall {
  readonly authority: Authority;
  readonly id: string | number;
}

async function callTool(call: McpCall, { authority, id }: ToolCall) {
  const { name, arguments: input, _meta: meta } = call.body.params ?? {};
  const tool = findTool(authority, name);
  if (tool === null) {
    const error = { code: INVALID_PARAMS, message: `There is no tool ${JSON.stringify(name)}.` };
    return json({ jsonrpc: "2.0", id, error });
  }
  const cancelled = new AbortController();
  const key = keyOf(call, id);
  running.set(key, cancelled);
  const work = (signal: AbortSignal, progress: (message: string) => void): Promise<ToolResult> => {
    const { sessions, defaultAgent, stopped } = call;
    const asking = { sessions, defaultAgent, authority, progress, signal: AbortSignal.any([signal, stopped]) };
    return tool.call(asking, input).catch(refusal);
  };
  try {
    if (!(call.incoming.headers.accept ?? "").includes("text/event-stream")) {
      const left = closed(call.outgoing);
      const result = await work(AbortSignal.any([left, cancelled.signal]), () => {});
      return json({ jsonrpc: "2.0", id, result });
    }
    await streamEvents(call, async (stream) => {
      const write = (message: object): unknown =>
        stream.write(`data: ${JSON.stringify({ jsonrpc: "2.0", ...message })}\n\n`);
      const progress = progressFor(tokenIn(meta), write);
      const result = await work(AbortSignal.any([stream.signal, cancelled.signal]), progress);
      await write({ id, result });
    });
    return sent;
  } finally {
    running.delete(key);
  }
}

/** What a caller can put right is an answer for the model; what is our fault is not. */
function refusal(error: unknown): ToolResult {
  if (error instanceof ApiError && error.status < 500) return failure(`${error.message} (${error.code})`);
  if (error instanceof Error && error.name === "AbortError") return failure("The call was cancelled.");
  throw error;
}

const tokenIn = (meta: unknown): string | number | null => {
  if (typeof meta !== "object" || meta === null || !("progressToken" in meta)) return null;
  const { progressToken } = meta;
  return typeof progressToken === "string" || typeof progressToken === "number" ? progressToken : null;
};

function progressFor(progressToken: string | number | null, write: (message: object) => unknown) {
  let progress = 0;
  return (message: string): void => {
    if (progressToken === null) return;
    progress += 1;
    write({ method: "notifications/progress", params: { progressToken, progress, message } });
  };
}

function closed(outgoing: ServerResponse): AbortSignal {
  const left = new AbortController();
  outgoing.once("close", () => left.abort());
  return left.signal;
}

/** Nobody cancels the call of another: the key has what the caller has shown. */
const keyOf = ({ incoming }: McpCall, id: unknown): string =>
  JSON.stringify([incoming.headers.authorization ?? "", incoming.headers[SCOPE_HEADER] ?? "", id]);

function cancel(call: McpCall): void {
  running.get(keyOf(call, call.body.params?.requestId))?.abort();
}

export const mcpRoutes: readonly Route[] = [mcp];
