/** OpenCode, by its server. */
import { defineAdapter } from "../../core/adapter.ts";
import { isOpenCodeEvent, isOpenCodeLine } from "../../dialects/opencode-stream.ts";
import { capabilities } from "./capabilities.ts";
import { launch } from "./launch.ts";
import { models } from "./models.ts";
import { route } from "./route.ts";
import { adapter } from "./translate.ts";

export const opencode = defineAdapter({
  agent: "opencode",
  name: "OpenCode",
  isNative: isOpenCodeLine,
  recognises,
  adapter,
  launch,
  route,
  capabilities,
  binary: {
    name: "opencode",
    package: "opencode-ai",
    fallbacks: ["opencode-{platform}-{arch}/bin/opencode", "opencode-ai/bin/opencode.exe"],
    versionArgs: ["--version"],
    credentialEnv: ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENROUTER_API_KEY", "OPENCODE_API_KEY"],
    credentialFiles: [".local/share/opencode/auth.json"],
  },
  modes: [
    { id: "build", name: "Build", description: "May read, write and run commands, as its rules allow." },
    { id: "plan", name: "Plan", description: "May look, but writes nothing." },
  ],
  models,
  resumeCommand: (id) => `opencode --session ${id}`,
});

/** Its events have a type, properties and mostly an id of their own kind. */
function recognises(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  const event = "payload" in value ? value.payload : value;
  if (!isOpenCodeEvent(event)) return false;
  return "payload" in value || (event.id === undefined ? true : event.id.startsWith("evt_"));
}
