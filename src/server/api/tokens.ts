/** Routes by which the owner creates, lists and revokes credentials. A secret is returned only when it is created. */
import { ApiError } from "../../protocol/errors.ts";
import { CreateToken, type TokenSummary } from "../../protocol/tokens.ts";
import { processTable } from "../../runtime/agent/process-table.ts";
import type { ProcessIdentity } from "../../runtime/process-identity.ts";
import { type Credential, type Grant, realPath } from "../credentials/credential.ts";
import { created, defineRoute, empty, json, type Route } from "../http/route.ts";

const list = defineRoute({
  method: "get",
  path: "/v1/tokens",
  doc: {
    id: "listTokens",
    tag: "Tokens",
    summary: "List credentials",
    description:
      "Of pages, of programs that Franca started, of agents that delegate, and those made here; never the owner's token. " +
      "Secrets are not shown. Needs the owner's token.",
    errors: ["person_only"],
    answers: "json",
  },
  answer: "TokenList",
  handle: async ({ credentials }) => json({ tokens: credentials.list().map(summaryOf) }),
});

const create = defineRoute({
  method: "post",
  path: "/v1/tokens",
  doc: {
    id: "createToken",
    tag: "Tokens",
    summary: "Create a credential",
    description:
      "For one surface, for the given folders and sessions, with the given actions. It never allows more than asked in " +
      "permission mode `default`, and no rules, trust, webhooks, credentials or configuration. Needs the owner's token.",
    errors: ["person_only"],
    answers: "json",
    created: true,
  },
  body: CreateToken,
  answer: "CreatedToken",
  handle: async ({ credentials, body }) => {
    const { credential, secret } = credentials.issue(grantOf(body));
    return created({ ...summaryOf(credential), secret });
  },
});

const revoke = defineRoute({
  method: "delete",
  path: "/v1/tokens/{token}",
  doc: {
    id: "revokeToken",
    tag: "Tokens",
    summary: "Revoke a credential",
    description: "By its id. Its streams end at once. Needs the owner's token.",
    errors: ["not_found", "person_only"],
    answers: "empty",
  },
  handle: async ({ credentials, params: { token = "" } }) => {
    if (!credentials.revoke(token)) throw new ApiError("not_found", `There is no credential ${token}.`);
    return empty();
  },
});

function grantOf({ kind = "token", surface, folders = [], sessions = [], actions, ttlMs, pid }: CreateToken): Grant {
  if (folders.length === 0 && (sessions.length === 0 || surface === "opencode")) {
    throw new ApiError("invalid_request", "`folders` names no folder, so the credential would give access to nothing.");
  }
  return {
    kind,
    surface,
    // Resolved now: a link that leads elsewhere later does not move the credential.
    folders: folders.map(realPath),
    sessions,
    actions: [...new Set(actions)],
    expiresAt: Date.now() + ttlMs,
    process: pid === undefined ? null : identityOf(pid),
  };
}

function identityOf(pid: number): ProcessIdentity {
  const started = processTable.startOf(pid);
  if (started === null) throw new ApiError("invalid_request", `There is no process ${pid} on the daemon's machine.`);
  return { pid, started };
}

const summaryOf = ({ process, createdAt, expiresAt, ...rest }: Credential): TokenSummary => ({
  ...rest,
  createdAt: new Date(createdAt).toISOString(),
  expiresAt: expiresAt === null ? null : new Date(expiresAt).toISOString(),
  pid: process?.pid ?? null,
});

export const tokenRoutes: readonly Route[] = [list, create, revoke];
