/** What went wrong with a model call, read from whatever the SDK, the provider or the network threw. Pure. */

export interface Failure {
  /** `context`: the request is too long. `passing`: the same request may succeed later. */
  readonly kind: "context" | "passing" | "lasting";
  readonly code: string;
  readonly message: string;
  readonly status: number | null;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
}

const MESSAGE_LIMIT = 2_000;
const CAUSE_DEPTH = 8;

/** Words providers use when a request exceeds the model's context. */
const contextWords = [
  /context[_ ]length[_ ]exceeded/i,
  /prompt is too long/i,
  /(maximum|max|model'?s?) context (length|window)/i,
  /exceeds? (the )?(available |model'?s? |maximum )?context/i,
  /context window/i,
  /input (token count|length|is too long)/i,
  /too many (input )?tokens/i,
  /request_too_large|request entity too large/i,
  /reduce the length of (the )?(messages|prompt|input)/i,
  /larger than (the )?(context|maximum)/i,
  /ran out of context/i,
];

/** Not a lack of room, although tokens are spoken of. */
const rateWords = /rate.?limit|per (minute|day|hour)|too many requests|quota|throttl|\btpm\b|\brpm\b/i;

const quotaWords =
  /insufficient_quota|exceeded your current quota|credit balance|billing|usage not included|payment required/i;
const passingWords =
  /overloaded|rate.?limit|too.many.requests|resource.?exhausted|unavailable|server.?error|internal error|try again|retry your request|timed? ?out|timeout|temporarily/i;
const connectionWords =
  /econnreset|econnrefused|epipe|etimedout|enotfound|eai_again|socket hang up|und_err|fetch failed|terminated|network|connection (error|lost|closed|reset)|other side closed|premature close|aborted by the server|cannot connect/i;

/** Status codes that say "later", besides all from 500 on. */
const passingStatus: ReadonlySet<number> = new Set([408, 409, 425, 429]);

export function readFailure(error: unknown): Failure {
  const layers = withoutWrappers(unwrap(error));
  const status = statusOf(layers);
  const headers = headersOf(layers);
  const texts = layers.flatMap(textsOf);
  const all = texts.join("\n");
  const message = messageOf({ texts, status });
  const known = (kind: Failure["kind"], code: string): Failure => ({ kind, code, message, status, headers });

  if (isTooLong({ all, status })) return known("context", "context_overflow");
  if (quotaWords.test(all)) return known("lasting", "quota_exhausted");
  if (status === 429 || (status === null && /rate.?limit|too.many.requests/i.test(all))) {
    return known("passing", "rate_limited");
  }
  if (/overloaded/i.test(all) || status === 529) return known("passing", "overloaded");
  if (status === 401 || status === 403) return known("lasting", "credentials_refused");
  if (status === 404) return known("lasting", "model_not_found");
  if (status !== null && (status >= 500 || passingStatus.has(status))) return known("passing", "provider_unavailable");
  if (status !== null && status >= 400) return known("lasting", "request_refused");
  if (/timed? ?out|timeout/i.test(all)) return known("passing", "timeout");
  if (connectionWords.test(all)) {
    return { ...known("passing", "connection_lost"), message: `The connection to the provider was lost: ${message}` };
  }
  if (passingWords.test(all)) return known("passing", "provider_unavailable");
  return known("lasting", "provider_error");
}

function isTooLong({ all, status }: { all: string; status: number | null }): boolean {
  if (status === 413) return true;
  if (status !== null && (status >= 500 || status === 429 || status === 401 || status === 403)) return false;
  return contextWords.some((words) => words.test(all)) && !rateWords.test(all);
}

/** The SDK's wrapper around an answer that broke off has no information; the error it wraps does. */
function withoutWrappers(layers: readonly Layer[]): readonly Layer[] {
  const informative = layers.filter(({ message }) => message !== "Failed to process successful response");
  return informative.length === 0 ? layers : informative;
}

/** An answer that began well and broke off has no status that says anything. */
function statusOf(layers: readonly Layer[]): number | null {
  const status = firstNumber(layers, ["statusCode", "status"]);
  return status !== null && status < 400 ? null : status;
}

type Layer = Readonly<Record<string, unknown>>;

const isRecord = (value: unknown): value is Layer => typeof value === "object" && value !== null;

/** An error, what it was caused by, and what is wrapped inside it, outermost first. */
function unwrap(error: unknown): readonly Layer[] {
  const layers: Layer[] = [];
  let next: unknown = error;
  while (layers.length < CAUSE_DEPTH) {
    if (typeof next === "string") return [...layers, { message: next }];
    if (!isRecord(next)) return layers;
    layers.push(next);
    next = next.lastError ?? next.cause ?? next.error;
  }
  return layers;
}

function firstNumber(layers: readonly Layer[], names: readonly string[]): number | null {
  for (const layer of layers) {
    for (const name of names) {
      const value = layer[name];
      if (typeof value === "number") return value;
    }
  }
  return null;
}

function headersOf(layers: readonly Layer[]): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const { responseHeaders } of layers) {
    if (!isRecord(responseHeaders)) continue;
    for (const [name, value] of Object.entries(responseHeaders)) {
      if (typeof value === "string") headers[name.toLowerCase()] ??= value;
    }
  }
  return headers;
}

/** Everything of a layer that may carry the provider's words, the most informative first. */
function textsOf(layer: Layer): string[] {
  const body = typeof layer.responseBody === "string" ? layer.responseBody : "";
  const parsed = parse(body);
  const inner = isRecord(parsed) && isRecord(parsed.error) ? parsed.error : parsed;
  const fields = isRecord(inner) ? [inner.message, inner.code, inner.type] : [];
  const own = [layer.message, layer.code, layer.type];
  return [...fields, ...own, body].filter((text): text is string => typeof text === "string" && text !== "");
}

function parse(text: string): unknown {
  if (text === "") return null;
  try {
    return JSON.parse(text);
  } catch {
    // A gateway's HTML page, or a body cut short: its words are still read as text.
    return null;
  }
}

function messageOf({ texts, status }: { texts: readonly string[]; status: number | null }): string {
  const words = (texts[0] ?? "The model call failed and nothing said why.").slice(0, MESSAGE_LIMIT);
  return status === null || words.includes(String(status)) ? words : `${words} (HTTP ${status})`;
}
