/** Any ACP agent, by the command that the session names. In recordings: one that no other adapter knows. */
import type { Adapter } from "../../core/adapter.ts";
import type { Launch, LaunchOptions } from "../../core/launch.ts";
import { shellWords } from "../../core/shell-words.ts";
import { defineAcpAgent } from "./define.ts";

/** The command line of the agent, in the session's environment. */
export const COMMAND_VARIABLE = "FRANCA_ACP_COMMAND";

export function generic(known: readonly Adapter[]): Adapter {
  const adapter = defineAcpAgent({
    agent: "acp",
    name: "Any ACP agent",
    info: ({ protocolVersion }) => protocolVersion !== undefined,
    args: [],
    folderFiles: [],
    can: { questions: true },
  });
  return {
    ...adapter,
    recognises: (value) => adapter.recognises(value) && !known.some((one) => one.recognises(value)),
    launch: (options) => launch(adapter, options),
  };
}

function launch(adapter: Adapter, options: LaunchOptions): Launch {
  const [command, ...args] = shellWords(options.env[COMMAND_VARIABLE] ?? "");
  if (command === undefined) {
    const message = `Say which program speaks ACP: set ${COMMAND_VARIABLE} in the session's environment, for example to "my-agent --acp".`;
    return { kind: "refused", code: "invalid_request", message };
  }
  // What a program nobody has looked at takes from a folder is not known.
  if (options.folder?.trusted === false) {
    const message = `It is not known what ${command} takes from a folder, and ${options.folder.path} is not trusted. If you trust its files: franca trust add ${options.folder.path}`;
    return { kind: "refused", code: "folder_not_trusted", message };
  }
  const base = adapter.launch(options);
  return base.kind === "process" ? { ...base, command, args } : base;
}
