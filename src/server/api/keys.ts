/** Routes for provider keys of one session. They are taken from this machine alone, and never given back. */
import { ApiError } from "../../protocol/errors.ts";
import { SessionKeys } from "../../protocol/requests.ts";
import { defineRoute, empty, json, type Route, sessionOf } from "../http/route.ts";

const missing = defineRoute({
  method: "get",
  path: "/v1/sessions/{id}/keys",
  doc: {
    id: "listMissingKeys",
    tag: "Sessions",
    summary: "List the provider keys a session lacks",
    description:
      "Names of environment variables that the session's agent reads and that neither the daemon nor the session has. Values are never returned.",
    errors: ["session_not_found"],
    answers: "json",
  },
  answer: "MissingKeys",
  handle: async (call) => json(await call.sessions.missingKeys(sessionOf(call))),
});

const give = defineRoute({
  method: "post",
  path: "/v1/sessions/{id}/keys",
  doc: {
    id: "giveKeys",
    tag: "Sessions",
    summary: "Give a session provider keys",
    description:
      "Only from this machine, and only names that the session's agent reads. The values are held in memory for this session: they are not stored, logged or returned, and are gone when the daemon stops.",
    errors: ["session_not_found"],
    answers: "empty",
  },
  body: SessionKeys,
  handle: async (call) => {
    if (!isFromHere(call.incoming.socket.remoteAddress)) {
      throw new ApiError("invalid_request", "Keys are taken from this machine only: the connection must be loopback.");
    }
    await call.sessions.giveKeys(sessionOf(call), call.body.keys);
    return empty();
  },
});

const isFromHere = (address = ""): boolean => /^(::ffff:)?127\.|^::1$/.test(address);

export const keyRoutes: readonly Route[] = [missing, give];
