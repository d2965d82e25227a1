/**
 * Resources of the universal API, camelCase, shared by server, SDK and CLI. A daemon validates only requests, and loads
 * the schemas of what it answers for the OpenAPI document alone.
 */
import * as z from "zod";
import {
  EndReason,
  Permission,
  QuestionRequest,
  QueuedPrompt,
  Retry,
  Revert,
  Share,
  SlashCommand,
  Todo,
  UsageTotal,
} from "./event-parts.ts";
import { Item } from "./items.ts";
import { Placement } from "./placement.ts";
import { PermissionRule } from "./requests.ts";
import { SessionStatus } from "./session-enums.ts";
import { Worktree } from "./workspaces.ts";

export * from "./requests.ts";
export * from "./usage.ts";

export const CreatedSession = z.object({
  healthy: z.boolean(),
  error: z.string().optional(),
  nativeSessionId: z.string().optional(),
  worktree: Worktree.optional(),
});
export type CreatedSession = z.infer<typeof CreatedSession>;

export const NewSession = CreatedSession.extend({ sessionId: z.string(), agent: z.string() });
export type NewSession = z.infer<typeof NewSession>;

export const SessionSummary = z.object({
  sessionId: z.string(),
  agent: z.string(),
  agentMode: z.string().nullable(),
  permissionMode: z.string(),
  model: z.string().nullable(),
  variant: z.string().nullable(),
  nativeSessionId: z.string().nullable(),
  status: SessionStatus,
  /** While the status is `retrying`: which attempt, why, and when the next one is made. */
  retry: Retry.optional(),
  ended: z.boolean(),
  eventCount: z.number().int(),
  lastSequence: z.number().int(),
  createdAt: z.string(),
  updatedAt: z.string(),
  directory: z.string(),
  title: z.string().nullable(),
  metadata: z.record(z.string(), z.unknown()).optional(),
  parentId: z.string().optional(),
  archivedAt: z.string().nullable().optional(),
  worktree: Worktree.optional(),
  /** The same session's id on the OpenCode surface. */
  opencodeId: z.string().optional(),
  /** Tokens and cost so far. */
  usage: UsageTotal.optional(),
  /** How its last turn ended; absent before that. */
  lastEnd: z.object({ reason: EndReason, message: z.string().optional() }).optional(),
  /** Why the session can only be read and deleted: its stored settings are damaged. */
  damaged: z.string().optional(),
});
export type SessionSummary = z.infer<typeof SessionSummary>;

/** Whether processes of an agent are kept from the data folder. */
export const HideDataState = z.object({
  active: z.boolean(),
  /** Why not; absent when they are. */
  reason: z.string().optional(),
});
export type HideDataState = z.infer<typeof HideDataState>;

export const SessionDetail = SessionSummary.extend({
  turnId: z.string().nullable(),
  /** Whether the settings, hooks, plugins and MCP servers of its directory may be used. */
  trusted: z.boolean(),
  /** Whether the data folder is hidden from its agent. */
  hideData: HideDataState,
  pendingPermissions: z.array(Permission).readonly(),
  pendingQuestions: z.array(QuestionRequest).readonly(),
  queue: z.array(QueuedPrompt).readonly(),
  todos: z.array(Todo).readonly(),
  usage: UsageTotal,
  /** From here on the conversation is taken back, until the next prompt makes it final. */
  revert: Revert.nullable(),
  /** Where others can read it. */
  share: Share.nullable(),
  /** Where it runs, when several hosts share the log. */
  placement: Placement.optional(),
  permissionRules: z.array(PermissionRule).readonly(),
  /** What its agent can: as known of the agent, and as the agent itself has said in this session. */
  capabilities: z.record(z.string(), z.unknown()),
  /** Slash commands that the agent has named. */
  commands: z.array(SlashCommand).readonly(),
  items: z.array(Item).readonly(),
});
export type SessionDetail = z.infer<typeof SessionDetail>;

/** Which sessions are listed: all that fit everything given. */
export interface SessionFilter {
  readonly status?: SessionStatus;
  readonly agent?: string;
  readonly directory?: string;
  /** Part of the title, of an id or of the directory, in whatever case. */
  readonly q?: string;
}

/** Newest first. `nextCursor` asks for the page after this one; null when there is none. */
export const SessionList = z.object({
  nextCursor: z.string().nullable(),
  sessions: z.array(SessionSummary).readonly(),
});
export type SessionList = z.infer<typeof SessionList>;
export const ForkedSession = z.object({ sessionId: z.string() });

export const MissingKeys = z.object({
  missing: z.array(z.string()).readonly(),
  /** Whether the agent has what it needs to log in, by one of its keys or by a login of its own. */
  credentialsAvailable: z.boolean(),
});
export type MissingKeys = z.infer<typeof MissingKeys>;

/** A daemon that shares its log with others. */
export const HostSummary = z.object({
  id: z.string(),
  /** Where it is reached; empty until it listens. */
  url: z.string(),
  version: z.string(),
  startedAt: z.string(),
  /** Whether its lease has not ended. */
  alive: z.boolean(),
  /** Whether it is the one that answers. */
  self: z.boolean(),
  /** Whether it may run the sessions of hosts that are gone. */
  takeOver: z.boolean(),
  labels: z.array(z.string()).readonly(),
  /** So many sessions may be open there before no more are placed there; null: any number. */
  maxSessions: z.number().nullable(),
  /** Whether it takes nothing new any more. */
  draining: z.boolean(),
  /** Sessions that are open there. */
  openSessions: z.number(),
  /** Sessions that it runs when they are prompted. */
  homeOf: z.number(),
});
export type HostSummary = z.infer<typeof HostSummary>;
export const HostList = z.object({ hosts: z.array(HostSummary).readonly() });
export type HostList = z.infer<typeof HostList>;

export const TrustedFolder = z.object({ path: z.string(), from: z.enum(["person", "config"]) });
export const TrustList = z.object({ folders: z.array(TrustedFolder).readonly(), trusted: z.boolean().optional() });
export type TrustList = z.infer<typeof TrustList>;
export const TrustResult = z.object({ path: z.string() });

export const AgentSummary = z.object({
  id: z.string(),
  name: z.string(),
  installed: z.boolean(),
  version: z.string().optional(),
  path: z.string().optional(),
  /** It uses settings, hooks or plugins of a folder, and starts restricted in one that is not trusted. */
  folderTrust: z.boolean(),
  /** Whether the data folder is hidden from its processes. */
  hideData: HideDataState,
  credentialsAvailable: z.boolean(),
  /** Sessions that name no agent get this one. Absent on all when it could be more than one. */
  isDefault: z.boolean().optional(),
  capabilities: z.record(z.string(), z.unknown()),
});
export type AgentSummary = z.infer<typeof AgentSummary>;

export const ModelSummary = z.object({
  id: z.string(),
  name: z.string().optional(),
  variants: z.array(z.string()).optional(),
  defaultVariant: z.string().optional(),
  /** In tokens, as far as the agent reports them. */
  limit: z
    .object({ context: z.number().int().positive().optional(), output: z.number().int().positive().optional() })
    .optional(),
  /** USD per million tokens, as far as the agent reports them. */
  cost: z
    .object({
      input: z.number().positive().optional(),
      output: z.number().positive().optional(),
      cacheRead: z.number().positive().optional(),
      cacheWrite: z.number().positive().optional(),
    })
    .optional(),
});
export type ModelSummary = z.infer<typeof ModelSummary>;

export const ModeSummary = z.object({ id: z.string(), name: z.string(), description: z.string() });
export type ModeSummary = z.infer<typeof ModeSummary>;

export const AgentList = z.object({ agents: z.array(AgentSummary).readonly() });
export const ModelList = z.object({ models: z.array(ModelSummary).readonly(), defaultModel: z.string().optional() });
export type ModelList = z.infer<typeof ModelList>;
export const ModeList = z.object({ modes: z.array(ModeSummary).readonly() });

export const NativeLine = z.object({
  line: z.number().int(),
  time: z.string(),
  from: z.enum(["agent", "host", "process"]),
  native: z.unknown(),
});
export type NativeLine = z.infer<typeof NativeLine>;

/** Its schema is with the events, which a daemon does not load. */
export type { EventPage } from "./events.ts";

export const NativePage = z.object({ lines: z.array(NativeLine).readonly(), hasMore: z.boolean() });
export type NativePage = z.infer<typeof NativePage>;

export const Health = z.object({
  status: z.literal("ok"),
  version: z.string(),
  /** `failing`: nothing can be stored at the moment. */
  storage: z.enum(["ok", "failing"]),
  /** Only with `failing`: why, and what to do. */
  storageMessage: z.string().optional(),
  /** Only with `nonce`: the port that the daemon listens on. */
  port: z.number().int().optional(),
  /** Only with `nonce`: HMAC-SHA256 under the token of `franca health`, nonce and port, a line each, in hex. */
  proof: z.string().nullable().optional(),
  /** Only with `login`: the same under the SHA-256 of the page's credential, in base64url; null if it is not valid. */
  loginProof: z.string().nullable().optional(),
});
export type Health = z.infer<typeof Health>;

export const LoginCode = z.object({ code: z.string(), expiresAt: z.string() });
export type LoginCode = z.infer<typeof LoginCode>;
export const LoginCredential = z.object({ credential: z.string(), expiresAt: z.string() });
export type LoginCredential = z.infer<typeof LoginCredential>;

export const Problem = z.object({
  type: z.string(),
  title: z.string(),
  status: z.number().int(),
  detail: z.string(),
  code: z.string(),
});
export type Problem = z.infer<typeof Problem>;
