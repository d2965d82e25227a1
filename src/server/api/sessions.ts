/** Routes about sessions as things: create, list, look at, change, end, delete, fork. */
import { randomUUID } from "node:crypto";
import * as z from "zod";
import { defined } from "../../core/defined.ts";
import { openCodeSessionId } from "../../projections/opencode/index.ts";
import { sessionId } from "../../protocol/ids.ts";
import { CreateAnySession, ForkSession, UpdateSession } from "../../protocol/requests.ts";
import type { SessionSummary } from "../../protocol/resources.ts";
import { SessionStatus } from "../../protocol/session-enums.ts";
import { created, defineRoute, empty, json, type Route, sessionOf } from "../http/route.ts";
import { integer } from "./query.ts";

const MAX_ITEMS = 1000;
const MAX_SESSIONS = 1000;

/** With its name on the OpenCode surface. */
const named = <Session extends SessionSummary>(session: Session): Session => ({
  ...session,
  opencodeId: openCodeSessionId(session.sessionId),
});

const create = defineRoute({
  method: "post",
  path: "/v1/sessions/{id}",
  access: "create",
  doc: {
    id: "createSession",
    tag: "Sessions",
    summary: "Create a session",
    description:
      "The id is the caller's choice. The agent is started when it is first needed. Without `agent`, the daemon's " +
      "default agent is used. `nativeSessionId` continues a session that was begun outside Franca.",
    errors: ["unsupported_agent", "agent_not_installed", "directory_not_found", "session_already_exists"],
    answers: "json",
  },
  body: CreateAnySession,
  answer: "CreatedSession",
  handle: async (call) => {
    const { agent = call.defaultAgent, ...options } = call.body;
    return json(await call.sessions.create(sessionOf(call), { agent, ...options }));
  },
});

const createAny = defineRoute({
  method: "post",
  path: "/v1/sessions",
  access: "create",
  doc: {
    id: "createAnySession",
    tag: "Sessions",
    summary: "Create a session with a new id",
    description:
      "The daemon makes the id and returns it as `sessionId`. Without `agent`, the daemon's default agent is used. " +
      "To choose the id yourself, and to create a session at most once, use `POST /v1/sessions/{id}`.",
    errors: ["unsupported_agent", "agent_not_installed", "directory_not_found"],
    answers: "json",
    created: true,
  },
  body: CreateAnySession,
  bodyOptional: true,
  answer: "NewSession",
  handle: async ({ sessions, defaultAgent, body: { agent = defaultAgent, ...options } }) => {
    const id = sessionId(randomUUID());
    const made = await sessions.create(id, { agent, ...options });
    return created({ sessionId: id, agent, ...made });
  },
});

const list = defineRoute({
  method: "get",
  path: "/v1/sessions",
  access: "read",
  doc: {
    id: "listSessions",
    tag: "Sessions",
    summary: "List sessions",
    description: "The newest first. `nextCursor` is the `cursor` of the next page, and null on the last one.",
    errors: [],
    answers: "json",
  },
  query: z.object({
    limit: integer({ min: 1, max: MAX_SESSIONS }).optional().describe("How many sessions, 100 by default."),
    cursor: z.string().optional().describe("`nextCursor` of the page before."),
    status: SessionStatus.optional().describe("Only sessions with this status."),
    agent: z.string().optional().describe("Only sessions of this agent."),
    directory: z.string().optional().describe("Only sessions in exactly this directory."),
    q: z.string().optional().describe("Only sessions with this text in their title, id, native id or directory."),
  }),
  answer: "SessionList",
  handle: async ({ sessions, query }) => {
    const page = await sessions.list(defined(query));
    return json({ ...page, sessions: page.sessions.map(named) });
  },
});

const get = defineRoute({
  method: "get",
  path: "/v1/sessions/{id}",
  access: "read",
  doc: {
    id: "getSession",
    tag: "Sessions",
    summary: "Get a session",
    description:
      "Its state: status, open requests, queue, todos, usage and the last items. Follow the events after " +
      "`lastSequence` to stay up to date.",
    errors: ["session_not_found"],
    answers: "json",
  },
  query: z.object({
    itemsBefore: z
      .string()
      .min(1)
      .optional()
      .describe("Only items before this one, by its `item_id`: the previous page."),
    limit: integer({ min: 0, max: MAX_ITEMS }).optional().describe("How many items, 200 by default."),
  }),
  answer: "SessionDetail",
  handle: async (call) => {
    const { itemsBefore, limit } = call.query;
    const page = defined({ itemsBefore, limit });
    return json(named(await call.sessions.get(sessionOf(call), page)));
  },
});

const update = defineRoute({
  method: "patch",
  path: "/v1/sessions/{id}",
  access: "manage",
  doc: {
    id: "updateSession",
    tag: "Sessions",
    summary: "Update a session",
    description:
      "Only the given fields change. What the agent cannot change during a session is refused, never ignored.",
    errors: ["session_not_found", "session_ended", "mode_not_supported", "not_supported"],
    answers: "empty",
  },
  body: UpdateSession,
  handle: async (call) => {
    await call.sessions.update(sessionOf(call), call.body);
    return empty();
  },
});

const remove = defineRoute({
  method: "delete",
  path: "/v1/sessions/{id}",
  access: "delete",
  doc: {
    id: "deleteSession",
    tag: "Sessions",
    summary: "Delete a session",
    description:
      "With all of its events. Its agent is stopped first; streams of its events end. With `idleSince`, a session that " +
      "works, waits for a person, has prompts in its queue or has changed since then is not deleted: 409 `session_busy`.",
    errors: ["session_not_found", "session_owned", "session_busy"],
    answers: "empty",
  },
  query: z.strictObject({
    idleSince: z.iso.datetime().optional().describe("Only if it is idle and has not changed since then."),
  }),
  handle: async (call) => {
    const { idleSince } = call.query;
    await call.sessions.delete(sessionOf(call), idleSince === undefined ? {} : { idleSince: Date.parse(idleSince) });
    return empty();
  },
});

const terminate = defineRoute({
  method: "post",
  path: "/v1/sessions/{id}/terminate",
  access: "delete",
  doc: {
    id: "terminateSession",
    tag: "Sessions",
    summary: "Terminate a session",
    description:
      "Its events are kept. The agent and everything it started are stopped; later prompts get 409 `session_ended`.",
    errors: ["session_not_found"],
    answers: "empty",
  },
  handle: async (call) => {
    await call.sessions.terminate(sessionOf(call));
    return empty();
  },
});

const fork = defineRoute({
  method: "post",
  path: "/v1/sessions/{id}/fork",
  access: "create",
  doc: {
    id: "forkSession",
    tag: "Sessions",
    summary: "Fork a session",
    description: "A new session continues from the end of this conversation; this one does not change.",
    errors: ["session_not_found", "session_already_exists", "not_supported"],
    answers: "json",
  },
  body: ForkSession,
  bodyOptional: true,
  answer: "ForkedSession",
  handle: async (call) => {
    const into = sessionId(call.body.sessionId ?? randomUUID());
    await call.sessions.fork(sessionOf(call), into);
    return json({ sessionId: into });
  },
});

const compact = defineRoute({
  method: "post",
  path: "/v1/sessions/{id}/compact",
  access: "prompt",
  doc: {
    id: "compactSession",
    tag: "Sessions",
    summary: "Compact a session",
    description: "The agent summarises its context, in a turn without a prompt. Refused while another turn runs.",
    errors: ["session_not_found", "session_ended", "not_supported"],
    answers: "empty",
  },
  handle: async (call) => {
    await call.sessions.compact(sessionOf(call));
    return empty();
  },
});

const stopContinuing = defineRoute({
  method: "post",
  path: "/v1/sessions/{id}/stop-continuing",
  access: "abort",
  doc: {
    id: "stopContinuing",
    tag: "Sessions",
    summary: "Stop continuing turns",
    description: "The continuation governor (`finishTodos`) does not continue turns of this session any more.",
    errors: ["session_not_found", "session_ended"],
    answers: "empty",
  },
  handle: async (call) => {
    await call.sessions.stopContinuing(sessionOf(call));
    return empty();
  },
});

export const sessionRoutes: readonly Route[] = [
  list,
  createAny,
  create,
  get,
  update,
  remove,
  terminate,
  fork,
  compact,
  stopContinuing,
];
