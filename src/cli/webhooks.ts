/** `franca webhooks`: URLs that the daemon calls when something happens, and what could not be delivered. */
import { resolve } from "node:path";
import type { Command } from "commander";
import { defined } from "../core/defined.ts";
import {
  type DeadLetterList,
  type RetriedWebhook,
  Webhook,
  WebhookEvent,
  type WebhookList,
} from "../protocol/webhooks.ts";
import { type Http, openHttp } from "../sdk/http.ts";
import { loadSettings } from "./config.ts";
import { addDoorOptions, daemonAddress, refuseInsideSession } from "./door.ts";
import { printJson, table } from "./table.ts";
import { CommandError, UsageError } from "./usage.ts";

type Flags = Readonly<Record<string, unknown>>;

export function define(command: Command): void {
  addDoorOptions(command.command("list", { isDefault: true }))
    .description("list webhooks, with what waits and what failed (default)")
    .option("--json", "as JSON")
    .action((flags: object) => list({ ...flags }));
  addDoorOptions(command.command("add <name> [url]"))
    .description("add a webhook, or replace one that was added; the config file can hold them too")
    .option("--events <names>", `which events, with commas between: ${WebhookEvent.options.join(", ")}`)
    .option("--url-file <file>", "a file that holds the address")
    .option("--url-variable <name>", "an environment variable of the daemon that holds the address")
    .option("--secret-file <file>", "a file that holds the secret deliveries are signed with")
    .option("--secret-variable <name>", "an environment variable of the daemon that holds the secret")
    .option("--content", "send titles, folders and what was said, not only ids, reasons and usage")
    .option("--template <json>", "the body in the receiver's form, with {summary} and the like in it")
    .action((name: string, url: string | undefined, flags: object) => add(name, url, { ...flags }));
  addDoorOptions(command.command("remove <name>"))
    .description("remove a webhook; what waits for it is dropped")
    .action((name: string, flags: object) => remove(name, { ...flags }));
  addDoorOptions(command.command("dead <name>"))
    .description("list the events that could not be delivered")
    .option("--json", "as JSON")
    .action((name: string, flags: object) => dead(name, { ...flags }));
  addDoorOptions(command.command("retry <name> [ids...]"))
    .description("deliver dead letters again: those with these ids, or all")
    .action((name: string, ids: string[], flags: object) => retry(name, ids, { ...flags }));
  command.addHelpText(
    "after",
    `
Examples:
  $ franca webhooks
  $ franca webhooks add ci https://ci.example.com/franca --events turn.ended --secret-file ~/.config/franca/ci-secret
  $ franca webhooks dead ci
  $ franca webhooks retry ci`,
  );
}

async function openDaemonHttp(flags: Flags): Promise<Http> {
  refuseInsideSession(process.env);
  const { token, data } = await loadSettings({ flags, env: process.env });
  const url = await daemonAddress({ flags, env: process.env });
  if (url === null) throw new CommandError("No daemon runs, and webhooks are sent by one: start it with franca serve.");
  return openHttp({ url, data, ...defined({ token: token ?? undefined }) });
}

const pathOf = (name: string): string => `/v1/webhooks/${encodeURIComponent(name)}`;

async function list(flags: Flags): Promise<void> {
  const http = await openDaemonHttp(flags);
  const { webhooks } = await http.json<WebhookList>("/v1/webhooks");
  if (flags.json === true) return printJson({ webhooks });
  if (webhooks.length === 0) {
    process.stdout.write("No webhooks. To add one: franca webhooks add NAME URL\n");
    return;
  }
  const rows = webhooks.map((hook) => [
    hook.name,
    hook.address,
    hook.events.join(","),
    hook.signed ? "signed" : "unsigned",
    String(hook.pending),
    String(hook.delivered),
    String(hook.deadLetters),
    hook.lastError ?? "",
  ]);
  process.stdout.write(
    table([["NAME", "ADDRESS", "EVENTS", "SIGNED", "PENDING", "DELIVERED", "DEAD", "LAST ERROR"], ...rows]),
  );
}

async function add(name: string, url: string | undefined, flags: Flags): Promise<void> {
  const body = hookOf(url, flags);
  const http = await openDaemonHttp(flags);
  await http.request(pathOf(name), { method: "POST", body });
  process.stdout.write(`Added: ${name}\n`);
}

function hookOf(url: string | undefined, flags: Flags): Webhook {
  const text = (key: string): string | undefined => (typeof flags[key] === "string" ? flags[key] : undefined);
  const path = (key: string): string | undefined => (text(key) === undefined ? undefined : resolve(text(key) ?? ""));
  const parsed = Webhook.safeParse(
    defined({
      url,
      urlFile: path("urlFile"),
      urlVariable: text("urlVariable"),
      secretFile: path("secretFile"),
      secretVariable: text("secretVariable"),
      events: text("events")
        ?.split(",")
        .map((event) => event.trim()),
      content: flags.content === true ? true : undefined,
      template: text("template") === undefined ? undefined : parseTemplate(text("template") ?? ""),
    }),
  );
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new UsageError(`${issue?.path.join(".") ?? ""}: ${issue?.message ?? "not valid"}`.replace(/^: /, ""));
}

function parseTemplate(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new UsageError("--template: it is no JSON.", { cause: error });
  }
}

async function remove(name: string, flags: Flags): Promise<void> {
  await (await openDaemonHttp(flags)).request(pathOf(name), { method: "DELETE" });
  process.stdout.write(`Removed: ${name}\n`);
}

async function dead(name: string, flags: Flags): Promise<void> {
  const http = await openDaemonHttp(flags);
  const { deadLetters } = await http.json<DeadLetterList>(`${pathOf(name)}/dead-letters`);
  if (flags.json === true) return printJson({ deadLetters });
  if (deadLetters.length === 0) {
    process.stdout.write("No dead letters.\n");
    return;
  }
  const rows = deadLetters.map(({ id, type, failedAt, tries, error }) => [id, type, failedAt, String(tries), error]);
  process.stdout.write(table([["ID", "EVENT", "GIVEN UP AT", "TRIES", "ERROR"], ...rows]));
}

async function retry(name: string, ids: readonly string[], flags: Flags): Promise<void> {
  const http = await openDaemonHttp(flags);
  const body = ids.length === 0 ? {} : { ids };
  const { count } = await http.json<RetriedWebhook>(`${pathOf(name)}/retry`, { method: "POST", body });
  process.stdout.write(`${count} tried again.\n`);
}
