/** `franca agents`: which agents are here, and installing one. */
import { type Command, Option } from "commander";
import { adapterFor } from "../adapters/index.ts";
import { ACP_AGENT } from "../core/acp-command.ts";
import { defined } from "../core/defined.ts";
import type { AgentSummary } from "../protocol/resources.ts";
import { addDoorOptions, openDoor } from "./door.ts";
import { loginAdvice } from "./login-advice.ts";
import { printJson, table } from "./table.ts";

interface InstallFlags {
  readonly version?: string;
  readonly latest?: true;
  readonly reinstall?: true;
}

export function define(command: Command): void {
  addDoorOptions(command.command("list", { isDefault: true }))
    .description("all agents, installed or not")
    .option("--json", "as JSON, with their capabilities")
    .action(async (flags: { readonly json?: true }) => {
      const door = await openDoor({ flags: { ...flags }, env: process.env });
      try {
        const agents = await door.agents();
        if (flags.json === true) return printJson({ agents });
        process.stdout.write(table([["AGENT", "INSTALLED", "LOGIN", "WHAT TO DO"], ...agents.map(row)]));
      } finally {
        await door.close();
      }
    });
  addDoorOptions(command.command("install"))
    .argument("<agent>")
    .description("install an agent into Franca's own tools folder, with npm")
    .addOption(
      new Option("--version <version>", "this version, not the one Franca was tested with").conflicts("latest"),
    )
    .option("--latest", "the newest version, which may behave differently")
    .option("--reinstall", "also when it is there")
    .action(async (agent: string, { version, latest, reinstall, ...flags }: InstallFlags) => {
      const door = await openDoor({ flags, env: process.env });
      try {
        process.stderr.write(`Installing ${agent}…\n`);
        await door.install(agent, defined({ version: latest === true ? "latest" : version, reinstall }));
        const installed = (await door.agents()).find(({ id }) => id === agent);
        process.stdout.write(`${agent} ${installed?.version ?? ""} is installed${at(installed)}.\n`.replace("  ", " "));
      } finally {
        await door.close();
      }
    });
  addDoorOptions(command.command("uninstall"))
    .argument("<agent>")
    .description("remove an agent that Franca installed")
    .action(async (agent: string, flags: object) => {
      const door = await openDoor({ flags: { ...flags }, env: process.env });
      try {
        await door.uninstall(agent);
        process.stdout.write(`${agent} is uninstalled.\n`);
      } finally {
        await door.close();
      }
    });
  command.addHelpText("after", "\nExamples:\n  $ franca agents\n  $ franca agents install codex");
}

const at = (agent: AgentSummary | undefined): string => (agent?.path === undefined ? "" : ` at ${agent.path}`);

const row = (agent: AgentSummary): string[] => [
  agent.isDefault === true ? `${agent.id} (default)` : agent.id,
  agent.installed ? (agent.version ?? "yes") : "no",
  agent.credentialsAvailable ? "found" : "missing",
  advice(agent),
];

/** What is missing before it can run. */
function advice({ id, installed, credentialsAvailable }: AgentSummary): string {
  const adapter = adapterFor(id);
  if (!installed) {
    const how = adapter?.binary?.install;
    return how?.kind === "other" ? how.advice : `franca agents install ${id}`;
  }
  if (id === ACP_AGENT) return 'any other: franca run --command "my-agent --acp" …';
  return credentialsAvailable || adapter === null ? "" : loginAdvice(adapter);
}
