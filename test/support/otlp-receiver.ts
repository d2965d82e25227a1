/** A receiver of OTLP over HTTP with JSON that takes nothing but what the protocol allows. */
import { createServer, type IncomingHttpHeaders } from "node:http";
import { onTestFinished, vi } from "vitest";
import * as z from "zod";

const Int64 = z.string().regex(/^-?\d+$/);
const Nano = z.string().regex(/^(0|[1-9]\d{0,19})$/);
const TraceId = z.string().regex(/^(?!0+$)[0-9a-f]{32}$/);
const SpanId = z.string().regex(/^(?!0+$)[0-9a-f]{16}$/);
const Scalar = z.union([
  z.strictObject({ stringValue: z.string() }),
  z.strictObject({ boolValue: z.boolean() }),
  z.strictObject({ intValue: Int64 }),
  z.strictObject({ doubleValue: z.number() }),
]);
const Value = z.union([Scalar, z.strictObject({ arrayValue: z.strictObject({ values: z.array(Scalar) }) })]);
const Attributes = z.array(z.strictObject({ key: z.string().min(1), value: Value }));
const Resource = z.strictObject({ attributes: Attributes });
const Scope = z.strictObject({ name: z.string(), version: z.string() });

const Span = z.strictObject({
  traceId: TraceId,
  spanId: SpanId,
  parentSpanId: SpanId.optional(),
  name: z.string().min(1),
  kind: z.number().int().min(1).max(5),
  startTimeUnixNano: Nano,
  endTimeUnixNano: Nano,
  attributes: Attributes,
  links: z.array(z.strictObject({ traceId: TraceId, spanId: SpanId })).optional(),
  status: z.strictObject({ code: z.number().int().min(0).max(2), message: z.string().optional() }),
});
export type ReceivedSpan = z.infer<typeof Span>;

const Traces = z.strictObject({
  resourceSpans: z.array(
    z.strictObject({
      resource: Resource,
      scopeSpans: z.array(z.strictObject({ scope: Scope, spans: z.array(Span).min(1) })),
    }),
  ),
});

const Point = { attributes: Attributes, startTimeUnixNano: Nano, timeUnixNano: Nano };
const Sum = z.strictObject({
  aggregationTemporality: z.literal(2),
  isMonotonic: z.literal(true),
  dataPoints: z.array(z.strictObject({ ...Point, asDouble: z.number() })),
});
const HistogramPoint = z
  .strictObject({
    ...Point,
    count: Int64,
    sum: z.number(),
    bucketCounts: z.array(Int64),
    explicitBounds: z.array(z.number()),
    min: z.number(),
    max: z.number(),
  })
  .refine(({ bucketCounts, explicitBounds }) => bucketCounts.length === explicitBounds.length + 1)
  .refine(({ bucketCounts, count }) => bucketCounts.reduce((total, one) => total + Number(one), 0) === Number(count));
const Histogram = z.strictObject({ aggregationTemporality: z.literal(2), dataPoints: z.array(HistogramPoint) });
const Metric = z.union([
  z.strictObject({ name: z.string(), unit: z.string(), sum: Sum }),
  z.strictObject({ name: z.string(), unit: z.string(), histogram: Histogram }),
]);
export type ReceivedMetric = z.infer<typeof Metric>;

const Metrics = z.strictObject({
  resourceMetrics: z.array(
    z.strictObject({
      resource: Resource,
      scopeMetrics: z.array(z.strictObject({ scope: Scope, metrics: z.array(Metric) })),
    }),
  ),
});

export const spansOf = (body: unknown): ReceivedSpan[] =>
  Traces.parse(body).resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans));

export const metricsOf = (body: unknown): ReceivedMetric[] =>
  Metrics.parse(body).resourceMetrics.flatMap(({ scopeMetrics }) => scopeMetrics.flatMap(({ metrics }) => metrics));

/** Of a span, as one record. */
export const attributesOf = ({ attributes }: Pick<ReceivedSpan, "attributes">): Record<string, unknown> =>
  Object.fromEntries(
    attributes.map(({ key, value }) => {
      const [inner] = Object.values(value);
      return [key, "intValue" in value ? Number(value.intValue) : inner];
    }),
  );

export interface OtlpReceiver {
  readonly url: string;
  readonly spans: ReceivedSpan[];
  /** The latest of each name. */
  readonly metrics: Map<string, ReceivedMetric>;
  readonly headers: IncomingHttpHeaders[];
  readonly texts: string[];
  /** What was not OTLP. */
  readonly problems: string[];
  readonly until: (holds: () => boolean) => Promise<void>;
}

/** `statuses`: what is answered first, one each; 200 after that. Only what is answered with 200 counts. */
export async function openOtlpReceiver(statuses: number[] = []): Promise<OtlpReceiver> {
  const seen = { spans: [] as ReceivedSpan[], headers: [] as IncomingHttpHeaders[], texts: [] as string[] };
  const metrics = new Map<string, ReceivedMetric>();
  const problems: string[] = [];
  const take = (path: string, text: string): void => {
    const body: unknown = JSON.parse(text);
    if (path === "/v1/traces") seen.spans.push(...spansOf(body));
    else if (path === "/v1/metrics") for (const metric of metricsOf(body)) metrics.set(metric.name, metric);
    else throw new Error(`There is no ${path}.`);
  };
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const text = Buffer.concat(chunks).toString("utf8");
      seen.headers.push(request.headers);
      const status = statuses.shift();
      if (status !== undefined) return response.writeHead(status, { "retry-after": "0" }).end();
      try {
        take(request.url ?? "", text);
        seen.texts.push(text);
        response.writeHead(200, { "content-type": "application/json" }).end("{}");
      } catch (error) {
        problems.push(String(error));
        response.writeHead(400).end();
      }
    });
  });
  await new Promise<void>((resolve) => server.listen({ host: "127.0.0.1", port: 0 }, resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const until = async (holds: () => boolean): Promise<void> =>
    void (await vi.waitUntil(() => holds() || problems.length > 0, { timeout: 20_000, interval: 10 }));
  return { url: `http://127.0.0.1:${port}`, ...seen, metrics, problems, until };
}
