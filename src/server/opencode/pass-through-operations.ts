/**
 * What OpenCode's own server answers: what concerns the machine and the project, never a conversation. This is an
 * allow list; whatever is neither here nor a route of ours is refused.
 */
import type { Action } from "../../protocol/tokens.ts";

export interface PassedOperation {
  /**
   * `always`: the server is started for it. `running`: only where it runs already, or where sessions begin with the
   * OpenCode agent; clients ask for these when they start. `opencode`: the latter only, since it is about that agent.
   */
  readonly when: "always" | "running" | "opencode";
  /** Its answer may hold keys and passwords: they are replaced. */
  readonly secret?: boolean;
  /** What a credential needs; absent: only the owner may, as for all configuration. */
  readonly action?: Action;
}

const always: PassedOperation = { when: "always" };
const read: PassedOperation = { ...always, action: "read" };
const shell: PassedOperation = { ...always, action: "shell" };
const secret: PassedOperation = { when: "always", secret: true };
const running: PassedOperation = { when: "running", action: "read" };
const opencode: PassedOperation = { when: "opencode", action: "read" };

export const passed: Readonly<Record<string, PassedOperation>> = {
  "PUT /auth/{providerID}": always,
  "DELETE /auth/{providerID}": always,
  "PATCH /config": secret,
  "PATCH /global/config": secret,
  "GET /experimental/console": running,
  "GET /experimental/console/orgs": always,
  "POST /experimental/console/switch": always,
  "GET /experimental/tool": read,
  "GET /experimental/tool/ids": read,
  "GET /experimental/worktree": read,
  "POST /experimental/worktree": always,
  "DELETE /experimental/worktree": always,
  "POST /experimental/worktree/reset": always,
  "GET /experimental/resource": running,
  "GET /find/symbol": running,
  "POST /vcs/apply": shell,
  "GET /vcs/diff": read,
  "GET /vcs/diff/raw": read,
  "GET /command": opencode,
  "GET /skill": opencode,
  "GET /lsp": running,
  "GET /formatter": running,
  "GET /mcp": running,
  "POST /mcp": secret,
  "POST /mcp/{name}/auth": always,
  "DELETE /mcp/{name}/auth": always,
  "POST /mcp/{name}/auth/callback": always,
  "POST /mcp/{name}/auth/authenticate": always,
  "POST /mcp/{name}/connect": always,
  "POST /mcp/{name}/disconnect": always,
  "POST /project/git/init": always,
  "PATCH /project/{projectID}": always,
  "POST /experimental/project/{projectID}/copy": always,
  "DELETE /experimental/project/{projectID}/copy": always,
  "POST /experimental/project/{projectID}/copy/refresh": always,
  "POST /experimental/project/{projectID}/copy/generate-name": always,
  "GET /provider/auth": running,
  "POST /provider/{providerID}/oauth/authorize": always,
  "POST /provider/{providerID}/oauth/callback": secret,
  "GET /pty/shells": shell,
  "GET /pty": shell,
  "POST /pty": shell,
  "GET /pty/{ptyID}": shell,
  "PUT /pty/{ptyID}": shell,
  "DELETE /pty/{ptyID}": shell,
  "POST /pty/{ptyID}/connect-token": shell,
  "GET /api/fs/list": running,
  "GET /api/fs/find": running,
  "GET /api/command": opencode,
  "GET /api/skill": opencode,
  "GET /api/reference": opencode,
  "GET /api/integration": { ...running, secret: true },
  "GET /api/integration/{integrationID}": secret,
  "POST /api/integration/{integrationID}/connect/key": always,
  "POST /api/integration/{integrationID}/connect/oauth": always,
  "GET /api/integration/attempt/{attemptID}": always,
  "DELETE /api/integration/attempt/{attemptID}": always,
  "POST /api/integration/attempt/{attemptID}/complete": always,
  "PATCH /api/credential/{credentialID}": always,
  "DELETE /api/credential/{credentialID}": always,
  "GET /api/pty": shell,
  "POST /api/pty": shell,
  "GET /api/pty/{ptyID}": shell,
  "PUT /api/pty/{ptyID}": shell,
  "DELETE /api/pty/{ptyID}": shell,
  "POST /api/pty/{ptyID}/connect-token": shell,
};

/** Terminals, by WebSocket. */
export const sockets: readonly string[] = ["GET /pty/{ptyID}/connect", "GET /api/pty/{ptyID}/connect"];

const OTHERS = "It would stop the server under sessions that use it.";
const SYNC = "It writes into OpenCode's own store of conversations, and conversations are Franca's.";
const WORKSPACES = "Workspaces run sessions elsewhere; sessions are Franca's.";

/** Neither ours nor passed on, and why. */
export const refused: Readonly<Record<string, string>> = {
  "POST /experimental/session/{sessionID}/background": "Agents move their tools to the background themselves.",
  "PATCH /session/{sessionID}/message/{messageID}/part/{partID}": "What was said stands in the log as it was said.",
  "POST /api/session/{sessionID}/revert/commit": "The next prompt makes a revert final.",
  "POST /api/session/{sessionID}/permission": "Permissions are asked for by agents.",
  "DELETE /api/permission/saved/{id}": "What was allowed for good is kept by the agent.",
  "POST /global/dispose": OTHERS,
  "POST /instance/dispose": OTHERS,
  "POST /global/upgrade": "Programs are installed by a person: franca agents install opencode.",
  "POST /sync/start": SYNC,
  "POST /sync/replay": SYNC,
  "POST /sync/steal": SYNC,
  "POST /sync/history": SYNC,
  "POST /experimental/workspace": WORKSPACES,
  "DELETE /experimental/workspace/{id}": WORKSPACES,
  "GET /experimental/workspace/adapter": WORKSPACES,
  "POST /experimental/workspace/sync-list": WORKSPACES,
  "POST /experimental/workspace/warp": WORKSPACES,
  "POST /experimental/control-plane/move-session": WORKSPACES,
};
