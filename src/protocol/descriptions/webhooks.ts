/** What each field of webhooks means. */
import type * as z from "zod";
import type * as webhooks from "../webhooks.ts";
import type { Fields } from "./fields.ts";

type FieldsOf<Schema extends z.ZodType> = Fields<z.infer<Schema>>;

export const webhookTypes = {
  Webhook: {
    url: "Where events are sent. Exactly one of `url`, `urlFile` and `urlVariable` is given.",
    urlFile: "A file that holds the address: addresses of chat services are secrets.",
    urlVariable: "An environment variable of the daemon that holds the address.",
    events: "Which events are sent. Default: `turn.ended`, `requires_action` and `budget`.",
    secretFile: "A file that holds the secret that deliveries are signed with.",
    secretVariable: "An environment variable of the daemon that holds the secret.",
    content: "Whether titles, folders and what was said are sent too. Default: only ids, reasons and usage.",
    template: "The body in the receiver's form, with `{summary}`, `{session_id}` and so on in its texts.",
  } satisfies Fields<webhooks.Webhook>,
  WebhookSummary: {
    name: "Its name.",
    from: "Whether it is set in the config file, or was added by a person with the token.",
    address: "Where events are sent, without path and query; `unreadable` when the file or variable is missing.",
    events: "Which events are sent.",
    content: "Whether texts of conversations are sent.",
    signed: "Whether deliveries are signed.",
    pending: "How many events wait to be delivered.",
    delivered: "How many events were delivered.",
    deadLetters: "How many events were given up after 10 tries.",
    lastError: "Why the last try failed; null after one that succeeded.",
  } satisfies Fields<webhooks.WebhookSummary>,
  WebhookList: { webhooks: "All webhooks." } satisfies Fields<webhooks.WebhookList>,
  DeadLetter: {
    id: "The event's id, which is also the delivery's.",
    type: "What would have been sent.",
    sessionId: "The session.",
    failedAt: "When it was given up.",
    tries: "How often it was tried.",
    error: "Why the last try failed.",
  } satisfies Fields<webhooks.DeadLetter>,
  DeadLetterList: { deadLetters: "The latest 1,000, oldest first." } satisfies Fields<webhooks.DeadLetterList>,
  RetryWebhook: { ids: "Ids of dead letters; all of them when absent." } satisfies FieldsOf<
    typeof webhooks.RetryWebhook
  >,
  RetriedWebhook: { count: "How many are tried again." } satisfies Fields<webhooks.RetriedWebhook>,
};
