/** Which agent `franca run` uses when none is named: the configured one, the only one that can run, or a choice. */
import { MOCK } from "../core/default-agent.ts";
import type { AgentSummary } from "../protocol/resources.ts";
import type { Door } from "./door.ts";
import { UsageError } from "./usage.ts";

export interface AgentQuestion {
  readonly door: Door;
  /** By flag, by variable or in the config file. */
  readonly configured: string | null;
  readonly data: string;
  /** Whether a person can be asked. */
  readonly canAsk: boolean;
  readonly say: (text: string) => void;
}

export async function agentFor({ door, configured, data, canAsk, say }: AgentQuestion): Promise<string> {
  if (configured !== null) return configured;
  const known = await door.defaultAgent();
  if (known !== null) return known;
  const { adapterFor } = await import("../adapters/index.ts");
  const needsLogin = (id: string): boolean => (adapterFor(id)?.credentials ?? null) !== null;
  const ready = (await door.agents()).filter(
    ({ id, installed, credentialsAvailable }) => needsLogin(id) && installed && credentialsAvailable,
  );
  if (ready.length > 1 && canAsk) return askAgent(ready, { data });
  say(
    ready.length > 1
      ? `Several agents can run (${ready.map(({ id }) => id).join(", ")}): choose one with --agent. This is the mock agent: it plays scripted answers.`
      : "No agent with credentials is installed. This is the mock agent: it plays scripted answers. To change that: franca agents",
  );
  return MOCK;
}

async function askAgent(ready: readonly AgentSummary[], { data }: { data: string }): Promise<string> {
  const { isCancel, select } = await import("@clack/prompts");
  const agent = await select<string>({
    message: "Which agent? The choice is remembered; --agent overrides it.",
    options: ready.map(({ id, name, version }) => ({
      value: id,
      label: name,
      ...(version === undefined ? {} : { hint: version }),
    })),
    output: process.stderr,
  });
  if (isCancel(agent)) throw new UsageError("No agent was chosen. Name one with --agent.");
  const { rememberAgent } = await import("../runtime/data-folder.ts");
  rememberAgent(data, agent);
  return agent;
}
