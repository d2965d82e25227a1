/** How to reach OpenCode: one server for all sessions with the same environment, or one that runs already. */
import { defined } from "../../core/defined.ts";
import type { Launch, LaunchOptions, McpServer } from "../../core/launch.ts";

/** A session's environment may name a server that runs already, and the password of either kind. */
const URL_VARIABLE = "OPENCODE_SERVER_URL";
const PASSWORD_VARIABLE = "OPENCODE_SERVER_PASSWORD";
/** Configuration that is laid over the user's own files. */
const CONFIG_VARIABLE = "OPENCODE_CONFIG_CONTENT";

/** The folder's own files, from which OpenCode loads plugins that no option keeps out. */
export const folderFiles = [".opencode", "opencode.json", "opencode.jsonc"] as const;

/** In a folder that is not trusted: without its configuration, skills, formatters and language servers. */
const restricted = {
  OPENCODE_DISABLE_PROJECT_CONFIG: "1",
  OPENCODE_DISABLE_CLAUDE_CODE: "1",
  OPENCODE_DISABLE_EXTERNAL_SKILLS: "1",
};
const restrictedConfig = { formatter: false, lsp: false };

export function launch(options: LaunchOptions): Launch {
  const { model, env, mcp, binary, folder } = options;
  const isRestricted = folder?.trusted === false;
  if (isRestricted && folder.found.length > 0) {
    const message = `OpenCode would run plugins that ${folder.found.join(", ")} brings along, and ${folder.path} is not trusted. If you trust its files: franca trust add ${folder.path}`;
    return { kind: "refused", code: "folder_not_trusted", message };
  }
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
  if (isRestricted && url !== undefined) {
    const message = `An OpenCode server that runs already would use what the folder brings along, and ${folder.path} is not trusted. If you trust its files: franca trust add ${folder.path}`;
    return { kind: "refused", code: "folder_not_trusted", message };
  }
  const config = configFor(mcp, { isRestricted });
  const environment = {
    ...env,
    OPENCODE_DISABLE_AUTOUPDATE: "1",
    ...(isRestricted ? restricted : {}),
    ...folder?.gitEnvironment,
    ...defined({ [CONFIG_VARIABLE]: config ?? undefined }),
  };
  return {
    kind: "http",
    command: binary ?? "opencode",
    // A connection made before the server says that it listens is never answered, hence `ready`.
    args: ["serve", "--port", "{port}", "--hostname", "127.0.0.1"],
    env: environment,
    ready: "listening on (https?://\\S+)",
    events: "/global/event",
    shared: "server",
    ...defined({ url, login: loginOf({ password, url }) }),
  };
}

/** A server that runs already may have no password; ours always has one, random unless the session chose it. */
function loginOf({ password, url }: { password: string | undefined; url: string | undefined }) {
  if (password === undefined && url !== undefined) return undefined;
  return { user: "opencode", password: password ?? { variable: PASSWORD_VARIABLE } };
}

/** MCP servers are configuration, so sessions with others than the user's get a server of their own. */
function configFor(mcp: LaunchOptions["mcp"], { isRestricted }: { isRestricted: boolean }): string | null {
  const names = Object.entries(mcp);
  if (names.length === 0) return isRestricted ? JSON.stringify(restrictedConfig) : null;
  const servers = Object.fromEntries(names.map(([name, server]) => [name, mcpConfig(server)]));
  return JSON.stringify({ mcp: servers, ...(isRestricted ? restrictedConfig : {}) });
}

function mcpConfig({ command, args, env, url, headers }: McpServer): unknown {
  if (url !== undefined) return defined({ type: "remote", url, enabled: true, headers });
  return defined({ type: "local", command: [command ?? "", ...(args ?? [])], enabled: true, environment: env });
}
