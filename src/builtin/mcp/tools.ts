/**
 * The tools of a session's MCP servers, as tools of the builtin agent: `mcp__<server>__<tool>`, each call asked for. A
 * server that cannot be used is reported once, and the session goes on without it.
 */
import { defined } from "../../core/defined.ts";
import type { McpServer } from "../../core/launch.ts";
import type { OutboundFetch } from "../../runtime/outbound/fetch.ts";
import { judge } from "../permission/policy.ts";
import type { SessionContext } from "../session-context.ts";
import { boundOutput } from "../tools/bound.ts";
import type { Tool, ToolContext, ToolOutcome } from "../tools/tool.ts";
import { openPeer, type Peer } from "./messages.ts";
import { isRecord } from "./transport.ts";

const CONNECT_MS = 30_000;
/** An agent that is asked may take long; the turn's own abort ends a call too. */
const CALL_MS = 3_600_000;
const MOST_TOOLS = 128;
const MOST_PAGES = 20;
const VERSION = "2025-06-18";

export interface McpTools {
  /** Connects at the first call. */
  readonly offered: (signal: AbortSignal) => Promise<readonly Tool[]>;
  readonly close: () => Promise<void>;
}

export interface McpOptions {
  readonly servers: Readonly<Record<string, McpServer>>;
  readonly context: SessionContext;
  readonly fetch: OutboundFetch;
  readonly version: string;
}

export function openMcpTools(options: McpOptions): McpTools {
  const peers: Peer[] = [];
  let connecting: Promise<readonly Tool[]> | null = null;
  return {
    offered: (signal) => {
      connecting ??= Promise.all(
        Object.entries(options.servers).map(([name, server]) => connect({ ...options, name, server, peers, signal })),
      ).then((lists) => lists.flat());
      return connecting;
    },
    close: async () => void (await Promise.allSettled(peers.map((peer) => peer.close()))),
  };
}

interface Connecting extends McpOptions {
  readonly name: string;
  readonly server: McpServer;
  readonly peers: Peer[];
  readonly signal: AbortSignal;
}

async function connect({ name, server, context, fetch, version, peers, signal }: Connecting): Promise<Tool[]> {
  try {
    const peer = await openPeer({ context, server, fetch });
    peers.push(peer);
    const limits = { signal, timeoutMs: CONNECT_MS };
    const clientInfo = { name: "franca", version };
    await peer.request("initialize", { protocolVersion: VERSION, capabilities: {}, clientInfo }, limits);
    await peer.notify("notifications/initialized", signal);
    const tools: Tool[] = [];
    let cursor: string | undefined;
    for (let page = 0; page < MOST_PAGES && tools.length < MOST_TOOLS; page += 1) {
      const listed = await peer.request("tools/list", defined({ cursor }), limits);
      for (const one of Array.isArray(listed.tools) ? listed.tools : []) {
        if (isRecord(one) && typeof one.name === "string")
          tools.push(toolFrom({ server: name, peer, name: one.name, one }));
      }
      if (typeof listed.nextCursor !== "string") break;
      cursor = listed.nextCursor;
    }
    return tools.slice(0, MOST_TOOLS);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    const id = context.nextId("ntc");
    await context.say({ type: "notice", id, label: `MCP server ${name} cannot be used`, detail: why });
    return [];
  }
}

interface Found {
  readonly server: string;
  readonly peer: Peer;
  readonly name: string;
  readonly one: Readonly<Record<string, unknown>>;
}

function toolFrom({ server, peer, name, one }: Found): Tool {
  const title = `${server}.${name}`;
  return {
    // Providers take letters, digits, _ and - in a tool's name, 64 at most.
    name: `mcp__${server}__${name}`.replaceAll(/[^\w-]/g, "_").slice(0, 64),
    kind: "tool",
    description: typeof one.description === "string" ? one.description : title,
    schema: isRecord(one.inputSchema) ? one.inputSchema : { type: "object", properties: {} },
    prepare: (input) => ({ title, run: (context) => run({ peer, name, title, input }, context) }),
  };
}

interface Running {
  readonly peer: Peer;
  readonly name: string;
  readonly title: string;
  readonly input: unknown;
}

async function run({ peer, name, title, input }: Running, context: ToolContext): Promise<ToolOutcome> {
  await context.permit({
    action: "mcp",
    judge: (policy) => judge(policy, { names: ["mcp"], texts: [title] }),
    patterns: [title],
    always: [{ action: "mcp", pattern: title }],
    metadata: { server_tool: title },
  });
  context.signal.throwIfAborted();
  try {
    const params = { name, arguments: isRecord(input) ? input : {} };
    const result = await peer.request("tools/call", params, { signal: context.signal, timeoutMs: CALL_MS });
    const output = await boundOutput(textOf(result), context);
    return { output, is_error: result.isError === true };
  } catch (error) {
    return { output: `${title} failed: ${error instanceof Error ? error.message : String(error)}`, is_error: true };
  }
}

function textOf({ content, structuredContent }: Readonly<Record<string, unknown>>): string {
  const parts = Array.isArray(content) ? content : [];
  const texts = parts.flatMap((part) => (isRecord(part) && typeof part.text === "string" ? [part.text] : []));
  if (texts.length > 0) return texts.join("\n");
  return structuredContent === undefined ? JSON.stringify(parts) : JSON.stringify(structuredContent);
}
