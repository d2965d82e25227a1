/** A small MCP server on stdio for tests: one tool adds, one greets, one asks the user and gives back what it heard. */
import { createInterface } from "node:readline";

const say = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
const waiting = new Map();

const tools = [
  {
    name: "add",
    description: "Adds two numbers.",
    inputSchema: { type: "object", properties: { a: { type: "number" }, b: { type: "number" } } },
  },
  {
    name: "greet",
    description: "Greets.",
    inputSchema: { type: "object", properties: { bird: { type: "string" } } },
  },
  { name: "ask", description: "Asks the user.", inputSchema: { type: "object", properties: {} } },
];

const form = {
  type: "object",
  properties: {
    bird: { type: "string", enum: ["heron", "stork"] },
    count: { type: "integer", title: "Count" },
    sure: { type: "boolean", description: "Are you sure?" },
  },
  required: ["bird"],
};

function elicit() {
  const id = `ask-${waiting.size}`;
  say({ id, method: "elicitation/create", params: { message: "Tell me", requestedSchema: form } });
  return new Promise((resolve) => waiting.set(id, resolve));
}

async function callTool({ name, arguments: input }) {
  if (name === "greet") return { content: [{ type: "text", text: `Hello, ${input.bird}.` }] };
  const text = name === "add" ? String(input.a + input.b) : JSON.stringify(await elicit());
  return { content: [{ type: "text", text }] };
}

async function answer({ method, params }) {
  if (method === "initialize") {
    const serverInfo = { name: "birds", version: "1.0.0" };
    return { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo };
  }
  if (method === "tools/list") return { tools };
  return method === "tools/call" ? callTool(params) : {};
}

createInterface({ input: process.stdin }).on("line", async (line) => {
  const message = JSON.parse(line);
  if (message.method === undefined) waiting.get(message.id)?.(message.result ?? message.error);
  else if (message.id !== undefined) say({ id: message.id, result: await answer(message) });
});
