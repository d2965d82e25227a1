/** OpenCode, by its server. */
import { defineAdapter } from "../../core/adapter.ts";
import { isOpenCodeEvent, isOpenCodeLine } from "../../dialects/opencode-stream.ts";
import { capabilities } from "./capabilities.ts";
import { folderFiles, launch } from "./launch.ts";
import { models } from "./models.ts";
import { route } from "./route.ts";
import { adapter } from "./translate.ts";
import { trial } from "./trial.ts";

export const opencode = defineAdapter({
  agent: "opencode",
  name: "OpenCode",
  isNative: isOpenCodeLine,
  recognises,
  adapter,
  launch,
  route,
  capabilities,
  folder: { lookFor: folderFiles },
  binary: {
    name: "opencode",
    versionArgs: ["--version"],
    install: {
      kind: "npm",
      package: "opencode-ai",
      version: "1.18.33",
      fallbacks: ["opencode-{platform}-{arch}/bin/opencode", "opencode-ai/bin/opencode.exe"],
    },
  },
  // It takes models of any provider: the keys of the large ones are its own too.
  environment: { prefixes: ["OPENCODE_", "ANTHROPIC_", "OPENAI_", "OPENROUTER_", "GOOGLE_GENERATIVE_AI_", "GEMINI_"] },
  credentials: {
    variables: ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENROUTER_API_KEY", "OPENCODE_API_KEY"],
    files: [".local/share/opencode/auth.json"],
  },
  modes: [
    { id: "build", name: "Build", description: "May read, write and run commands, as its rules allow." },
    { id: "plan", name: "Plan", description: "May look, but writes nothing." },
  ],
  models,
  trial,
  resumeCommand: (id) => `opencode --session ${id}`,
});

/** Its events have a type, properties and mostly an id of their own kind. */
function recognises(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  const event = "payload" in value ? value.payload : value;
  if (!isOpenCodeEvent(event)) return false;
  return "payload" in value || (event.id === undefined ? true : event.id.startsWith("evt_"));
}
