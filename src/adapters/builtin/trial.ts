/** How the doctor tries the builtin agent: the scripted model stands in for its first provider. */
import type { Trial } from "../../core/trial.ts";

export const trial: Trial = {
  model: "anthropic",
  calls: ({ file, last, added }) => [
    { name: "read", input: { filePath: file } },
    { name: "edit", input: { filePath: file, oldString: last, newString: last + added } },
  ],
  permissionMode: "default",
  setup: ({ url }) => ({ env: { ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: "dummy" } }),
};
