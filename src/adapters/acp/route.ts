/** Which session a line is about, in recordings of connections that carry several. Live, each session has its own. */
import type { Route } from "../../core/route.ts";
import type { AcpLine } from "../../dialects/acp.ts";
import { isString, type Shape, shapeOf } from "../../dialects/shape.ts";

/** Requests of the client; the others are the agent's. */
const ours: ReadonlySet<string> = new Set([
  "initialize",
  "authenticate",
  "logout",
  "session/new",
  "session/load",
  "session/resume",
  "session/fork",
  "session/list",
  "session/close",
  "session/delete",
  "session/prompt",
  "session/set_mode",
  "session/set_model",
  "session/set_config_option",
  "_session/steering",
]);

/** With one of these a session begins, or goes on. */
const opening: ReadonlySet<string> = new Set(["session/load", "session/resume", "session/prompt"]);

export function route(line: AcpLine): Route {
  const { id, method } = line;
  const request = id === undefined || id === null ? undefined : String(id);
  if (method === undefined) return answerRoute(line, request);
  const params = shapeOf("params" in line ? line.params : undefined);
  // A fork is asked for in the name of its origin, and is a session of its own.
  const thread = method === "session/fork" ? null : threadIn(params);
  if (ours.has(method)) return { thread, request, root: thread !== null && opening.has(method) };
  if (thread === null) return { thread };
  return { thread, claims: claimsOf(params) };
}

const threadIn = ({ sessionId }: Shape): string | null => (isString(sessionId) ? sessionId : null);

/** The answer to `session/new` and to `session/fork` names the session that begins with it. */
function answerRoute(line: AcpLine, request: string | undefined): Route {
  const result = shapeOf("result" in line ? line.result : undefined);
  const thread = threadIn(result);
  if (thread === null || result.stopReason !== undefined) return { thread: null, request, answer: true };
  return { thread, root: true, request, answer: true };
}

/** Sessions of subagents are announced by their parents. */
function claimsOf(params: Shape): string[] {
  const { sessionUpdate, sessionId, child_session_id } = shapeOf(params.update);
  if (sessionUpdate === "subagent_update" && isString(sessionId)) return [sessionId];
  return isString(child_session_id) ? [child_session_id] : [];
}
