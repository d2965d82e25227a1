/**
 * The signature of a delivery, as the Standard Webhooks specification has it: HMAC-SHA256 over id, timestamp and body.
 * The timestamp is signed too, so that an old delivery cannot be replayed as a new one.
 */
import { createHmac } from "node:crypto";

const PREFIX = "whsec_";

export interface Signed {
  readonly id: string;
  /** Seconds since 1970. */
  readonly timestamp: number;
  readonly body: string;
  /** As configured: `whsec_` and base64, or any text. */
  readonly secret: string;
}

export function signatureOf({ id, timestamp, body, secret }: Signed): string {
  const key = secret.startsWith(PREFIX) ? Buffer.from(secret.slice(PREFIX.length), "base64") : Buffer.from(secret);
  return `v1,${createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64")}`;
}
