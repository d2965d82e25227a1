/** `codex exec --json`, for `convert` only: live, Codex is driven by its app-server, which reports more. */
import { defineAdapter } from "../../core/adapter.ts";
import { noCapabilities } from "../../core/capabilities.ts";
import { isExecLine } from "../../dialects/codex-exec.ts";
import { adapter } from "./translate.ts";

export const codexExec = defineAdapter({
  agent: "codex-exec",
  name: "codex exec",
  isNative: isExecLine,
  // Our own events have the same names, but carry their data in `data`.
  recognises: (value) =>
    isExecLine(value) && !("data" in value) && value.type !== "error" && value.type !== "turn.started",
  adapter,
  launch: () => ({
    kind: "refused",
    code: "not_supported",
    message: "codex-exec is a recorded format; use the agent codex.",
  }),
  capabilities: { ...noCapabilities, todos: true, reasoning: true },
  resumeCommand: (id) => `codex resume ${id}`,
  offline: true,
  formOf: "codex",
});
