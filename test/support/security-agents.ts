/** The real agents behind a real daemon, each with a scripted model and a home of its own. */
import { mkdirSync, symlinkSync } from "node:fs";
import { delimiter, join } from "node:path";
import { onTestFinished } from "vitest";
import { claude } from "../../src/adapters/claude/index.ts";
import { codex } from "../../src/adapters/codex/index.ts";
import { opencode } from "../../src/adapters/opencode/index.ts";
import { prepare, scriptFor, servers } from "../../src/cli/doctor-trial.ts";
import type { Trial } from "../../src/core/trial.ts";
import type { ScriptTurn } from "../../src/model-server/script.ts";
import type { UniversalEvent } from "../../src/protocol/events.ts";
import { type Client, connect, type Session } from "../../src/sdk/index.ts";
import { type ServedDaemon, serve } from "./daemon.ts";

const adapters = { claude, codex, opencode } as const;
export type AgentName = keyof typeof adapters;
export const agentNames = ["claude", "codex", "opencode"] as const;

const program = (agent: AgentName): string | undefined => process.env[`FRANCA_TEST_${agent.toUpperCase()}`];

/** Why tests with this agent cannot run; null when they can. */
export const missing = (agent: AgentName): string | null =>
  program(agent) === undefined ? `${agent} is not installed; run: npm run test:security` : null;

export interface AgentDaemon {
  readonly served: ServedDaemon;
  readonly client: Client;
  readonly trial: Trial;
  /** The environment of the agent, with its home. */
  readonly env: Readonly<Record<string, string>>;
}

export interface AgentDaemonOptions {
  readonly home: string;
  readonly turns: readonly ScriptTurn[];
  /** Folders before all others on the daemon's PATH. */
  readonly path?: readonly string[];
}

/** A daemon that finds this one agent. */
export async function serveAgent(agent: AgentName, options: AgentDaemonOptions): Promise<AgentDaemon> {
  const { home, turns, path = [] } = options;
  const { trial } = adapters[agent];
  if (trial === null) throw new Error(`${agent} has no trial`);
  const model = await servers[trial.model](scriptFor(trial, turns));
  onTestFinished(() => model.close());
  const [programs, agentHome] = [join(home, "programs"), join(home, "agent")];
  for (const folder of [programs, agentHome]) mkdirSync(folder);
  symlinkSync(program(agent) ?? "", join(programs, agent));
  const system = (process.env.PATH ?? "").split(delimiter).filter((folder) => !folder.includes("node_modules"));
  const PATH = [...path, programs, ...system].join(delimiter);
  const served = await serve({ home, args: ["--port", "0"], env: { PATH } });
  const client = connect({ url: served.url, token: served.token ?? "" });
  return { served, client, trial, env: prepare(trial.setup({ folder: agentHome, url: model.url })) };
}

/** One turn; what the agent asks is answered by `allow`. */
export async function oneTurn(
  session: Session,
  allow: (event: UniversalEvent) => boolean,
): Promise<readonly UniversalEvent[]> {
  const events: UniversalEvent[] = [];
  for await (const event of session.ask("Go on.")) {
    events.push(event);
    if (event.type !== "permission.requested") continue;
    await session.replyPermission(event.data.permission_id, allow(event) ? "once" : "reject");
  }
  return events;
}

export const says = (text: string): ScriptTurn => ({ type: "answer", blocks: [{ type: "text", text }] });

export const calls = (name: string, input: unknown): ScriptTurn => ({
  type: "answer",
  blocks: [{ type: "tool_call", name, input }],
});
