/** Our own agent, an agent like any other: reached through a connection, heard through an adapter. */
import { defineAdapter } from "../../core/adapter.ts";
import { isBuiltinLine } from "../../dialects/builtin.ts";
import { capabilities, launch, modes } from "./launch.ts";
import { adapter } from "./translate.ts";
import { trial } from "./trial.ts";

/** Lines whose tag no other agent uses. */
const ownTags: ReadonlySet<string> = new Set(["session", "step.start", "step.finish", "step.failed", "compaction.end"]);

export const builtin = defineAdapter({
  agent: "builtin",
  name: "Builtin",
  isNative: isBuiltinLine,
  recognises: (value) => isBuiltinLine(value) && ownTags.has(value.type),
  adapter,
  launch,
  capabilities,
  environment: { prefixes: ["ANTHROPIC_", "OPENAI_", "GOOGLE_GENERATIVE_AI_", "GEMINI_"] },
  credentials: {
    variables: ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY", "GEMINI_API_KEY"],
    files: [],
  },
  modes,
  trial,
});
