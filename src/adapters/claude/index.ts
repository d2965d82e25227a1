/** Claude Code, driven by its real binary. `docs/agents/claude.md` tells how it streams and what each line becomes. */
import { defineAdapter } from "../../core/adapter.ts";
import { isClaudeLine, isClaudeOnly } from "../../dialects/claude-guard.ts";
import { binary, capabilities, launch, models } from "./launch.ts";
import { adapter } from "./translate.ts";

export const claude = defineAdapter({
  agent: "claude",
  name: "Claude Code",
  isNative: isClaudeLine,
  recognises: isClaudeOnly,
  adapter,
  launch,
  capabilities,
  binary,
  models,
  resumeCommand: (id) => `claude --resume ${id}`,
});
