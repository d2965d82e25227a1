/** How to reach OpenCode: one server for all sessions with the same environment, or one that runs already. */
import { defined } from "../../core/defined.ts";
import type { Launch, LaunchOptions, McpServer } from "../../core/launch.ts";

/** A session's environment may name a server that runs already, and the password of either kind. */
const URL_VARIABLE = "OPENCODE_SERVER_URL";
const PASSWORD_VARIABLE = "OPENCODE_SERVER_PASSWORD";
/** Configuration that is laid over the user's own files. */
const CONFIG_VARIABLE = "OPENCODE_CONFIG_CONTENT";

export function launch(options: LaunchOptions): Launch {
  const { model, env, mcp, binary } = options;
  if (model !== null && !/^[^/]+\/.+/.test(model)) {
    const message = `OpenCode names models as provider/model, for example anthropic/claude-sonnet-4-5; got "${model}".`;
    return { kind: "refused", code: "invalid_request", message };
  }
  const url = env[URL_VARIABLE];
  if (url !== undefined && Object.keys(mcp).length > 0) {
    const message = "MCP servers cannot be given to an OpenCode server that runs already; configure them there.";
    return { kind: "refused", code: "not_supported", message };
  }
  if (env[CONFIG_VARIABLE] !== undefined && Object.keys(mcp).length > 0) {
    const message = `MCP servers are given to OpenCode in ${CONFIG_VARIABLE}, which the session's environment sets; put them in there.`;
    return { kind: "refused", code: "invalid_request", message };
  }
  const password = env[PASSWORD_VARIABLE];
  const config = configFor(mcp);
  const environment = {
    ...env,
    // Without one of the session's own, a password of the surroundings would lock us out of our own server.
    [PASSWORD_VARIABLE]: password ?? "",
    OPENCODE_DISABLE_AUTOUPDATE: "1",
    ...defined({ [CONFIG_VARIABLE]: config ?? undefined }),
  };
  return {
    kind: "http",
    command: binary ?? "opencode",
    // A connection made before the server says that it listens is never answered, hence `ready`.
    args: ["serve", "--port", "0", "--hostname", "127.0.0.1"],
    env: environment,
    ready: "listening on (https?://\\S+)",
    events: "/global/event",
    shared: "server",
    ...defined({ url, login: password === undefined ? undefined : { user: "opencode", password } }),
  };
}

/** MCP servers are configuration, so sessions with others than the user's get a server of their own. */
function configFor(mcp: LaunchOptions["mcp"]): string | null {
  const names = Object.entries(mcp);
  if (names.length === 0) return null;
  return JSON.stringify({ mcp: Object.fromEntries(names.map(([name, server]) => [name, mcpConfig(server)])) });
}

function mcpConfig({ command, args, env, url, headers }: McpServer): unknown {
  if (url !== undefined) return defined({ type: "remote", url, enabled: true, headers });
  return defined({ type: "local", command: [command ?? "", ...(args ?? [])], enabled: true, environment: env });
}
