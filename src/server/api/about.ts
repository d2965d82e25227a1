/** Routes about the daemon itself: health, metrics, and the description of all routes. */
import { Health } from "../../protocol/resources.ts";
import { defineRoute, json, type Route } from "../route.ts";

const health = defineRoute({
  method: "get",
  path: "/v1/health",
  doc: { id: "health", tag: "Daemon", summary: "Whether the daemon answers", errors: [], answers: "json", open: true },
  answer: Health,
  handle: async ({ version }) => json({ status: "ok", version }),
});

const metrics = defineRoute({
  method: "get",
  path: "/metrics",
  doc: { id: "metrics", tag: "Daemon", summary: "Counters, in Prometheus' text format", errors: [], answers: "text" },
  handle: async ({ metrics, sessions }) => ({
    type: "text",
    text: await metrics.render(await sessions.list()),
    contentType: "text/plain; version=0.0.4; charset=utf-8",
  }),
});

const openapi = defineRoute({
  method: "get",
  path: "/openapi.json",
  doc: { id: "openapi", tag: "Daemon", summary: "This description, as OpenAPI 3.1", errors: [], answers: "json" },
  handle: async ({ version }) => {
    // Making it takes longer than starting the daemon, so it is made when somebody asks.
    const [{ openApiDocument }, { routes }] = await Promise.all([import("../openapi.ts"), import("./index.ts")]);
    return json(openApiDocument({ routes, version }));
  },
});

export const aboutRoutes: readonly Route[] = [health, metrics, openapi];
