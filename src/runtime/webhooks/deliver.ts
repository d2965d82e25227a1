/** One try to deliver one event to one webhook: read from the log, rendered, signed, sent by the address rule. */
import { readFileSync } from "node:fs";
import { fillTemplate, webhookBody } from "../../core/webhook.ts";
import { hasCode } from "../../protocol/errors.ts";
import type { UniversalEvent } from "../../protocol/events.ts";
import { sessionId } from "../../protocol/ids.ts";
import type { Webhook } from "../../protocol/webhooks.ts";
import type { OutboundFetch } from "../outbound/fetch.ts";
import type { Sessions } from "../session/contract.ts";
import { timeoutSignal } from "../timeout-signal.ts";
import { signatureOf } from "./sign.ts";
import type { Reference } from "./state.ts";

/** A receiver has this long to answer. */
const ANSWER_MS = 5_000;
/** How far before the end of a turn its last words are looked for. */
const WORDS_WITHIN = 2_000;
const MAX_SECRET_BYTES = 65_536;

export type Delivery =
  | { readonly type: "delivered" }
  /** The session was deleted: there is nothing left to deliver. */
  | { readonly type: "gone" }
  | { readonly type: "failed"; readonly error: string };

export interface DeliverOptions {
  readonly hook: Webhook;
  readonly reference: Reference;
  readonly sessions: Pick<Sessions, "events" | "get">;
  readonly fetch: OutboundFetch;
  readonly environment: NodeJS.ProcessEnv;
  readonly signal: AbortSignal;
}

export async function deliver(options: DeliverOptions): Promise<Delivery> {
  const { reference, hook, environment, fetch, signal } = options;
  try {
    const event = await readEvent(options);
    if (event === null) return { type: "gone" };
    const context = await contextOf(event, options);
    const body = webhookBody(event, reference.type, context);
    const text = JSON.stringify(hook.template === undefined ? body : fillTemplate(hook.template, body));
    const answer = await fetch(addressOf(hook, environment), {
      method: "POST",
      headers: { "content-type": "application/json", ...headersOf({ hook, environment, id: body.id, text }) },
      body: text,
      signal: timeoutSignal({ signal, ms: ANSWER_MS }),
    });
    await answer.body?.cancel();
    if (answer.ok) return { type: "delivered" };
    const moved = answer.status >= 300 && answer.status < 400 ? " (redirects are not followed)" : "";
    return { type: "failed", error: `The receiver answered ${answer.status}${moved}.` };
  } catch (error) {
    if (hasCode(error, "session_not_found")) return { type: "gone" };
    return { type: "failed", error: reasonOf(error) };
  }
}

async function readEvent({ sessions, reference }: DeliverOptions): Promise<UniversalEvent | null> {
  const page = { offset: reference.sequence - 1, limit: 1, includeRaw: false };
  const { events } = await sessions.events(sessionId(reference.session), page);
  const [event] = events;
  return event?.sequence === reference.sequence ? event : null;
}

async function contextOf(event: UniversalEvent, { sessions, hook }: DeliverOptions) {
  const { agent, title, directory } = await sessions.get(event.session_id, { limit: 0 });
  if (hook.content !== true) return { agent, content: null, answer: null };
  const answer = event.type === "turn.ended" ? await lastWords(event, sessions) : null;
  return { agent, content: { title, directory }, answer };
}

/** The last message of the turn that is not a subagent's. */
async function lastWords(
  { session_id, sequence, turn_id }: UniversalEvent,
  sessions: DeliverOptions["sessions"],
): Promise<string | null> {
  const page = { offset: Math.max(0, sequence - 1 - WORDS_WITHIN), limit: WORDS_WITHIN, includeRaw: false };
  const { events } = await sessions.events(session_id, page);
  const said = events.flatMap((event) => {
    if (event.type !== "item.completed" || event.turn_id !== turn_id) return [];
    const { kind, role, subagent, content } = event.data.item;
    if (kind !== "message" || role !== "assistant" || subagent !== undefined) return [];
    const text = content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("");
    return text === "" ? [] : [text];
  });
  return said.at(-1) ?? null;
}

export function addressOf({ url, urlFile, urlVariable }: Webhook, environment: NodeJS.ProcessEnv): string {
  const text = url ?? readSecret({ file: urlFile, variable: urlVariable, environment, what: "address" });
  if (URL.canParse(text)) return text;
  throw new Error("The webhook's address is no URL.");
}

interface HeaderOptions {
  readonly hook: Webhook;
  readonly environment: NodeJS.ProcessEnv;
  readonly id: string;
  readonly text: string;
}

/** A webhook with a secret is never sent unsigned: where the secret cannot be read, nothing is sent. */
function headersOf({ hook, environment, id, text }: HeaderOptions): Record<string, string> {
  const { secretFile: file, secretVariable: variable } = hook;
  const timestamp = Math.floor(Date.now() / 1000);
  const headers = { "user-agent": "franca", "webhook-id": id, "webhook-timestamp": String(timestamp) };
  if (file === undefined && variable === undefined) return headers;
  const secret = readSecret({ file, variable, environment, what: "secret" });
  return { ...headers, "webhook-signature": signatureOf({ id, timestamp, body: text, secret }) };
}

interface SecretPlace {
  readonly file: string | undefined;
  readonly variable: string | undefined;
  readonly environment: NodeJS.ProcessEnv;
  readonly what: string;
}

/** Read at each try, so that a new value is used at once. */
function readSecret({ file, variable, environment, what }: SecretPlace): string {
  const text = (file === undefined ? environment[variable ?? ""] : readFileSync(file, "utf8"))?.trim() ?? "";
  if (text !== "" && text.length <= MAX_SECRET_BYTES) return text;
  throw new Error(`The webhook's ${what} is empty or too long: ${file ?? `the variable ${variable}`}.`);
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.name === "TimeoutError") return `The receiver did not answer within ${ANSWER_MS / 1000} s.`;
  // A connection tried at several addresses fails with a list and no message.
  return error.message === "" && "code" in error ? String(error.code) : error.message;
}
