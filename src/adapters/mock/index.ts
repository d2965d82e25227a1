/** The mock: a scripted agent for trying things out and for tests. It plays in src/mock; here it is only translated. */
import { defineAdapter } from "../../core/adapter.ts";
import { isMockLine } from "../../dialects/mock.ts";
import { capabilities, launch, trial } from "./launch.ts";
import { adapter } from "./translate.ts";

export const mock = defineAdapter({
  agent: "mock",
  name: "Mock",
  isNative: isMockLine,
  // The names of its other lines are too common to be a proof.
  recognises: (value) => isMockLine(value) && (value.type === "ready" || value.type === "block"),
  adapter,
  deltas: { varying: [["text"]] },
  launch,
  capabilities,
  trial,
  models: {
    kind: "list",
    models: [{ id: "default", name: "Default model", limit: { context: 200_000, output: 32_000 } }],
  },
  modes: [{ id: "default", name: "Default", description: "Plays the scenario named by the prompt's first word." }],
});
