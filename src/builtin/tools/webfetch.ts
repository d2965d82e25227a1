/**
 * webfetch: a page as text. Every hop is allowed by itself, and private addresses are refused unless a rule names them.
 */
import type { LookupAddress } from "node:dns";
import type { IncomingMessage } from "node:http";
import * as z from "zod";
import { matchesPattern } from "../../permissions/wildcard.ts";
import { isPrivateAddress } from "../../runtime/outbound/address.ts";
import { requestAt, resolveOnce } from "../../runtime/outbound/fetch.ts";
import { timeoutSignal } from "../../runtime/timeout-signal.ts";
import { judge, type Policy, type Verdict } from "../permission/policy.ts";
import { boundOutput } from "./bound.ts";
import { htmlToText } from "./html.ts";
import { defineTool, type ToolContext, ToolFailure } from "./tool.ts";

const BODY_LIMIT_BYTES = 5 * 1024 * 1024;
const REDIRECTS = 5;
const DEFAULT_TIMEOUT_S = 30;
const MAX_TIMEOUT_S = 120;

const headers = {
  accept: "text/html, text/*;q=0.9, */*;q=0.5",
  "user-agent": "franca",
  "accept-encoding": "identity",
};

export const webfetch = defineTool({
  name: "webfetch",
  kind: "web_search",
  description: "Fetches a URL over http or https and returns its text; HTML is made readable unless format is html.",
  input: z.object({
    url: z.string().min(1).describe("The full URL"),
    format: z.enum(["markdown", "text", "html"]).optional().describe("How HTML is returned; markdown when absent"),
    timeout: z.number().int().min(1).max(MAX_TIMEOUT_S).optional().describe("Seconds to wait"),
  }),
  title: ({ url }) => url,
  async run({ url, format = "markdown", timeout = DEFAULT_TIMEOUT_S }, context) {
    const signal = timeoutSignal({ signal: context.signal, ms: timeout * 1_000 });
    const { body, type, status } = await fetchAll({ url: readUrl(url), context, signal, timeout });
    const text = type.includes("html") && format !== "html" ? htmlToText(body) : body;
    if (status >= 400) return { output: `HTTP ${status}\n\n${await boundOutput(text, context)}`, is_error: true };
    return { output: text === "" ? "(the page is empty)" : await boundOutput(text, context) };
  },
});

function readUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || (url.protocol !== "http:" && url.protocol !== "https:")) {
    throw new ToolFailure(`${text} is no http or https URL.`);
  }
  if (url.username !== "" || url.password !== "") throw new ToolFailure("A URL with a user name in it is not fetched.");
  return url;
}

interface FetchOptions {
  readonly url: URL;
  readonly context: ToolContext;
  readonly signal: AbortSignal;
  readonly timeout: number;
}

interface Page {
  readonly body: string;
  readonly type: string;
  readonly status: number;
}

async function fetchAll({ url: first, context, signal, timeout }: FetchOptions): Promise<Page> {
  let url = first;
  let seen = "";
  for (let hop = 0; hop <= REDIRECTS; hop += 1) {
    if (await permitUrl(context, { url, seen })) seen = url.origin;
    const failed = (error: unknown): never => {
      context.signal.throwIfAborted();
      throw fetchFailure({ url, error, timedOut: signal.aborted, timeout });
    };
    // The addresses that are checked are those that are connected to: a name cannot change its mind in between.
    const addresses = await resolveOnce({ url, signal }).catch(failed);
    await permitPrivate(context, { url, addresses });
    const response = await requestAt({ url, addresses, method: "GET", headers, body: null, signal }).catch(failed);
    const { statusCode: status = 0 } = response;
    const { location, "content-type": type = "" } = response.headers;
    const target = status >= 300 && status < 400 ? location : undefined;
    if (target === undefined) return { body: await readBody(response, signal), type, status };
    response.destroy();
    url = readUrl(new URL(target, url).href);
  }
  throw new ToolFailure(`${first.href} redirects more than ${REDIRECTS} times.`);
}

/** Every hop needs its rule; who was asked about a place is not asked again for another page of it. */
async function permitUrl(context: ToolContext, { url, seen }: { url: URL; seen: string }): Promise<boolean> {
  let asked = false;
  await context.permit({
    action: "webfetch",
    judge: (policy) => {
      const verdict = judge(policy, { names: ["webfetch"], texts: [url.href] });
      if (verdict.action === "ask" && url.origin === seen) {
        return { action: "allow", reason: "its origin was allowed", rule: null };
      }
      asked = verdict.action === "ask";
      return verdict;
    },
    patterns: [url.href],
    always: [{ action: "webfetch", pattern: url.href }],
    metadata: { url: url.href },
  });
  return asked;
}

/** Throws when the host has a private address and no rule allows that. */
async function permitPrivate(
  context: ToolContext,
  { url, addresses }: { readonly url: URL; readonly addresses: readonly LookupAddress[] },
): Promise<void> {
  if (!addresses.some(({ address }) => isPrivateAddress(address))) return;
  await context.permit({
    action: "private_address",
    judge: (policy) => judgePrivate(policy, url),
    patterns: [url.host],
    always: [{ action: "private_address", pattern: url.host }],
    metadata: { url: url.href },
  });
}

/** A rule for the host, or a webfetch rule that spells the host out, opens it; a general one does not. */
function judgePrivate(policy: Policy, url: URL): Verdict {
  const verdict = judge(policy, { names: ["private_address"], texts: [url.host] });
  if (verdict.action !== "deny") return verdict;
  const named = policy.rules.findLast(
    ({ permission, pattern }) =>
      permission === "webfetch" && pattern.includes(`//${url.host}`) && matchesPattern({ pattern, text: url.href }),
  );
  const forbidden = policy.rules.some(({ permission }) => permission === "private_address");
  if (named?.action === "allow" && !forbidden) return { action: "allow", reason: "a rule names the host", rule: named };
  const reason = "private addresses are refused unless a rule for private_address allows them";
  return { action: "deny", reason, rule: null };
}

async function readBody(response: IncomingMessage, signal: AbortSignal): Promise<string> {
  const type = response.headers["content-type"] ?? "";
  if (/^(image|audio|video|font)\//.test(type) || type.includes("octet-stream")) {
    response.destroy();
    throw new ToolFailure(`The URL gives ${type}, which is no text.`);
  }
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response) {
    signal.throwIfAborted();
    const bytes: Buffer = Buffer.from(chunk);
    size += bytes.length;
    if (size > BODY_LIMIT_BYTES) {
      response.destroy();
      throw new ToolFailure(`The page is larger than ${BODY_LIMIT_BYTES} bytes.`);
    }
    chunks.push(bytes);
  }
  return new TextDecoder().decode(Buffer.concat(chunks));
}

function fetchFailure({
  url,
  error,
  timedOut,
  timeout,
}: {
  url: URL;
  error: unknown;
  timedOut: boolean;
  timeout: number;
}): ToolFailure {
  if (error instanceof ToolFailure) return error;
  if (timedOut) return new ToolFailure(`${url.href} did not answer within ${timeout} s.`);
  const why = error instanceof Error ? error.message : String(error);
  return new ToolFailure(`${url.href} could not be fetched: ${why}`);
}
