/** Whether telemetry is sent, and where to: the config file first, then OpenTelemetry's own variables. */
import { readFileSync } from "node:fs";
import * as z from "zod";
import { decoded } from "../http/request.ts";

/** What the config file may say. */
export const TelemetryConfig = z.strictObject({
  /** The base address of an OTLP receiver; `/v1/traces` and `/v1/metrics` are added. */
  endpoint: z.url({ protocol: /^https?$/, error: "it is an address that begins with http:// or https://" }).optional(),
  /** A file with headers as in OTEL_EXPORTER_OTLP_HEADERS: `name=value`, with commas between. */
  headersFile: z.string().startsWith("/", "it is an absolute path").optional(),
  /** Whether prompts, answers, arguments and results are sent. */
  content: z.boolean().optional(),
});
export type TelemetryConfig = z.infer<typeof TelemetryConfig>;

export interface TelemetrySettings {
  readonly endpoint: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly content: boolean;
  readonly service: string;
  readonly attributes: Readonly<Record<string, string>>;
}

export interface TelemetrySource {
  readonly configured: TelemetryConfig;
  readonly environment: NodeJS.ProcessEnv;
}

const isTrue = (text: string | undefined): boolean => /^(true|1)$/i.test(text ?? "");

/** Null: nothing is sent. */
export function telemetrySettings({ configured, environment }: TelemetrySource): TelemetrySettings | null {
  const endpoint = configured.endpoint ?? environment.OTEL_EXPORTER_OTLP_ENDPOINT ?? "";
  if (endpoint === "" || isTrue(environment.OTEL_SDK_DISABLED)) return null;
  const { headersFile } = configured;
  const headers =
    headersFile === undefined ? environment.OTEL_EXPORTER_OTLP_HEADERS : readFileSync(headersFile, "utf8");
  const attributes = pairsOf(environment.OTEL_RESOURCE_ATTRIBUTES);
  return {
    endpoint: endpoint.replace(/\/+$/, ""),
    headers: pairsOf(headers),
    content: configured.content ?? isTrue(environment.OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT),
    service: environment.OTEL_SERVICE_NAME ?? attributes["service.name"] ?? "franca",
    attributes,
  };
}

/** `name=value,other=value`, percent-encoded as in W3C Baggage. */
function pairsOf(text = ""): Record<string, string> {
  const pairs = text
    .trim()
    .split(",")
    .flatMap((pair): [string, string][] => {
      const [, name, value] = /^\s*([^=\s]+)\s*=\s*(.*?)\s*$/.exec(pair) ?? [];
      return name === undefined || value === undefined ? [] : [[name, decoded(value)]];
    });
  return Object.fromEntries(pairs);
}
