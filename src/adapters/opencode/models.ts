/** The models that OpenCode can reach as it is configured: one `provider/model` per line. */
import type { ModelSource } from "../../core/adapter.ts";

export const models: ModelSource = {
  kind: "printed",
  args: ["models"],
  parse: (output) =>
    output
      .split("\n")
      .map((line) => line.trim())
      // Warnings may be printed among them.
      .filter((line) => /^[^\s/]+\/\S+$/.test(line))
      .map((id) => ({ id })),
};
