/** `franca acp`: any agent, for editors that speak the Agent Client Protocol on standard input and output. */
import { type Command, Option } from "commander";
import { defined } from "../core/defined.ts";
import { PermissionMode } from "../protocol/session-enums.ts";
import { splitLines } from "../runtime/agent/lines.ts";
import { openAcpAgent } from "./acp-agent.ts";
import { loadSettings } from "./config.ts";
import { addDoorOptions, commandOption, namedAgent, openDoor } from "./door.ts";

interface AcpFlags {
  readonly agent?: string;
  readonly command?: string;
  readonly model?: string;
  readonly permissionMode?: PermissionMode;
}

export function define(command: Command): void {
  addDoorOptions(command)
    .option("--agent <agent>", "which agent new sessions get (FRANCA_DEFAULT_AGENT)")
    .addOption(commandOption())
    .option("--model <model>", "the agent's model; its own configuration decides when absent")
    .addOption(new Option("--permission-mode <mode>", "approval policy").choices(PermissionMode.options))
    .addHelpText(
      "after",
      `
Examples:
  $ franca acp --agent claude
  In Zed's settings.json:
    "agent_servers": { "Franca": { "command": "franca", "args": ["acp", "--agent", "claude"] } }

Sessions are stored: the editor loads them again after a restart. docs/editors.md has more editors.`,
    )
    .action((flags: AcpFlags) => acp(flags));
}

async function acp(flags: AcpFlags): Promise<void> {
  const env = process.env;
  const { defaultAgent } = await loadSettings({ flags: { ...flags }, env });
  const door = await openDoor({ flags: { ...flags }, env });
  const { model, permissionMode } = flags;
  const agent = namedAgent(flags) ?? defaultAgent ?? (await door.defaultAgent()) ?? "mock";
  const peer = openAcpAgent({
    door,
    agent,
    defaults: defined({ model, permissionMode }),
    write: (line) => void process.stdout.write(`${JSON.stringify(line)}\n`),
    onProblem: (error) =>
      void process.stderr.write(`franca: ${error instanceof Error ? error.message : String(error)}\n`),
  });
  const splitter = splitLines({
    onLine: peer.hear,
    onOverlong: () => void process.stderr.write("franca: a line was too long and was dropped\n"),
  });
  // The client has gone: its sessions stay, and can be loaded again.
  const gone = new Promise<void>((resolve) => {
    process.stdin.on("data", (chunk: Buffer) => splitter.push(chunk));
    process.stdin.once("end", () => resolve());
    process.stdin.once("error", () => resolve());
    process.stdout.once("error", () => resolve());
    process.once("SIGTERM", () => resolve());
    process.once("SIGINT", () => resolve());
  });
  await gone;
  splitter.end();
  peer.close();
  await door.close();
  process.stdin.destroy();
}
