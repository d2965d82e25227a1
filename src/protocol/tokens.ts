/** Credentials with limits: what a client other than the owner may do, where, and for how long. */
import * as z from "zod";

/** The API that a credential is for: the universal one, the one of OpenCode's clients, or MCP. */
export const CredentialSurface = z.enum(["v1", "opencode", "mcp"]);
export type CredentialSurface = z.infer<typeof CredentialSurface>;

/** `manage` changes title and model; `shell` types commands and opens terminals in trusted folders. */
const GrantedAction = z.enum(["read", "create", "prompt", "answer", "abort", "manage", "delete", "shell"]);

/** `raise` chooses a permission mode looser than `default`. It is only for pages that the owner logged in. */
export const Action = z.enum([...GrantedAction.options, "raise"]);
export type Action = z.infer<typeof Action>;

/** Kinds that are made by a request: any program, OpenCode's TUI, OpenCode's web app. */
const CreatedKind = z.enum(["token", "client", "web-app"]);
export const CredentialKind = z.enum([...CreatedKind.options, "page", "delegation", "plugin"]);
export type CredentialKind = z.infer<typeof CredentialKind>;

const MAX_TTL_MS = 365 * 86_400_000;

export const CreateToken = z.strictObject({
  kind: CreatedKind.optional(),
  surface: CredentialSurface,
  folders: z.array(z.string().min(1)).max(100).optional(),
  sessions: z.array(z.string().min(1).max(256)).max(1000).optional(),
  actions: z.array(GrantedAction).min(1),
  ttlMs: z.number().int().min(1).max(MAX_TTL_MS),
  pid: z.number().int().min(1).optional(),
});
export type CreateToken = z.infer<typeof CreateToken>;

export const TokenSummary = z.object({
  id: z.string(),
  kind: CredentialKind,
  surface: CredentialSurface,
  folders: z.array(z.string()).readonly().nullable(),
  sessions: z.array(z.string()).readonly(),
  actions: z.array(Action).readonly(),
  createdAt: z.string(),
  expiresAt: z.string().nullable(),
  pid: z.number().int().nullable(),
});
export type TokenSummary = z.infer<typeof TokenSummary>;

export const TokenList = z.object({ tokens: z.array(TokenSummary).readonly() });
export type TokenList = z.infer<typeof TokenList>;

export const CreatedToken = TokenSummary.extend({ secret: z.string() });
export type CreatedToken = z.infer<typeof CreatedToken>;
