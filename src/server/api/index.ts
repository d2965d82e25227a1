/** The universal API: every route under `/v1`, and what describes and measures the daemon. */
import { defineRoute, json, type Route } from "../http/route.ts";
import { mcpRoutes } from "../mcp/route.ts";
import { aboutRoutes } from "./about.ts";
import { adoptionRoutes } from "./adoption.ts";
import { agentRoutes } from "./agents.ts";
import { eventRoutes } from "./events.ts";
import { hostRoutes } from "./hosts.ts";
import { keyRoutes } from "./keys.ts";
import { loginRoutes } from "./logins.ts";
import { sessionRoutes } from "./sessions.ts";
import { tokenRoutes } from "./tokens.ts";
import { trustRoutes } from "./trust.ts";
import { turnRoutes } from "./turns.ts";
import { webhookRoutes } from "./webhooks.ts";
import { worktreeRoutes } from "./worktrees.ts";

const openapi = defineRoute({
  method: "get",
  path: "/openapi.json",
  access: "read",
  doc: {
    id: "openapi",
    tag: "Daemon",
    summary: "Get this description",
    description: "The OpenAPI 3.1 document of this daemon.",
    errors: [],
    answers: "json",
  },
  handle: async ({ version }) => {
    // Making it takes longer than starting the daemon, so it is made when somebody asks.
    const { openApiDocument } = await import("./openapi.ts");
    return json(openApiDocument({ routes, version }));
  },
});

export const routes: readonly Route[] = [
  ...sessionRoutes,
  ...worktreeRoutes,
  ...keyRoutes,
  ...turnRoutes,
  ...eventRoutes,
  ...agentRoutes,
  ...trustRoutes,
  ...hostRoutes,
  ...adoptionRoutes,
  ...webhookRoutes,
  ...loginRoutes,
  ...tokenRoutes,
  ...mcpRoutes,
  ...aboutRoutes,
  openapi,
];
