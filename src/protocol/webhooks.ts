/** Webhooks: what a person configures, what is shown of it, and the body that a receiver gets. */
import * as z from "zod";
import { UsageTotal } from "./usage-total.ts";

export const WebhookEvent = z.enum([
  "session.started",
  "session.ended",
  "turn.started",
  "turn.ended",
  "requires_action",
  "resolved",
  "budget",
  "error",
]);
export type WebhookEvent = z.infer<typeof WebhookEvent>;

/** What may stand between braces in a template. */
export const TEMPLATE_FIELDS = [
  "summary",
  "id",
  "type",
  "time",
  "session_id",
  "turn_id",
  "agent",
  "reason",
  "title",
  "text",
] as const;
export type TemplateField = (typeof TEMPLATE_FIELDS)[number];

const MAX_TEMPLATE = 20_000;
const PLACEHOLDER = /\{(\w+)\}/g;
const fields: ReadonlySet<string> = new Set(TEMPLATE_FIELDS);

function unknownFields(value: unknown): string[] {
  return [...JSON.stringify(value).matchAll(PLACEHOLDER)].flatMap(([, name = ""]) => (fields.has(name) ? [] : [name]));
}

/** A JSON body of the receiver's form, with `{summary}` and the like inside its texts. */
const Template = z
  .record(z.string(), z.unknown())
  .refine((value) => JSON.stringify(value).length <= MAX_TEMPLATE, `at most ${MAX_TEMPLATE} characters as JSON`)
  .refine((value) => unknownFields(value).length === 0, {
    error: ({ input }) =>
      `{${unknownFields(input).join("}, {")}} is not known; there are {${TEMPLATE_FIELDS.join("}, {")}}`,
  });

const Name = z.string().regex(/^[^\s=]{1,256}$/, "it is the name of a variable");

/** Exactly one of the three forms of the address. A chat service's address is itself a secret. */
export const Webhook = z
  .strictObject({
    url: z.url({ protocol: /^https?$/, error: "it is an address that begins with http:// or https://" }).optional(),
    urlFile: z.string().startsWith("/", "it is an absolute path").optional(),
    urlVariable: Name.optional(),
    events: z.array(WebhookEvent).min(1).optional(),
    secretFile: z.string().startsWith("/", "it is an absolute path").optional(),
    secretVariable: Name.optional(),
    content: z.boolean().optional(),
    template: Template.optional(),
  })
  .refine(
    ({ url, urlFile, urlVariable }) => [url, urlFile, urlVariable].filter((one) => one !== undefined).length === 1,
    "it needs exactly one of `url`, `urlFile` and `urlVariable`",
  )
  .refine(
    ({ secretFile, secretVariable }) => secretFile === undefined || secretVariable === undefined,
    "it takes `secretFile` or `secretVariable`, not both",
  );
export type Webhook = z.infer<typeof Webhook>;

export const DEFAULT_WEBHOOK_EVENTS: readonly WebhookEvent[] = ["turn.ended", "requires_action", "budget"];

export const WebhookName = z.string().regex(/^[\w.-]{1,64}$/, "a name is 1 to 64 letters, digits, `.`, `_` or `-`");
export const WebhookTable = z.record(WebhookName, Webhook);
export type WebhookTable = z.infer<typeof WebhookTable>;

export const WebhookSummary = z.object({
  name: z.string(),
  from: z.enum(["config", "person"]),
  address: z.string(),
  events: z.array(WebhookEvent).readonly(),
  content: z.boolean(),
  signed: z.boolean(),
  pending: z.number().int(),
  delivered: z.number().int(),
  deadLetters: z.number().int(),
  lastError: z.string().nullable(),
});
export type WebhookSummary = z.infer<typeof WebhookSummary>;
export const WebhookList = z.object({ webhooks: z.array(WebhookSummary).readonly() });
export type WebhookList = z.infer<typeof WebhookList>;

export const DeadLetter = z.object({
  id: z.string(),
  type: WebhookEvent,
  sessionId: z.string(),
  failedAt: z.string(),
  tries: z.number().int(),
  error: z.string(),
});
export type DeadLetter = z.infer<typeof DeadLetter>;
export const DeadLetterList = z.object({ deadLetters: z.array(DeadLetter).readonly() });
export type DeadLetterList = z.infer<typeof DeadLetterList>;

export const RetryWebhook = z.strictObject({ ids: z.array(z.string().min(1)).max(1000).optional() });
export const RetriedWebhook = z.object({ count: z.number().int() });
export type RetriedWebhook = z.infer<typeof RetriedWebhook>;

/** What a receiver gets. Fields that quote the conversation come with `content: true` only. */
export const WebhookBody = z.object({
  id: z.string(),
  type: WebhookEvent,
  time: z.string(),
  session_id: z.string(),
  turn_id: z.string().nullable(),
  sequence: z.number().int(),
  agent: z.string().nullable(),
  data: z.object({
    reason: z.string().optional(),
    evidence: z.string().optional(),
    usage: UsageTotal.optional(),
    code: z.string().nullable().optional(),
    /** `permission` or `question`; of a budget, what is counted. */
    kind: z.string().optional(),
    request_id: z.string().optional(),
    action: z.string().optional(),
    status: z.string().optional(),
    deadline: z.string().nullable().optional(),
    scope: z.string().optional(),
    limit: z.number().optional(),
    used: z.number().optional(),
    origin: z.string().optional(),
    prompt_id: z.string().optional(),
  }),
  content: z
    .object({
      title: z.string().nullable(),
      directory: z.string().nullable(),
      text: z.string().nullable(),
    })
    .optional(),
});
export type WebhookBody = z.infer<typeof WebhookBody>;
