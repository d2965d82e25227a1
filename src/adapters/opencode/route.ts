/** Which session a line is for: events name theirs, a child names its parent, and a task names its child. */
import type { Route } from "../../core/route.ts";
import { type OpenCodeLine, type OpenCodePayload, payloadOf } from "../../dialects/opencode-stream.ts";
import { sessionIn } from "./events.ts";
import { isServersOwn } from "./quiet.ts";
import { childOf } from "./subagents.ts";

export function route(line: OpenCodeLine): Route {
  if ("request" in line) {
    const { id, path } = line.request;
    const thread = /^\/session\/(ses_[^/?]+)/.exec(path)?.[1] ?? null;
    return { thread, request: id };
  }
  if ("response" in line) return { ...ofAnswer(line.response.body), request: line.response.id };
  return ofPayload(payloadOf(line));
}

/** The answer to the creation of a session is the first that names it. */
function ofAnswer(body: unknown): Route {
  if (typeof body !== "object" || body === null || !("id" in body) || !("slug" in body)) return { thread: null };
  return typeof body.id === "string" ? { thread: body.id, root: !("parentID" in body) } : { thread: null };
}

function ofPayload(payload: OpenCodePayload): Route {
  if (payload.type === "sync") return { thread: payload.syncEvent.aggregateID ?? null };
  const thread = sessionIn(payload.properties);
  if (thread === null) return isServersOwn(payload.type) ? { thread, nobody: true } : { thread };
  if (payload.type === "session.created") {
    const { parentID } = payload.properties.info;
    return parentID === undefined ? { thread, root: true } : { thread, parent: parentID };
  }
  if (payload.type === "message.part.updated" && payload.properties.part.type === "tool") {
    const child = childOf(payload.properties.part);
    return child === null ? { thread } : { thread, claims: [child] };
  }
  return { thread };
}
