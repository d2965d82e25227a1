/** The OpenCode projection: what OpenCode's own clients would hear, whichever agent speaks. */
export { DEFAULT_MODE, DEFAULT_MODEL, OPENCODE_VERSION } from "./describe.ts";
export { openCodeSessionId, projectId, slugOf } from "./ids.ts";
export { openCodeFold } from "./project.ts";
export { diffIn, letGo, recordChanges, scopes, type ToldDiff } from "./records.ts";
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
