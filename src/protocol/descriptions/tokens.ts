/** Descriptions of credentials with limits. */
import type * as tokens from "../tokens.ts";
import type { Fields } from "./fields.ts";

const limits = {
  kind: "What holds it: `page`, `client` (OpenCode's TUI), `web-app`, `delegation` (an agent), `plugin`, or `token`.",
  surface: "The API that it is for: `v1`, `opencode` or `mcp`.",
  sessions: "Ids of further sessions that it gives access to, wherever they work.",
  pid: "The process that it ends with, on the daemon's machine.",
};

const summary = {
  ...limits,
  id: "Names the credential, for example to revoke it.",
  folders: "Folders whose sessions and files it gives access to, with what lies below; null: all.",
  actions: "What it allows.",
  createdAt: "When it was made.",
  expiresAt: "When it ends; null: when it is revoked.",
};

export const tokenTypes = {
  CreateToken: {
    ...limits,
    folders: "Folders whose sessions and files it gives access to, with what lies below.",
    actions: "What it allows.",
    ttlMs: "Milliseconds until it ends.",
  } satisfies Fields<tokens.CreateToken>,
  TokenSummary: summary satisfies Fields<tokens.TokenSummary>,
  TokenList: { tokens: "The newest first." } satisfies Fields<tokens.TokenList>,
  CreatedToken: {
    ...summary,
    secret: "Sent as `Authorization: Bearer …`, or as the password of Basic. It is returned once and stored nowhere.",
  } satisfies Fields<tokens.CreatedToken>,
};
