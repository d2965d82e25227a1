/** The `builtin` section of the configuration: its schema, and what the environment and flags add to it. */
import * as z from "zod";
import { defined } from "../core/defined.ts";
import { ApiError } from "../protocol/errors.ts";

export const ProviderKind = z.enum(["anthropic", "openai", "google", "openai-compatible"]);
export type ProviderKind = z.infer<typeof ProviderKind>;

const Provider = z.strictObject({
  kind: ProviderKind,
  baseURL: z.url({ protocol: /^https?$/, error: "expected an http or https URL" }).optional(),
  apiKey: z.string().min(1).optional(),
  /** The environment variable that holds the key. */
  apiKeyEnv: z.string().min(1).optional(),
});
export type Provider = z.infer<typeof Provider>;

const Limit = z.strictObject({
  context: z.number().int().positive(),
  input: z.number().int().positive().optional(),
  output: z.number().int().positive(),
});

const Effect = z.enum(["allow", "ask", "deny"], { error: 'expected "allow", "ask" or "deny"' });
const Permission = z.record(
  z.string(),
  z.union([Effect, z.record(z.string(), Effect)], {
    error: 'expected "allow", "ask", "deny", or an object of patterns with one of these each',
  }),
);

const MAX_RETRIES = 100;
const DAY_MS = 86_400_000;

export const BuiltinConfig = z.strictObject({
  /** `provider/model`. */
  model: z.string().min(1).optional(),
  provider: z.record(z.string().min(1), Provider).optional(),
  limits: z.record(z.string().min(1), Limit).optional(),
  permission: Permission.optional(),
  maxSteps: z.number().int().min(1).optional(),
  retry: z
    .strictObject({
      max: z.number().int().min(0).max(MAX_RETRIES).optional(),
      baseMs: z.number().int().min(0).max(DAY_MS).optional(),
      capMs: z.number().int().min(0).max(DAY_MS).optional(),
    })
    .optional(),
  compaction: z
    .strictObject({
      auto: z.boolean().optional(),
      reserved: z.number().int().min(0).optional(),
      tail: z.number().int().min(0).optional(),
    })
    .optional(),
  experimental: z.strictObject({ continue_loop_on_deny: z.boolean().optional() }).optional(),
});
export type BuiltinConfig = z.infer<typeof BuiltinConfig>;

/** Throws an `ApiError` that names each wrong key and what was expected. `source` is the file it came from. */
export function readBuiltinConfig(value: unknown, { source }: { source: string }): BuiltinConfig {
  const parsed = BuiltinConfig.safeParse(value ?? {});
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues.map(describeIssue);
  throw new ApiError("invalid_request", `${source} is not right: ${issues.join("; ")}.`);
}

function describeIssue(issue: z.core.$ZodIssue): string {
  const key = ["builtin", ...issue.path].join(".");
  if (issue.code === "unrecognized_keys") {
    return `${key} has no key ${issue.keys.map((name) => `"${name}"`).join(", ")}`;
  }
  return `${key}: ${issue.message}`;
}

/** What a command line may say besides the file. */
export interface BuiltinFlags {
  /** For the provider of the model in use. */
  readonly baseURL?: string;
  /** `provider/model`. */
  readonly model?: string;
}

/** Flags win over the file; a session's own model wins over both. */
export function withFlags(
  config: BuiltinConfig,
  { baseURL, model }: BuiltinFlags,
): BuiltinConfig & { baseURL?: string } {
  return { ...config, ...defined({ model, baseURL }) };
}

export type BuiltinSettings = BuiltinConfig & { readonly baseURL?: string };
