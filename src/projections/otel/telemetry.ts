/** What the projection renders: spans and measurements, before they have the form of OTLP. */

export type AttributeValue = string | number | boolean | readonly string[];
export type Attributes = Readonly<Record<string, AttributeValue>>;

export interface SpanIds {
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  /** 16 hexadecimal digits. */
  readonly spanId: string;
  readonly parentSpanId?: string;
}

export interface Span extends SpanIds {
  readonly name: string;
  readonly kind: "internal" | "client";
  /** Epoch milliseconds. */
  readonly startedAt: number;
  readonly endedAt: number;
  readonly attributes: Attributes;
  readonly links?: readonly SpanIds[];
  readonly error: { readonly type: string; readonly message: string } | null;
}

/** `distribution`: values of a histogram. `count`: what is added up. */
export interface Measure {
  readonly type: "distribution" | "count";
  readonly name: string;
  readonly unit: string;
  readonly value: number;
  readonly attributes: Attributes;
  readonly at: number;
}

export type Telemetry = { readonly type: "span"; readonly span: Span } | Measure;
