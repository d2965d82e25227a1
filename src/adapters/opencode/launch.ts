/** How to reach OpenCode: one server for all sessions with the same environment, or one that runs already. */

import { hashHex } from "../../core/hash.ts";
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
    ...(config === null ? {} : { [CONFIG_VARIABLE]: config }),
  };
  return {
    kind: "http",
    command: binary ?? "opencode",
    // A connection made before the server says that it listens is never answered, hence `ready`.
    args: ["serve", "--port", "0", "--hostname", "127.0.0.1"],
    env: environment,
    ready: "listening on (https?://\\S+)",
    events: "/global/event",
    shared: `opencode-${hashHex(JSON.stringify(Object.entries(environment).sort()))}`,
    ...(url === undefined ? {} : { url }),
    ...(password === undefined ? {} : { headers: { authorization: `Basic ${base64(`opencode:${password}`)}` } }),
  };
}

const BASE64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/** Pure code has no `btoa`; passwords beyond Latin-1 are not taken by HTTP Basic anyway. */
function base64(text: string): string {
  let out = "";
  for (let start = 0; start < text.length; start += 3) {
    const codes = [0, 1, 2].map((place) => text.charCodeAt(start + place) & 0xff);
    const [first = 0, second = 0, third = 0] = codes;
    const bits = (first << 16) | (second << 8) | third;
    const rest = text.length - start;
    out += BASE64.charAt(bits >> 18) + BASE64.charAt((bits >> 12) & 63);
    out += rest > 1 ? BASE64.charAt((bits >> 6) & 63) : "=";
    out += rest > 2 ? BASE64.charAt(bits & 63) : "=";
  }
  return out;
}

/** MCP servers are configuration, so sessions with others than the user's get a server of their own. */
function configFor(mcp: LaunchOptions["mcp"]): string | null {
  const names = Object.entries(mcp);
  if (names.length === 0) return null;
  return JSON.stringify({ mcp: Object.fromEntries(names.map(([name, server]) => [name, mcpConfig(server)])) });
}

function mcpConfig({ command, args, env, url, headers }: McpServer): unknown {
  if (url !== undefined) return { type: "remote", url, enabled: true, ...(headers === undefined ? {} : { headers }) };
  return {
    type: "local",
    command: [command ?? "", ...(args ?? [])],
    enabled: true,
    ...(env === undefined ? {} : { environment: env }),
  };
}
