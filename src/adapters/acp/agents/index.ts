/** Agents that speak the Agent Client Protocol: the known ones, and any other by its command. */
import type { Adapter } from "../../../core/adapter.ts";
import { generic } from "../generic.ts";
import { claudeAcp } from "./claude-acp.ts";
import { codexAcp } from "./codex-acp.ts";
import { copilot } from "./copilot.ts";
import { gemini } from "./gemini.ts";
import { grok } from "./grok.ts";
import { kimi } from "./kimi.ts";
import { nanocoder } from "./nanocoder.ts";
import { opencodeAcp } from "./opencode-acp.ts";
import { pi } from "./pi.ts";
import { qwen } from "./qwen.ts";

const known: readonly Adapter[] = [claudeAcp, codexAcp, copilot, gemini, grok, kimi, nanocoder, opencodeAcp, pi, qwen];

export const acpAgents: readonly Adapter[] = [generic(known), ...known];
