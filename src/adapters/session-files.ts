/**
 * Every agent whose own session files we read, one line each. Apart from the adapters, because only what has a disk
 * needs them: the inspector does not.
 */
import type { Adapter } from "../core/adapter.ts";
import type { SessionFiles } from "../core/session-files.ts";
import { gemini } from "./acp/agents/gemini.ts";
import { qwen } from "./acp/agents/qwen.ts";
import { sessionFiles as geminiFiles } from "./acp/files/gemini.ts";
import { sessionFiles as qwenFiles } from "./acp/files/qwen.ts";
import { amp } from "./amp/index.ts";
import { sessionFiles as ampFiles } from "./amp/session-file.ts";
import { claude } from "./claude/index.ts";
import { sessionFiles as claudeFiles } from "./claude/session-file.ts";
import { codex } from "./codex/index.ts";
import { sessionFiles as codexFiles } from "./codex/session-file.ts";
import { opencode } from "./opencode/index.ts";
import { sessionFiles as opencodeFiles } from "./opencode/session-file.ts";

export interface AgentFiles {
  readonly adapter: Adapter;
  readonly files: SessionFiles;
}

export const agentFiles: readonly AgentFiles[] = [
  { adapter: amp, files: ampFiles },
  { adapter: claude, files: claudeFiles },
  { adapter: codex, files: codexFiles },
  { adapter: gemini, files: geminiFiles },
  { adapter: opencode, files: opencodeFiles },
  { adapter: qwen, files: qwenFiles },
];

export const filesOf = (agent: string): AgentFiles | null =>
  agentFiles.find(({ adapter }) => adapter.agent === agent) ?? null;
