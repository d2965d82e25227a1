/** Routes about hosts that share one log. */
import { MoveSession } from "../../protocol/placement.ts";
import { defineRoute, empty, json, type Route, sessionOf } from "../http/route.ts";

const list = defineRoute({
  method: "get",
  path: "/v1/hosts",
  doc: {
    id: "listHosts",
    tag: "Daemon",
    summary: "List hosts",
    description:
      "Daemons that share their log on Postgres (`--store postgres`), those that are gone too. With another store the " +
      "list is empty.",
    errors: [],
    answers: "json",
  },
  answer: "HostList",
  handle: async ({ sessions }) => json({ hosts: await sessions.hosts() }),
});

const drain = defineRoute({
  method: "post",
  path: "/v1/hosts/{host}/drain",
  doc: {
    id: "drainHost",
    tag: "Daemon",
    summary: "Drain a host",
    description:
      "It takes nothing new any more, until it starts again. Running turns end there; sessions that are idle can be " +
      "taken by other hosts, where their placement allows it.",
    errors: ["not_found", "invalid_request"],
    answers: "empty",
  },
  handle: async ({ sessions, params }) => {
    await sessions.drain(params.host ?? "");
    return empty();
  },
});

const move = defineRoute({
  method: "post",
  path: "/v1/sessions/{id}/move",
  doc: {
    id: "moveSession",
    tag: "Sessions",
    summary: "Move a session to another host",
    description:
      "Only an idle session, to a host that is alive, has its directory and its agent, and fits its placement. What the " +
      "agent itself stores must be there too, for example on a shared disk.",
    errors: ["session_not_found", "session_busy", "host_unavailable", "directory_not_found"],
    answers: "empty",
  },
  body: MoveSession,
  handle: async (call) => {
    await call.sessions.move(sessionOf(call), call.body.host);
    return empty();
  },
});

export const hostRoutes: readonly Route[] = [list, drain, move];
