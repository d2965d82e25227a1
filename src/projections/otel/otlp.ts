/** Spans and measurements in the JSON form of OTLP: ids in hexadecimal, 64-bit integers as text. */
import type { Attributes, AttributeValue, Measure, Span } from "./telemetry.ts";

type Json = Readonly<Record<string, unknown>>;

export interface Resource {
  readonly attributes: Attributes;
  /** Of the code that makes the spans. */
  readonly version: string;
}

const scopeOf = ({ version }: Resource): Json => ({ name: "franca", version });
const resourceOf = ({ attributes }: Resource): Json => ({ attributes: pairs(attributes) });

const nanos = (ms: number): string => String(BigInt(Math.round(ms)) * 1_000_000n);

const pairs = (attributes: Attributes): Json[] =>
  Object.entries(attributes).map(([key, value]) => ({ key, value: anyValue(value) }));

function anyValue(value: AttributeValue): Json {
  if (typeof value === "string") return { stringValue: value };
  if (typeof value === "boolean") return { boolValue: value };
  if (typeof value === "number") return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value };
  return { arrayValue: { values: value.map((one) => ({ stringValue: one })) } };
}

const KINDS = { internal: 1, client: 3 } as const;
const OK = 0;
const ERROR = 2;

export function traceRequest(resource: Resource, spans: readonly Span[]): Json {
  return {
    resourceSpans: [
      { resource: resourceOf(resource), scopeSpans: [{ scope: scopeOf(resource), spans: spans.map(spanOf) }] },
    ],
  };
}

function spanOf(span: Span): Json {
  const { traceId, spanId, parentSpanId, name, kind, startedAt, endedAt, attributes, links = [], error } = span;
  const failed = error === null ? {} : { "error.type": error.type };
  return {
    traceId,
    spanId,
    ...(parentSpanId === undefined ? {} : { parentSpanId }),
    name,
    kind: KINDS[kind],
    startTimeUnixNano: nanos(startedAt),
    endTimeUnixNano: nanos(endedAt),
    attributes: pairs({ ...attributes, ...failed }),
    ...(links.length === 0 ? {} : { links: links.map((link) => ({ traceId: link.traceId, spanId: link.spanId })) }),
    status: error === null ? { code: OK } : { code: ERROR, message: error.message },
  };
}

/** As the conventions advise, by unit. */
const BOUNDS: Readonly<Record<string, readonly number[]>> = {
  s: [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92],
  "{token}": [1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864],
};
/** More series than that are not kept: a label has got out of hand. */
const MAX_SERIES = 2_000;

interface Series {
  readonly measure: Measure;
  readonly buckets: number[];
  count: number;
  sum: number;
  min: number;
  max: number;
}

export interface Metrics {
  readonly add: (measure: Measure) => void;
  readonly isEmpty: () => boolean;
  /** Everything since `startedAt`: the sums are cumulative. */
  readonly request: (resource: Resource, at: number) => Json;
}

export function openMetrics({ startedAt }: { readonly startedAt: number }): Metrics {
  const series = new Map<string, Series>();
  return {
    add(measure) {
      const key = JSON.stringify([measure.name, measure.attributes]);
      const known = series.get(key);
      if (known === undefined && series.size >= MAX_SERIES) return;
      const own = known ?? newSeries(measure);
      series.set(key, own);
      count(own, measure.value);
    },
    isEmpty: () => series.size === 0,
    request: (resource, at) => ({
      resourceMetrics: [
        {
          resource: resourceOf(resource),
          scopeMetrics: [{ scope: scopeOf(resource), metrics: metricsOf([...series.values()], { startedAt, at }) }],
        },
      ],
    }),
  };
}

const boundsOf = ({ unit }: Measure): readonly number[] => BOUNDS[unit] ?? [];

const newSeries = (measure: Measure): Series => ({
  measure,
  buckets: [...boundsOf(measure), 0].map(() => 0),
  count: 0,
  sum: 0,
  min: Number.POSITIVE_INFINITY,
  max: Number.NEGATIVE_INFINITY,
});

function count(series: Series, value: number): void {
  const found = boundsOf(series.measure).findIndex((bound) => value <= bound);
  const bucket = found === -1 ? series.buckets.length - 1 : found;
  series.buckets[bucket] = (series.buckets[bucket] ?? 0) + 1;
  series.count += 1;
  series.sum += value;
  series.min = Math.min(series.min, value);
  series.max = Math.max(series.max, value);
}

interface Period {
  readonly startedAt: number;
  readonly at: number;
}

const CUMULATIVE = 2;

function metricsOf(all: readonly Series[], span: Period): Json[] {
  const byName = new Map<string, Series[]>();
  for (const one of all) byName.set(one.measure.name, [...(byName.get(one.measure.name) ?? []), one]);
  return [...byName].map(([name, series]) => {
    const [first] = series;
    const unit = first?.measure.unit ?? "";
    if (first?.measure.type === "count") {
      const dataPoints = series.map((one) => ({ ...placed(one, span), asDouble: one.sum }));
      return { name, unit, sum: { aggregationTemporality: CUMULATIVE, isMonotonic: true, dataPoints } };
    }
    const dataPoints = series.map((one) => pointOf(one, span));
    return { name, unit, histogram: { aggregationTemporality: CUMULATIVE, dataPoints } };
  });
}

const placed = ({ measure }: Series, { startedAt, at }: Period): Json => ({
  attributes: pairs(measure.attributes),
  startTimeUnixNano: nanos(startedAt),
  timeUnixNano: nanos(at),
});

const pointOf = (series: Series, span: Period): Json => ({
  ...placed(series, span),
  count: String(series.count),
  sum: series.sum,
  bucketCounts: series.buckets.map(String),
  explicitBounds: boundsOf(series.measure),
  min: series.min,
  max: series.max,
});
