/** What follows the log of a daemon and sends to others: webhooks, and telemetry where it is configured. */
import type { WebhookTable } from "../protocol/webhooks.ts";
import type { Background } from "../runtime/background.ts";
import type { Logger } from "../runtime/logger.ts";
import type { Sessions } from "../runtime/session/contract.ts";
import { openWebhooks, type Webhooks } from "../runtime/webhooks/webhooks.ts";
import type { TelemetryExporter } from "./telemetry/exporter.ts";
import type { TelemetryConfig } from "./telemetry/settings.ts";
import { version } from "./version.ts";

export interface FollowerOptions {
  readonly webhooks?: WebhookTable;
  /** Private addresses that webhooks may be sent to. */
  readonly webhookAllow?: readonly string[];
  /** How long after a first failed delivery the next try is made. */
  readonly webhookDelayMs?: number;
  readonly telemetry?: TelemetryConfig;
  /** Private addresses that telemetry may be sent to. */
  readonly telemetryAllow?: readonly string[];
  /** How often telemetry is sent, and how long after a failure it is sent again. */
  readonly telemetryMs?: number;
}

export interface Followers {
  readonly webhooks: Webhooks;
  readonly close: () => Promise<void>;
}

interface Followed {
  readonly sessions: Sessions;
  readonly logger: Logger;
  readonly background: Background;
  /** The data folder; null where nothing is stored. */
  readonly folder: string | null;
}

export async function openFollowers(options: FollowerOptions, followed: Followed): Promise<Followers> {
  const telemetry = await openTelemetryOf(options, followed);
  const webhooks = openWebhooksOf(options, followed);
  return { webhooks, close: async () => void (await Promise.all([webhooks.close(), telemetry?.close()])) };
}

/** Null where none is configured: then nothing of it is loaded. */
async function openTelemetryOf(
  { telemetry = {}, telemetryAllow = [], telemetryMs }: FollowerOptions,
  { sessions, logger, background }: Followed,
): Promise<TelemetryExporter | null> {
  const environment = process.env;
  if (telemetry.endpoint === undefined && (environment.OTEL_EXPORTER_OTLP_ENDPOINT ?? "") === "") return null;
  const { telemetrySettings } = await import("./telemetry/settings.ts");
  const settings = telemetrySettings({ configured: telemetry, environment });
  if (settings === null) return null;
  const { openTelemetry } = await import("./telemetry/exporter.ts");
  const timing = { flushMs: telemetryMs, firstDelayMs: telemetryMs };
  return openTelemetry({ settings, allow: telemetryAllow, sessions, version, logger, background, ...timing });
}

function openWebhooksOf(
  { webhooks = {}, webhookAllow = [], webhookDelayMs }: FollowerOptions,
  { sessions, logger, background, folder }: Followed,
): Webhooks {
  return openWebhooks({
    configured: webhooks,
    allow: webhookAllow,
    sessions,
    folder,
    environment: process.env,
    logger,
    background,
    firstDelayMs: webhookDelayMs,
  });
}
