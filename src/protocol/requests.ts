/** Bodies of requests to the universal API: camelCase, validated at the boundary, shared by server, SDK and CLI. */
import * as z from "zod";
import { BudgetLimits, SessionBudget } from "./budget.ts";
import { WantedPlacement } from "./placement.ts";
import { PermissionMode } from "./session-enums.ts";
import { WorktreeRequest } from "./workspaces.ts";

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

/** For a session whose id the daemon makes. Without an agent it gets the daemon's default agent. */
export const CreateAnySession = CreateSession.partial({ agent: true });
export type CreateAnySession = z.infer<typeof CreateAnySession>;

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
  scope: z.string().optional(),
  message: z.string().optional(),
});
export const ReplyQuestion = z.strictObject({ answers: z.array(z.array(z.string())) });
export const RejectQuestion = z.strictObject({ message: z.string().optional() });
export const ForkSession = z.strictObject({ sessionId: z.string().min(1).max(256).optional() });
export const InstallAgent = z.strictObject({ version: z.string().optional(), reinstall: z.boolean().optional() });

const KeyValue = z
  .string()
  .min(1)
  .max(16_384)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what a key cannot have.
  .regex(/^[^\u0000-\u001f]*$/, "a key holds no control characters");
/** Values of environment variables, by name. */
export const SessionKeys = z.strictObject({ keys: z.record(z.string(), KeyValue) });
export const TrustRequest = z.strictObject({ directory: z.string().min(1), force: z.boolean().optional() });
export const LoginRequest = z.strictObject({ code: z.string().min(1).max(256) });

/** What usage is added up by. */
export const UsageBy = z.enum(["day", "agent", "model", "folder"]);
export type UsageBy = z.infer<typeof UsageBy>;
