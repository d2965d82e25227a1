/** What an adapter needs to launch its agent for a session, from the session's settings and its snapshot. */
import { defined } from "../../core/defined.ts";
import type { LaunchOptions } from "../../core/launch.ts";
import type { Prompt } from "../../protocol/commands.ts";
import type { SessionId } from "../../protocol/ids.ts";
import type { CreateSession } from "../../protocol/resources.ts";
import type { SessionSettings } from "../log/contract.ts";
import type { OpenSession } from "./open-session.ts";
import type { Runtime } from "./runtime.ts";

/** The name of our own MCP server in a session whose agent may ask other agents. */
export const DELEGATE_SERVER = "franca";

export const isDelegating = ({ delegate = false }: Pick<CreateSession, "delegate">): boolean => delegate !== false;

/** All MCP servers of a session: those it was created with, and our own where its agent may ask other agents. */
export function serversOf(
  { delegateServers }: Pick<Runtime, "delegateServers">,
  { id, create }: { readonly id: SessionId; readonly create: CreateSession },
): LaunchOptions["mcp"] {
  const own = isDelegating(create) ? delegateServers.serverOf(id) : null;
  return { ...mcpOf(create.mcp), ...(own === null ? {} : { [DELEGATE_SERVER]: own }) };
}

export function launchOptions(
  { binaries, trust, keys, delegateServers }: Runtime,
  open: OpenSession,
  prompt: Prompt | null,
): LaunchOptions {
  const { adapter, settings } = open;
  const { create, forkOf, forkAt = null, rewound } = settings;
  const { native_session_id, turns } = open.session.snapshot();
  const isRewound = rewound !== undefined && turns <= rewound.turns + 1;
  const known = isRewound && rewound.at === null ? null : (native_session_id ?? create.nativeSessionId ?? forkOf);
  const { resume } = adapter.capabilities;
  const directory = create.directory ?? process.cwd();
  return {
    session_id: open.id,
    directory,
    folder: adapter.folder === null ? null : trust.factsOf(directory, adapter.folder.lookFor),
    resume: resume ? known : null,
    fork: native_session_id === null && forkOf !== null,
    fork_at: forkAt,
    ...(isRewound && rewound.at !== null ? { resume_at: rewound.at } : {}),
    model: create.model ?? null,
    variant: create.variant ?? null,
    mode: create.agentMode ?? null,
    permission_mode: create.permissionMode ?? "default",
    permission_rules: create.permissionRules ?? [],
    system_prompt: create.systemPrompt ?? null,
    mcp: serversOf({ delegateServers }, { id: open.id, create }),
    env: { ...create.env, ...keys.of(open.id) },
    binary: binaries.find(adapter),
    prompt,
    inherited: binaries.environment(adapter),
    asRoot: process.getuid?.() === 0,
  };
}

type Servers = NonNullable<SessionSettings["create"]["mcp"]>;

/** Without the fields that are there but undefined. */
export function mcpOf(servers: Servers = {}): LaunchOptions["mcp"] {
  return Object.fromEntries(
    Object.entries(servers).map(([name, server]) => {
      if ("url" in server) return [name, defined({ url: server.url, headers: server.headers })];
      const { command, args, env } = server;
      return [name, defined({ command, args, env })];
    }),
  );
}
