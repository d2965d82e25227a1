/** How Codex is started, what it can do, and what our permission modes mean to it. Data, not a process. */

import { type Capabilities, noCapabilities } from "../../core/capabilities.ts";
import { defined } from "../../core/defined.ts";
import type { Launch, LaunchOptions, McpServer } from "../../core/launch.ts";
import type { PermissionMode } from "../../protocol/events.ts";

/** Unless the session's environment says otherwise, Codex looks for no plugins and reports nothing home. */
const PLUGINS = "FRANCA_CODEX_PLUGINS";
const ANALYTICS = "FRANCA_CODEX_ANALYTICS";
/** A process of its own for the session, instead of one per environment. */
const ISOLATED = "FRANCA_CODEX_ISOLATED";

export function launch({ binary, env, mode, session_id, mcp, folder }: LaunchOptions): Launch {
  if (mode !== null && !modes.some(({ id }) => id === mode)) {
    const known = modes.map(({ id }) => id).join(", ");
    return { kind: "refused", code: "mode_not_supported", message: `Codex has no mode ${mode}; it has: ${known}.` };
  }
  const unusable = Object.entries(mcp).find(([, { command, url }]) => command === undefined && url === undefined);
  if (unusable !== undefined) {
    const message = `The MCP server ${unusable[0]} needs a command or a url.`;
    return { kind: "refused", code: "invalid_request", message };
  }
  return {
    kind: "process",
    command: binary ?? "codex",
    args: ["app-server", ...settings(env)],
    // Codex calls git itself: with an untrusted folder's drivers blank, hence in a process of its own.
    env: { ...env, ...folder?.gitEnvironment },
    lifetime: "session",
    shared: isOn(env[ISOLATED]) ? session_id : "app-server",
  };
}

function settings(env: Readonly<Record<string, string>>): string[] {
  const values = [
    "check_for_update_on_startup=false",
    ...(isOn(env[PLUGINS]) ? [] : ["features.plugins=false"]),
    ...(isOn(env[ANALYTICS]) ? [] : ["analytics.enabled=false", "feedback.enabled=false"]),
  ];
  return values.flatMap((value) => ["-c", value]);
}

const isOn = (value: string | undefined): boolean => value !== undefined && value !== "" && value !== "0";

export const modes = [
  { id: "default", name: "Default", description: "Codex works on the task." },
  { id: "plan", name: "Plan", description: "Codex asks and plans before it works." },
] as const;

interface Access {
  readonly approvalPolicy: "on-request" | "never";
  readonly sandbox: "read-only" | "workspace-write" | "danger-full-access";
}

/** Codex edits inside the workspace without asking anyway, so `acceptEdits` is the same as `default`. */
const accesses: Readonly<Record<PermissionMode, Access>> = {
  default: { approvalPolicy: "on-request", sandbox: "workspace-write" },
  acceptEdits: { approvalPolicy: "on-request", sandbox: "workspace-write" },
  plan: { approvalPolicy: "on-request", sandbox: "read-only" },
  bypass: { approvalPolicy: "never", sandbox: "danger-full-access" },
};

/** With a thread the sandbox is a word, with a turn an object. */
export const threadAccess = (mode: PermissionMode): Access => accesses[mode];

export function turnAccess(mode: PermissionMode): { approvalPolicy: string; sandboxPolicy: { type: string } } {
  const { approvalPolicy, sandbox } = accesses[mode];
  return { approvalPolicy, sandboxPolicy: { type: sandboxTypes[sandbox] } };
}

const sandboxTypes = {
  "read-only": "readOnly",
  "workspace-write": "workspaceWrite",
  "danger-full-access": "dangerFullAccess",
} as const;

/** Our permission mode for a thread's own settings; settings that match none keep Codex's words. */
export function permissionMode({
  approvalPolicy,
  sandbox,
}: {
  approvalPolicy: unknown;
  sandbox: unknown;
}): string | null {
  const type = typeof sandbox === "object" && sandbox !== null && "type" in sandbox ? sandbox.type : sandbox;
  if (typeof approvalPolicy !== "string" || typeof type !== "string") return null;
  if (approvalPolicy === "never" && type === "dangerFullAccess") return "bypass";
  if (approvalPolicy === "on-request" && type === "workspaceWrite") return "default";
  if (approvalPolicy === "on-request" && type === "readOnly") return "plan";
  return `${approvalPolicy} ${type}`;
}

/** MCP servers as Codex's own configuration names them. */
export const mcpConfig = (servers: Readonly<Record<string, McpServer>>): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(servers).map(([name, { command, args, env, url, headers }]) => [
      name,
      command === undefined ? defined({ url, http_headers: headers }) : defined({ command, args, env }),
    ]),
  );

export const capabilities: Capabilities = {
  ...noCapabilities,
  ownSandbox: true,
  permissions: true,
  questions: true,
  steer: true,
  resume: true,
  fork: true,
  rewind: true,
  compact: true,
  shell: true,
  images: true,
  mcp: true,
  systemPrompt: true,
  deltas: true,
  todos: true,
  subagents: true,
  reasoning: true,
  echoesPrompts: true,
  permissionModes: ["default", "plan", "acceptEdits", "bypass"],
  set: ["model", "variant", "mode", "permission_mode"],
};
