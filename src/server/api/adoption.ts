/**
 * Routes about conversations in the agents' own files. They need the person's own token: titles and folders of
 * everything the person ever asked an agent are nobody else's business.
 */
import * as z from "zod";
import { defined } from "../../core/defined.ts";
import { AdoptRequest } from "../../protocol/adoption.ts";
import { defineRoute, json, type Route } from "../http/route.ts";

const discover = defineRoute({
  method: "get",
  path: "/v1/discover",
  doc: {
    id: "discover",
    tag: "Adoption",
    summary: "List conversations that agents keep in their own files",
    description:
      "On the daemon's machine, the latest first. Only names, sizes, indexes and the first and last bytes of files are " +
      "read. Needs the token itself.",
    errors: ["unsupported_agent", "person_only"],
    answers: "json",
    personal: true,
  },
  query: z.strictObject({
    agent: z.string().min(1).optional().describe("Only conversations of this agent."),
    since: z.iso.datetime().optional().describe("Only conversations that changed since then."),
  }),
  answer: "Discovery",
  handle: async ({ sessions, query }) => json(await sessions.discover(defined(query))),
});

const adopt = defineRoute({
  method: "post",
  path: "/v1/adopt",
  doc: {
    id: "adopt",
    tag: "Adoption",
    summary: "Adopt a conversation",
    description:
      "Its turns are imported as events with their own times, and the next prompt resumes it in its agent. Adopted " +
      "again, it gets the turns that others have made since. The session has permission mode `default`, whatever mode " +
      "the conversation had. The agent's files are only read. Needs the token itself.",
    errors: ["unsupported_agent", "conversation_not_found", "conversation_unreadable", "session_busy", "person_only"],
    answers: "json",
    personal: true,
  },
  body: AdoptRequest,
  answer: "Adoption",
  handle: async ({ sessions, body: { agent, nativeSessionId, fork = false } }) =>
    json(await sessions.adopt({ agent, nativeSessionId, fork })),
});

export const adoptionRoutes: readonly Route[] = [discover, adopt];
