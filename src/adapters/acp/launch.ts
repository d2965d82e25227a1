/** How an ACP agent is started: its program on pipes, one process per session. Data, not a process. */
import type { Launch, LaunchOptions } from "../../core/launch.ts";
import type { AcpAgent } from "./definition.ts";

export const launchOf =
  ({ agent, name, args, env, binary, quirks, programOf }: AcpAgent) =>
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
    const words = programOf?.(options) ?? [
      options.binary ?? binary?.name ?? agent,
      ...(typeof args === "function" ? args(options) : args),
    ];
    if ("kind" in words) return words;
    const [command = agent, ...rest] = words;
    return {
      kind: "process",
      command,
      args: rest,
      env: { ...env, ...options.env, ...folder?.gitEnvironment },
      lifetime: "session",
    };
  };

/** The command line as a person would write it, for errors; without the values of options that name a secret. */
export function commandLine(launch: Launch): string {
  if (launch.kind !== "process") return "The agent";
  const words = [launch.command, ...launch.args].map((word) => (typeof word === "string" ? word : word.file));
  return words.map((word, index) => shown(word, words[index - 1] ?? "")).join(" ");
}

const SECRET = /^-.*(key|token|secret|passw|auth|credential)/i;

function shown(word: string, before: string): string {
  if (SECRET.test(before) && !before.includes("=") && !word.startsWith("-")) return "…";
  if (SECRET.test(word)) return word.replace(/=.*/s, "=…");
  return /^[\w./:=@+-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
