/** Resource bodies of the universal API: camelCase, validated at the boundary, shared by server, SDK and CLI. */
import * as z from "zod";
import { BudgetLimits, SessionBudget } from "./budget.ts";
import {
  EndReason,
  Permission,
  PermissionMode,
  QuestionRequest,
  QueuedPrompt,
  Retry,
  Revert,
  SessionStatus,
  Share,
  SlashCommand,
  Todo,
  UsageTotal,
} from "./event-parts.ts";
import { Item } from "./items.ts";
import { Placement, WantedPlacement } from "./placement.ts";
import { Worktree, WorktreeRequest } from "./workspaces.ts";

export * from "./usage.ts";

const DAY_MS = 86_400_000;
const MAX_WATCHDOG_MS = 7 * DAY_MS;

export const McpServerConfig = z.union([
  z.strictObject({
    command: z.string().min(1),
    args: z.array(z.string()).optional(),
    env: z.record(z.string(), z.string()).optional(),
  }),
  z.strictObject({ url: z.url(), headers: z.record(z.string(), z.string()).optional() }),
]);

/** What happens to requests that nobody answers. */
export const Unattended = z.strictObject({
  policy: z.enum(["deny", "allow", "park"]),
  /** With `allow`: only these actions; everything when absent. */
  allow: z.array(z.string()).optional(),
  deadlineMs: z.number().int().min(1).max(MAX_WATCHDOG_MS).optional(),
});
export type Unattended = z.infer<typeof Unattended>;

/** Answers a permission before anybody is asked; of several that match, the last one counts. */
export const PermissionRule = z.strictObject({
  /** What is asked about: `bash`, `edit`, `question`, `*`. */
  permission: z.string().min(1).max(100),
  /** Of the command, the path or the address: `*` is any characters, `?` is one. */
  pattern: z.string().min(1).max(500),
  action: z.enum(["allow", "ask", "deny"]),
});
export type PermissionRule = z.infer<typeof PermissionRule>;
const PermissionRules = z.array(PermissionRule).max(200);

export const FinishTodos = z.union([
  z.boolean(),
  z.strictObject({
    maxContinuations: z.number().int().min(0).max(20).optional(),
    maxWithoutProgress: z.number().int().min(0).max(20).optional(),
    budgetUsd: z.number().positive().optional(),
    budgetMs: z.number().int().positive().optional(),
  }),
]);
export type FinishTodos = z.infer<typeof FinishTodos>;

/** A path that the system can take. */
const Path = z
  .string()
  .min(1)
  .refine((path) => !path.includes("\0"), "a path holds no NUL character");

/** What a client keeps with a session: nobody else reads it. */
const METADATA_BYTES = 65_536;
const Metadata = z
  .record(z.string(), z.unknown())
  .refine((value) => JSON.stringify(value).length <= METADATA_BYTES, `at most ${METADATA_BYTES} characters as JSON`);

export const CreateSession = z.strictObject({
  agent: z.string().min(1),
  model: z.string().min(1).optional(),
  variant: z.string().min(1).optional(),
  agentMode: z.string().min(1).optional(),
  permissionMode: PermissionMode.optional(),
  directory: Path.optional(),
  title: z.string().max(500).optional(),
  env: z.record(z.string(), z.string()).optional(),
  mcp: z.record(z.string(), McpServerConfig).optional(),
  systemPrompt: z.string().optional(),
  watchdogMs: z.number().int().min(100).max(MAX_WATCHDOG_MS).optional(),
  unattended: Unattended.optional(),
  permissionRules: PermissionRules.optional(),
  metadata: Metadata.optional(),
  /** The session that this one belongs to. */
  parentId: z.string().min(1).max(256).optional(),
  archivedAt: z.iso.datetime().nullable().optional(),
  finishTodos: FinishTodos.optional(),
  budget: SessionBudget.optional(),
  /** Its agent may ask other agents (`docs/mcp.md`), so many levels deep and so many at once. */
  delegate: z
    .union([
      z.boolean(),
      z.strictObject({
        depth: z.number().int().min(1).max(5).optional(),
        children: z.number().int().min(1).max(16).optional(),
      }),
    ])
    .optional(),
  nativeSessionId: z.string().min(1).optional(),
  /** A git worktree for this session alone, of the repository that `directory` is in. */
  worktree: WorktreeRequest.optional(),
  /** Which of several hosts may run it: `any`, `host:<id>` or `label:<label>`. Absent: the one that was asked. */
  placement: WantedPlacement.optional(),
});
export type CreateSession = z.infer<typeof CreateSession>;

export const UpdateSession = z.strictObject({
  title: z.string().max(500).optional(),
  model: z.string().min(1).optional(),
  variant: z.string().min(1).optional(),
  agentMode: z.string().min(1).optional(),
  permissionMode: PermissionMode.optional(),
  /** All of them: those that are not named are gone. */
  permissionRules: PermissionRules.optional(),
  metadata: Metadata.optional(),
  /** Put away by a person, and brought back with null. */
  archivedAt: z.iso.datetime().nullable().optional(),
  /** Each of the two parts that is given replaces the former one. */
  budget: SessionBudget.optional(),
});
export type UpdateSession = z.infer<typeof UpdateSession>;

export const CreatedSession = z.object({
  healthy: z.boolean(),
  error: z.string().optional(),
  nativeSessionId: z.string().optional(),
  worktree: Worktree.optional(),
});
export type CreatedSession = z.infer<typeof CreatedSession>;

/** For a session whose id the daemon makes. Without an agent it gets the daemon's default agent. */
export const CreateAnySession = CreateSession.partial({ agent: true });
export type CreateAnySession = z.infer<typeof CreateAnySession>;

export const NewSession = CreatedSession.extend({ sessionId: z.string(), agent: z.string() });
export type NewSession = z.infer<typeof NewSession>;

// One character class: a pattern of groups of four would need a stack as long as the file.
const Base64 = z.string().regex(/^[A-Za-z0-9+/]*={0,2}$/, "not base64");

/** A file that the daemon can read, or the content of one, as base64. */
export const SentAttachment = z.union([
  z.strictObject({ path: Path, mime: z.string().optional(), filename: z.string().optional() }),
  z.strictObject({ data: Base64, mime: z.string().min(1), filename: z.string().max(500).optional() }),
]);
export type SentAttachment = z.infer<typeof SentAttachment>;

export const SendMessage = z.strictObject({
  message: z.string(),
  attachments: z.array(SentAttachment).max(100).optional(),
  delivery: z.enum(["queue", "steer"]).optional(),
  budget: BudgetLimits.optional(),
});
export type SendMessage = z.infer<typeof SendMessage>;

export const AbortSession = z.strictObject({
  clearQueue: z.boolean().optional(),
  promptId: z.string().min(1).max(256).optional(),
});
export const ReplyPermission = z.strictObject({
  reply: z.enum(["once", "always", "reject"]),
  message: z.string().optional(),
});
export const ReplyQuestion = z.strictObject({ answers: z.array(z.array(z.string())) });
export const RejectQuestion = z.strictObject({ message: z.string().optional() });
export const ForkSession = z.strictObject({ sessionId: z.string().min(1).max(256).optional() });
export const InstallAgent = z.strictObject({ version: z.string().optional(), reinstall: z.boolean().optional() });

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
});
export type SessionSummary = z.infer<typeof SessionSummary>;

export const SessionDetail = SessionSummary.extend({
  turnId: z.string().nullable(),
  /** Whether the settings, hooks, plugins and MCP servers of its directory may be used. */
  trusted: z.boolean(),
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

const KeyValue = z
  .string()
  .min(1)
  .max(16_384)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what a key cannot have.
  .regex(/^[^\u0000-\u001f]*$/, "a key holds no control characters");
/** Values of environment variables, by name. */
export const SessionKeys = z.strictObject({ keys: z.record(z.string(), KeyValue) });
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
export const TrustRequest = z.strictObject({ directory: z.string().min(1), force: z.boolean().optional() });
export const TrustResult = z.object({ path: z.string() });

export const AgentSummary = z.object({
  id: z.string(),
  name: z.string(),
  installed: z.boolean(),
  version: z.string().optional(),
  path: z.string().optional(),
  /** It uses settings, hooks or plugins of a folder, and starts restricted in one that is not trusted. */
  folderTrust: z.boolean(),
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

export const LoginRequest = z.strictObject({ code: z.string().min(1).max(256) });
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
