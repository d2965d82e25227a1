/** Any ACP agent, by the command that its user names. In recordings: one that no other adapter knows. */
import { ACP_AGENT, COMMAND_VARIABLE, commandProblem } from "../../core/acp-command.ts";
import type { Adapter } from "../../core/adapter.ts";
import type { Launch, LaunchOptions } from "../../core/launch.ts";
import { shellWords } from "../../core/shell-words.ts";
import { defineAcpAgent } from "./define.ts";

export function generic(known: readonly Adapter[]): Adapter {
  const adapter = defineAcpAgent({
    agent: ACP_AGENT,
    name: "Any ACP agent",
    info: ({ protocolVersion }) => protocolVersion !== undefined,
    args: [],
    folderFiles: [],
    can: { questions: true },
    programOf,
  });
  return {
    ...adapter,
    recognises: (value) => adapter.recognises(value) && !known.some((one) => one.recognises(value)),
  };
}

/** Sessions of agent `acp` that name no command of their own get the user's configured one. */
export const withCommand = (adapters: readonly Adapter[], command: string): readonly Adapter[] =>
  adapters.map((adapter) => (adapter.agent === ACP_AGENT ? commanded(adapter, command) : adapter));

const commanded = (adapter: Adapter, command: string): Adapter => ({
  ...adapter,
  launch: (options) => adapter.launch(preset(options, command)),
  open: () => {
    const running = adapter.open();
    return {
      ...running,
      step: (input) =>
        running.step(input.type === "connected" ? { ...input, options: preset(input.options, command) } : input),
    };
  },
});

const preset = (options: LaunchOptions, command: string): LaunchOptions => ({
  ...options,
  env: { [COMMAND_VARIABLE]: command, ...options.env },
});

function programOf({ env, folder }: LaunchOptions): Extract<Launch, { kind: "refused" }> | readonly string[] {
  const line = env[COMMAND_VARIABLE] ?? "";
  if (line.trim() === "") {
    const message = `No command was given: name the program that speaks ACP with --command "my-agent --acp", as acpCommand in the config file, or as ${COMMAND_VARIABLE} in the session's environment.`;
    return { kind: "refused", code: "invalid_request", message };
  }
  const problem = commandProblem(line);
  if (problem !== null) {
    return { kind: "refused", code: "invalid_request", message: `It cannot be started: ${problem}.` };
  }
  const words = shellWords(line);
  // What a program nobody has looked at takes from a folder is not known.
  if (folder?.trusted === false) {
    const message = `It is not known what ${words[0]} takes from a folder, and ${folder.path} is not trusted. If you trust its files: franca trust add ${folder.path}`;
    return { kind: "refused", code: "folder_not_trusted", message };
  }
  return words;
}
