/** `franca models`: the models an agent offers. */
import type { Command } from "commander";
import { MOCK } from "../core/default-agent.ts";
import { count } from "../projections/text/index.ts";
import type { ModelSummary } from "../protocol/resources.ts";
import { loadSettings } from "./config.ts";
import { addDoorOptions, openDoor } from "./door.ts";
import { printJson, table } from "./table.ts";

type Flags = Readonly<Record<string, unknown>>;

export function define(command: Command): void {
  addDoorOptions(command)
    .argument("[agent]", "the agent (default: the one that franca run would use)")
    .option("--json", "as JSON")
    .addHelpText("after", "\nExamples:\n  $ franca models\n  $ franca models codex")
    .action((agent: string | undefined, flags: object) => models(agent, { ...flags }));
}

async function models(named: string | undefined, flags: Flags): Promise<void> {
  const { defaultAgent } = await loadSettings({ flags, env: process.env });
  const door = await openDoor({ flags, env: process.env });
  try {
    const agent = named ?? defaultAgent ?? (await door.defaultAgent()) ?? MOCK;
    const { models: all, defaultModel } = await door.models(agent);
    if (flags.json === true) return printJson({ agent, models: all, defaultModel });
    if (all.length === 0) {
      process.stdout.write(`${agent} does not list its models. Pass --model with a name that it knows.\n`);
      return;
    }
    process.stdout.write(
      table([["MODEL", "NAME", "CONTEXT", "VARIANTS"], ...all.map((model) => row(model, defaultModel))]),
    );
    process.stderr.write(`Use one with: franca run -a ${agent} -m ${all[0]?.id ?? "…"} "…"\n`);
  } finally {
    await door.close();
  }
}

const row = ({ id, name, variants = [], limit }: ModelSummary, defaultModel: string | undefined): string[] => [
  id === defaultModel ? `${id} (default)` : id,
  name ?? "",
  limit?.context === undefined ? "" : count(limit.context),
  variants.join(", "),
];
