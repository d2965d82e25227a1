/** Routes about folder trust. They need the person's credential like every route; no file of a folder grants trust. */
import * as z from "zod";
import { defined } from "../../core/defined.ts";
import { TrustRequest } from "../../protocol/requests.ts";
import { defineRoute, empty, json, type Route } from "../http/route.ts";

const list = defineRoute({
  method: "get",
  path: "/v1/trust",
  access: "read",
  doc: {
    id: "listTrust",
    tag: "Trust",
    summary: "List trusted folders",
    description: "With `directory`, also whether that one is trusted.",
    errors: [],
    answers: "json",
  },
  query: z.strictObject({ directory: z.string().min(1).optional().describe("A folder to check.") }),
  answer: "TrustList",
  handle: async ({ sessions, query: { directory } }) =>
    json({
      folders: sessions.trust.list(),
      ...defined({ trusted: directory === undefined ? undefined : sessions.trust.isTrusted(directory) }),
    }),
});

const add = defineRoute({
  method: "post",
  path: "/v1/trust",
  doc: {
    id: "addTrust",
    tag: "Trust",
    summary: "Trust a folder",
    description:
      "Agents may then use its settings, hooks, plugins and MCP servers. It holds for what lies below, but not for a " +
      "git repository inside. The root, the home folder and folders for temporary files need `force`.",
    errors: ["directory_not_found"],
    answers: "json",
  },
  body: TrustRequest,
  answer: "TrustResult",
  handle: async ({ sessions, body: { directory, force = false } }) =>
    json({ path: await sessions.trust.add(directory, { force }) }),
});

const remove = defineRoute({
  method: "delete",
  path: "/v1/trust",
  doc: {
    id: "removeTrust",
    tag: "Trust",
    summary: "Stop trusting a folder",
    description: "Sessions that run are not changed; their next start is restricted.",
    errors: [],
    answers: "empty",
  },
  query: z.strictObject({ directory: z.string().min(1).describe("The folder.") }),
  handle: async ({ sessions, query: { directory } }) => {
    await sessions.trust.remove(directory);
    return empty();
  },
});

export const trustRoutes: readonly Route[] = [list, add, remove];
