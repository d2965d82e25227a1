/**
 * Routes about webhooks. Looking at them needs what every route needs; adding, removing and retrying needs the person's
 * own token, because an address that is called on every turn is a way out for what agents do.
 */
import { RetryWebhook, Webhook, WebhookName } from "../../protocol/webhooks.ts";
import { check } from "../http/request.ts";
import { defineRoute, empty, json, type Route } from "../http/route.ts";

const nameOf = ({ params }: { readonly params: Readonly<Record<string, string>> }): string =>
  check(WebhookName, params.name, { where: "The webhook's name" });

const list = defineRoute({
  method: "get",
  path: "/v1/webhooks",
  access: { surface: "v1", action: "read", everywhere: true },
  doc: {
    id: "listWebhooks",
    tag: "Webhooks",
    summary: "List webhooks",
    description: "With what waits and what failed. Of an address only its origin is shown, and secrets are never.",
    errors: [],
    answers: "json",
  },
  answer: "WebhookList",
  handle: async ({ webhooks }) => json({ webhooks: webhooks.list() }),
});

const add = defineRoute({
  method: "post",
  path: "/v1/webhooks/{name}",
  doc: {
    id: "putWebhook",
    tag: "Webhooks",
    summary: "Add or replace a webhook",
    description:
      "Needs the token itself. Events from now on are sent; one that replaces another of that name goes on where that " +
      "was. Private, link-local and metadata addresses need `--webhook-allow`. Secrets are named by file or variable.",
    errors: ["person_only"],
    answers: "empty",
    personal: true,
  },
  body: Webhook,
  handle: async (call) => {
    await call.webhooks.put(nameOf(call), call.body);
    return empty();
  },
});

const remove = defineRoute({
  method: "delete",
  path: "/v1/webhooks/{name}",
  doc: {
    id: "removeWebhook",
    tag: "Webhooks",
    summary: "Remove a webhook",
    description: "Needs the token itself. What waits to be delivered is dropped.",
    errors: ["not_found", "person_only"],
    answers: "empty",
    personal: true,
  },
  handle: async (call) => {
    await call.webhooks.remove(nameOf(call));
    return empty();
  },
});

const deadLetters = defineRoute({
  method: "get",
  path: "/v1/webhooks/{name}/dead-letters",
  access: { surface: "v1", action: "read", everywhere: true },
  doc: {
    id: "listDeadLetters",
    tag: "Webhooks",
    summary: "List what could not be delivered",
    description: "Events that were given up after 10 tries.",
    errors: ["not_found"],
    answers: "json",
  },
  answer: "DeadLetterList",
  handle: async (call) => json({ deadLetters: call.webhooks.deadLetters(nameOf(call)) }),
});

const retry = defineRoute({
  method: "post",
  path: "/v1/webhooks/{name}/retry",
  doc: {
    id: "retryWebhook",
    tag: "Webhooks",
    summary: "Deliver dead letters again",
    description: "Needs the token itself. They are sent after what waits already, each with its old id.",
    errors: ["not_found", "person_only"],
    answers: "json",
    personal: true,
  },
  body: RetryWebhook,
  bodyOptional: true,
  answer: "RetriedWebhook",
  handle: async (call) => json({ count: call.webhooks.retry(nameOf(call), call.body.ids) }),
});

export const webhookRoutes: readonly Route[] = [list, add, remove, deadLetters, retry];
