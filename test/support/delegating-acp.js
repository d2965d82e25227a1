/**
 * An ACP agent for tests that does with its MCP server `franca` what its prompt says, as JSON: `{tool, arguments}`
 * calls a tool, `{path, method?, body?}` sends its credential to another route. It answers with what it got.
 */
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

const say = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
let server = null;

const environment = () => Object.fromEntries(server.env.map(({ name, value }) => [name, value]));

async function callTool(params) {
  const child = spawn(server.command, server.args, {
    env: { ...process.env, ...environment() },
    stdio: ["pipe", "pipe", "inherit"],
  });
  const progress = [];
  const waiting = new Map();
  createInterface({ input: child.stdout }).on("line", (line) => {
    const message = JSON.parse(line);
    if (message.method === "notifications/progress") progress.push(message.params.message);
    else waiting.get(message.id)?.(message);
  });
  const request = (id, method, given) =>
    new Promise((resolve) => {
      waiting.set(id, resolve);
      child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params: given })}\n`);
    });
  const clientInfo = { name: "test", version: "1" };
  const hello = await request(1, "initialize", { protocolVersion: "2025-06-18", capabilities: {}, clientInfo });
  child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", method: "notifications/initialized" })}\n`);
  const { result: listed } = await request(2, "tools/list", {});
  const called = await request(3, "tools/call", { ...params, _meta: { progressToken: "p" } });
  child.stdin.end();
  const tools = listed.tools.map(({ name }) => name);
  return { server: hello.result.serverInfo.name, tools, progress, result: called.result, error: called.error };
}

async function send({ path, method = "GET", body: given = {} }) {
  const { FRANCA_SESSION_CREDENTIAL: credential, FRANCA_SESSION_ENDPOINT: endpoint } = environment();
  const body = method === "GET" ? {} : { body: JSON.stringify(given) };
  const response = await fetch(new URL(path, endpoint), {
    method,
    headers: { authorization: `Bearer ${credential}`, "content-type": "application/json" },
    ...body,
  });
  return { status: response.status };
}

async function prompt({ sessionId, prompt: parts }) {
  const asked = JSON.parse(parts.map(({ text = "" }) => text).join(""));
  const got =
    asked.path === undefined ? await callTool({ name: asked.tool, arguments: asked.arguments }) : await send(asked);
  const update = { sessionUpdate: "agent_message_chunk", content: { type: "text", text: JSON.stringify(got) } };
  say({ method: "session/update", params: { sessionId, update } });
  return { stopReason: "end_turn" };
}

const methods = {
  initialize: ({ protocolVersion }) => ({ protocolVersion: Math.min(protocolVersion, 1), agentCapabilities: {} }),
  "session/new": ({ mcpServers }) => {
    server = mcpServers.find(({ name }) => name === "franca") ?? null;
    return { sessionId: "delegating" };
  },
  "session/prompt": prompt,
};

createInterface({ input: process.stdin }).on("line", async (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined || method === undefined) return;
  const handle = methods[method];
  if (handle === undefined) say({ id, error: { code: -32601, message: `no ${method}` } });
  else say({ id, result: await handle(params) });
});
