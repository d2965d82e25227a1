/** What a route may use, as far as its caller may: the same context, with the sessions of the caller's credential. */
import type { Caller } from "../credentials/access.ts";
import { limitSessions } from "../credentials/limited-sessions.ts";
import type { ServerContext } from "./route.ts";

/** Streams end when the credential of their client does. */
export function contextFor(context: ServerContext, caller: Caller): ServerContext {
  if (caller.type === "owner") return context;
  const { credential, ended } = caller;
  const { sessions, attachments, stopped } = context;
  return {
    ...context,
    sessions: limitSessions(sessions, { credential, attachments }),
    stopped: AbortSignal.any([stopped, ended]),
  };
}
