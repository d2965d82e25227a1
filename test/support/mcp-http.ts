/** An MCP server over HTTP for tests: `add` adds, `greet` greets, `fail` fails, and it notes the keys it was shown. */
import { createServer } from "node:http";
import { json } from "node:stream/consumers";
import { onTestFinished } from "vitest";

const object = { type: "object", properties: { a: { type: "number" }, b: { type: "number" } } };
const tools = [
  { name: "add", description: "Adds two numbers.", inputSchema: object },
  { name: "greet", description: "Greets.", inputSchema: { type: "object", properties: { bird: { type: "string" } } } },
  { name: "fail", description: "Fails.", inputSchema: { type: "object", properties: {} } },
];

interface Message {
  readonly id?: number | string;
  readonly method?: string;
  readonly params?: {
    readonly protocolVersion?: string;
    readonly name?: string;
    readonly arguments?: { readonly a?: number; readonly b?: number; readonly bird?: string };
  };
}

function answer({ method, params = {} }: Message): unknown {
  if (method === "initialize") {
    const serverInfo = { name: "web", version: "1.0.0" };
    return { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo };
  }
  if (method === "tools/list") return { tools };
  if (method !== "tools/call") return {};
  if (params.name === "fail") return { content: [{ type: "text", text: "There is no bird." }], isError: true };
  const { a = 0, b = 0, bird } = params.arguments ?? {};
  if (params.name === "greet") return { content: [{ type: "text", text: `Hello, ${bird}.` }] };
  return { content: [{ type: "text", text: String(a + b) }] };
}

const isMessage = (value: unknown): value is Message => typeof value === "object" && value !== null;

export async function serveMcp(): Promise<{ readonly url: string; readonly keys: readonly string[] }> {
  const keys: string[] = [];
  const server = createServer(async (request, response) => {
    const key = request.headers["x-key"];
    if (typeof key === "string") keys.push(key);
    if (request.method !== "POST") return void response.writeHead(405).end();
    const message: unknown = await json(request);
    if (!isMessage(message) || message.id === undefined) return void response.writeHead(202).end();
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ jsonrpc: "2.0", id: message.id, result: answer(message) }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return { url: `http://127.0.0.1:${address.port}/mcp`, keys };
}
