/** Receivers of webhooks and telemetry: they answer, or accept every request and never answer. */
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import { setTimeout as after } from "node:timers/promises";
import type { UniversalEvent } from "../../src/protocol/events.ts";
import type { Violation } from "./checks.ts";

export interface Receivers {
  /** What the daemon's config file says about them. */
  readonly config: object;
  readonly setHanging: (isHanging: boolean) => void;
  /** Whether every turn that ended has been delivered by a webhook, or is within a time. */
  readonly check: (logs: Iterable<readonly UniversalEvent[]>) => Promise<Violation[]>;
  readonly close: () => void;
}

/** A delivery that hangs is given up after 5 s and tried again after 5 s, then after 10 s. */
const DELIVERED_MS = 60_000;

export async function openReceivers(): Promise<Receivers> {
  const delivered = new Set<string>();
  const held = new Set<ServerResponse>();
  let hanging = false;
  const server = createServer((request, response) => {
    request.resume().on("error", () => {});
    response.on("error", () => {}).once("close", () => held.delete(response));
    if (hanging) return void held.add(response);
    const id = request.headers["webhook-id"];
    if (typeof id === "string") delivered.add(id);
    response.end("{}");
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const url = `http://127.0.0.1:${port}`;
  return {
    config: {
      webhooks: { faults: { url: `${url}/hook`, events: ["turn.ended"] } },
      webhookAllow: ["127.0.0.1"],
      telemetry: { endpoint: url },
      telemetryAllow: ["127.0.0.1"],
    },
    setHanging(isHanging) {
      hanging = isHanging;
    },
    async check(logs) {
      const ended = [...logs].flat().filter(({ type }) => type === "turn.ended");
      const missing = () => ended.filter(({ event_id }) => !delivered.has(event_id));
      for (const until = Date.now() + DELIVERED_MS; missing().length > 0 && Date.now() < until; ) await after(50);
      return missing().map(({ event_id }) => ({ promise: "deliveries", what: `${event_id} was never delivered` }));
    },
    close() {
      for (const response of held) response.destroy();
      server.close();
      server.closeAllConnections();
    },
  };
}
