/** The route about hosts that share one log. */
import { HostList } from "../../protocol/resources.ts";
import { defineRoute, json, type Route } from "../http/route.ts";

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
  answer: HostList,
  handle: async ({ sessions }) => json({ hosts: await sessions.hosts() }),
});

export const hostRoutes: readonly Route[] = [list];
