/** OpenTelemetry: what happens as spans and metrics of the GenAI semantic conventions, in the JSON form of OTLP. */
export { type Metrics, openMetrics, type Resource, traceRequest } from "./otlp.ts";
export { type OtelOptions, projectOtel } from "./project.ts";
export type { Span, Telemetry } from "./telemetry.ts";
