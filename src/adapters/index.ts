/** Every agent we understand, one line each. Golden, contract and projection tests cover what is listed here. */
import type { Adapter } from "../core/adapter.ts";
import { acpAgents } from "./acp/agents/index.ts";
import { amp } from "./amp/index.ts";
import { builtin } from "./builtin/index.ts";
import { claude } from "./claude/index.ts";
import { codex } from "./codex/index.ts";
import { codexExec } from "./codex-exec/index.ts";
import { mock } from "./mock/index.ts";
import { opencode } from "./opencode/index.ts";
import { opencodeRun } from "./opencode/run.ts";

/** Agents that also have an adapter of their own are tried by the doctor as that one is. */
const native: Readonly<Record<string, Adapter>> = {
  "claude-acp": claude,
  "codex-acp": codex,
  "opencode-acp": opencode,
};
const acp = acpAgents.map((adapter) => ({ ...adapter, trial: adapter.trial ?? native[adapter.agent]?.trial ?? null }));

export const adapters: readonly Adapter[] = [
  amp,
  builtin,
  claude,
  codex,
  codexExec,
  mock,
  opencode,
  opencodeRun,
  ...acp,
];

export const adapterFor = (agent: string): Adapter | null =>
  adapters.find((adapter) => adapter.agent === agent) ?? null;
