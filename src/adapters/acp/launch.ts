/** How an ACP agent is started: its program on pipes, one process per session. Data, not a process. */
import type { Launch, LaunchOptions } from "../../core/launch.ts";
import type { AcpAgent } from "./definition.ts";

export const launchOf =
  ({ agent, name, args, env, binary, quirks }: AcpAgent) =>
  (options: LaunchOptions): Launch => {
    const { folder, permission_mode, system_prompt, mcp } = options;
    if (folder?.trusted === false && folder.found.length > 0) {
      const message = `${name} would use ${folder.found.join(", ")}, and ${folder.path} is not trusted. If you trust its files: franca trust add ${folder.path}`;
      return { kind: "refused", code: "folder_not_trusted", message };
    }
    const isOwn = permission_mode === "default" || permission_mode === "bypass";
    if (!isOwn && quirks?.modes?.[permission_mode] === undefined) {
      const message = `${name} has no mode that means ${permission_mode}.`;
      return { kind: "refused", code: "mode_not_supported", message };
    }
    if (system_prompt !== null) {
      const message = `${name} takes no system prompt over its protocol; write it into the folder's instructions.`;
      return { kind: "refused", code: "not_supported", message };
    }
    const unusable = Object.entries(mcp).find(([, { command, url }]) => command === undefined && url === undefined);
    if (unusable !== undefined) {
      const message = `The MCP server ${unusable[0]} needs a command or a url.`;
      return { kind: "refused", code: "invalid_request", message };
    }
    const command = options.binary ?? binary?.name ?? agent;
    return {
      kind: "process",
      command,
      args: typeof args === "function" ? args(options) : args,
      env: { ...env, ...options.env, ...folder?.gitEnvironment },
      lifetime: "session",
    };
  };
