/**
 * Sends spans and metrics to an OTLP receiver over HTTP, by the address rule. One more reader of the log, from now on;
 * what a receiver does not take within a few tries is dropped and counted, and never slows a session.
 */
import { type Running, run } from "../../core/fold.ts";
import {
  openMetrics,
  projectOtel,
  type Resource,
  type Span,
  type Telemetry,
  traceRequest,
} from "../../projections/otel/index.ts";
import type { UniversalEvent } from "../../protocol/events.ts";
import type { SessionId } from "../../protocol/ids.ts";
import type { EventGroup } from "../../runtime/log/contract.ts";
import type { Logger } from "../../runtime/logger.ts";
import { type OutboundFetch, outboundFetch } from "../../runtime/outbound/fetch.ts";
import type { Sessions } from "../../runtime/session/contract.ts";
import { timeoutSignal } from "../../runtime/timeout-signal.ts";
import type { TelemetrySettings } from "./settings.ts";

const FLUSH_MS = 5_000;
const BATCH = 512;
/** Spans beyond this are dropped, the oldest first. */
const MAX_SPANS = 4_096;
/** Sessions whose fold is held; the one that was silent longest goes first. */
const MAX_SESSIONS = 1_000;
const REQUEST_MS = 10_000;
const CLOSE_MS = 2_000;
const TRIES = 5;
const FIRST_DELAY_MS = 1_000;
const MAX_DELAY_MS = 30_000;
/** The only statuses after which a request may be repeated. */
const RETRYABLE: ReadonlySet<number> = new Set([429, 502, 503, 504]);

export interface TelemetryOptions {
  readonly settings: TelemetrySettings;
  /** Private addresses that may be sent to. */
  readonly allow: readonly string[];
  readonly sessions: Pick<Sessions, "followAll" | "position" | "get">;
  readonly version: string;
  readonly logger: Logger;
  readonly flushMs?: number | undefined;
  readonly firstDelayMs?: number | undefined;
}

export interface TelemetryExporter {
  /** What is left is sent, within a bound. */
  readonly close: () => Promise<void>;
}

interface Work extends TelemetryOptions {
  readonly fetch: OutboundFetch;
  readonly resource: Resource;
  readonly folds: Map<SessionId, Running<UniversalEvent, Telemetry>>;
  readonly metrics: ReturnType<typeof openMetrics>;
  readonly stopped: AbortController;
  spans: Span[];
  dropped: number;
  /** Something was measured since the last flush. */
  measured: boolean;
}

export function openTelemetry(options: TelemetryOptions): TelemetryExporter {
  const { settings, allow, version } = options;
  const attributes = { ...settings.attributes, "service.name": settings.service, "service.version": version };
  const work: Work = {
    ...options,
    fetch: outboundFetch({ allow }),
    resource: { attributes, version },
    folds: new Map(),
    metrics: openMetrics({ startedAt: Date.now() }),
    stopped: new AbortController(),
    spans: [],
    dropped: 0,
    measured: false,
  };
  const following = follow(work);
  let flushing: Promise<void> = Promise.resolve();
  const flushNow = (signal: AbortSignal): Promise<void> => {
    flushing = flushing.then(() => flush(work, signal));
    return flushing;
  };
  const timer = setInterval(() => void flushNow(work.stopped.signal), options.flushMs ?? FLUSH_MS);
  timer.unref();
  return {
    async close() {
      clearInterval(timer);
      work.stopped.abort();
      await following;
      await flushNow(timeoutSignal({ ms: CLOSE_MS }));
    },
  };
}

async function follow(work: Work): Promise<void> {
  const { sessions, stopped, logger } = work;
  for await (const group of sessions.followAll({ signal: stopped.signal, after: sessions.position() })) {
    await project(work, group).catch((error: unknown) =>
      logger.warn("telemetry.event_failed", { session: group.session, error: String(error) }),
    );
  }
}

async function project(work: Work, group: EventGroup): Promise<void> {
  const events = group.notable();
  if (events.length === 0) return;
  const fold = work.folds.get(group.session) ?? (await openFold(work, group, events));
  work.folds.delete(group.session);
  if (!events.some(({ type }) => type === "session.ended")) work.folds.set(group.session, fold);
  const [oldest] = work.folds.keys();
  if (oldest !== undefined && work.folds.size > MAX_SESSIONS) work.folds.delete(oldest);
  for (const event of events) for (const one of fold.step(event)) take(work, one);
}

/** A session that began before this daemon did is looked up. */
async function openFold(
  { sessions, settings }: Work,
  { session }: EventGroup,
  [first]: readonly UniversalEvent[],
): Promise<Running<UniversalEvent, Telemetry>> {
  const { content } = settings;
  if (first?.type === "session.started") return run(projectOtel({ agent: null, model: null, content }));
  const known = await sessions.get(session, { limit: 0 }).catch(() => null);
  return run(projectOtel({ agent: known?.agent ?? null, model: known?.model ?? null, content }));
}

function take(work: Work, one: Telemetry): void {
  if (one.type !== "span") {
    work.metrics.add(one);
    work.measured = true;
    return;
  }
  work.spans.push(one.span);
  if (work.spans.length <= MAX_SPANS) return;
  work.spans.shift();
  work.dropped += 1;
}

async function flush(work: Work, signal: AbortSignal): Promise<void> {
  const { resource, metrics, logger } = work;
  while (work.spans.length > 0) {
    const batch = work.spans.splice(0, BATCH);
    const body = traceRequest(resource, batch);
    if (!(await send(work, { path: "/v1/traces", body, signal }))) work.dropped += batch.length;
    if (signal.aborted) break;
  }
  if (work.measured && !signal.aborted) {
    work.measured = false;
    await send(work, { path: "/v1/metrics", body: metrics.request(resource, Date.now()), signal });
  }
  if (work.dropped === 0) return;
  logger.warn("telemetry.dropped", { spans: work.dropped });
  work.dropped = 0;
}

interface Sending {
  readonly path: string;
  readonly body: object;
  readonly signal: AbortSignal;
}

/** Whether the receiver took it. */
async function send(
  { fetch, settings, logger, firstDelayMs = FIRST_DELAY_MS }: Work,
  { path, body, signal }: Sending,
): Promise<boolean> {
  const text = JSON.stringify(body);
  for (let tries = 1; ; tries += 1) {
    const answer = await fetch(`${settings.endpoint}${path}`, {
      method: "POST",
      headers: { ...settings.headers, "content-type": "application/json", "user-agent": "franca" },
      body: text,
      signal: timeoutSignal({ signal, ms: REQUEST_MS }),
    }).catch((error: unknown) => (error instanceof Error ? error : new Error(String(error))));
    if (answer instanceof Error) logger.warn("telemetry.failed", { path, tries, error: answer.message });
    else if (answer.ok) return checkPartial(logger, { path, text: await answer.text().catch(() => "") });
    else {
      await answer.body?.cancel();
      logger.warn("telemetry.failed", { path, tries, status: answer.status });
      if (!RETRYABLE.has(answer.status)) return false;
    }
    if (tries >= TRIES || !(await pause(delayOf(answer, { tries, firstDelayMs }), signal))) return false;
  }
}

/** A receiver that took only a part says so; repeating would not help. */
function checkPartial(logger: Logger, { path, text }: { path: string; text: string }): true {
  const said = /"errorMessage"\s*:\s*"([^"]{1,500})/.exec(text)?.[1];
  if (said !== undefined) logger.warn("telemetry.partly_taken", { path, said });
  return true;
}

function delayOf(
  answer: Response | Error,
  { tries, firstDelayMs }: { readonly tries: number; readonly firstDelayMs: number },
): number {
  const after = answer instanceof Error ? null : answer.headers.get("retry-after");
  const asked = after !== null && /^\d+$/.test(after) ? Number(after) * 1000 : 0;
  return Math.min(MAX_DELAY_MS, Math.max(asked, firstDelayMs * 2 ** (tries - 1)));
}

/** False when it was cut short. */
function pause(ms: number, signal: AbortSignal): Promise<boolean> {
  if (signal.aborted) return Promise.resolve(false);
  return new Promise((resolve) => {
    const end = (whole: boolean) => (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", cut);
      resolve(whole);
    };
    const cut = end(false);
    const timer = setTimeout(end(true), ms);
    signal.addEventListener("abort", cut, { once: true });
  });
}
