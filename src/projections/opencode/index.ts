/** The OpenCode projection: what OpenCode's own clients would read, whichever agent runs. */
import { defineProjection } from "../../core/projection.ts";
import { openCodeFold } from "./project.ts";
import { openCodeRules } from "./rules.ts";
import { summariseOpenCode } from "./summary.ts";

export { DEFAULT_MODE, DEFAULT_MODEL, modelOf, OPENCODE_VERSION } from "./describe.ts";
export { openCodeSessionId, projectId, slugOf } from "./ids.ts";
export { openCodeFold } from "./project.ts";
export { diffIn, dropSaved, recordChanges, scopes, type ToolDiff } from "./records.ts";
export { defaultOptions, type OpenCodeOptions, type State as OpenCodeState } from "./state.ts";
export {
  applyOpenCode,
  emptySession,
  emptyStore,
  type OpenCodeStore,
  type StoredMessage,
  type StoredSession,
} from "./store.ts";
export { summariseOpenCode } from "./summary.ts";
export { relativePath } from "./tool-metadata.ts";
export { toolMappings } from "./tools.ts";

export const opencode = defineProjection({
  name: "opencode",
  summary: "events as OpenCode's clients read them",
  form: "json",
  file: "opencode.jsonl",
  sessions: "each",
  fold: () => openCodeFold(),
  rules: openCodeRules,
  lane: {
    title: "OpenCode",
    share: 28,
    summarise: summariseOpenCode,
    isEdge: ({ type }) => type === "session.status" || type === "session.idle",
  },
});
