/** The universal API: every route under `/v1`, and what describes and measures the daemon. */
import type { Route } from "../route.ts";
import { aboutRoutes } from "./about.ts";
import { agentRoutes } from "./agents.ts";
import { eventRoutes } from "./events.ts";
import { loginRoutes } from "./logins.ts";
import { sessionRoutes } from "./sessions.ts";
import { trustRoutes } from "./trust.ts";
import { turnRoutes } from "./turns.ts";

export const routes: readonly Route[] = [
  ...sessionRoutes,
  ...turnRoutes,
  ...eventRoutes,
  ...agentRoutes,
  ...trustRoutes,
  ...loginRoutes,
  ...aboutRoutes,
];
