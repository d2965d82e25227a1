/** Claude Code, driven by its real binary. `docs/agents/claude.md` says how it streams and what each line becomes. */
import { defineAdapter } from "../../core/adapter.ts";
import { isClaudeLine, isClaudeOnly } from "../../dialects/claude-guard.ts";
import { binary, capabilities, launch, models } from "./launch.ts";
import { isRepeat } from "./state.ts";
import { adapter } from "./translate.ts";
import { trial } from "./trial.ts";

export const claude = defineAdapter({
  agent: "claude",
  name: "Claude Code",
  isNative: isClaudeLine,
  recognises: isClaudeOnly,
  adapter,
  deltas: {
    varying: [
      ["text", "uuid"],
      ["thinking", "uuid"],
    ],
    next: (state, [uuid]) => !isRepeat(state, { uuid, streamed: true }),
  },
  launch,
  capabilities,
  folder: { lookFor: [] },
  binary,
  // Its switches are called DISABLE_…; in a sandbox it lets root bypass permissions.
  environment: { prefixes: ["ANTHROPIC_", "CLAUDE_", "DISABLE_"], names: ["IS_SANDBOX"] },
  credentials: {
    variables: ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"],
    files: [".claude/.credentials.json"],
  },
  models,
  trial,
  placeOf(line) {
    const isPlace = isClaudeLine(line) && line.type === "assistant" && (line.parent_tool_use_id ?? null) === null;
    return isPlace ? (line.uuid ?? null) : null;
  },
  resumeCommand: (id) => `claude --resume ${id}`,
});
