/** Permissions and questions: listed, and answered once; a second answer is refused. */
import * as z from "zod";
import { defined } from "../../core/defined.ts";
import { ApiError } from "../../protocol/errors.ts";
import { json, type OpenCodeAnswer, type OpenCodeCall, type OpenCodeRoute } from "./route.ts";
import type { SessionView } from "./session-view.ts";

/** `scope` is our own: OpenCode's clients allow exactly what `always` of the request lists. */
export const Reply = z.looseObject({
  reply: z.enum(["once", "always", "reject"]),
  scope: z.string().optional(),
  message: z.string().optional(),
});
const OldReply = z.looseObject({ response: z.enum(["once", "always", "reject"]) });
export const Answers = z.looseObject({ answers: z.array(z.array(z.string())) });

export const permissionRoutes: readonly OpenCodeRoute[] = [
  { method: "GET", path: "/permission", action: "read", handle: (call) => listed(call, "permissions") },
  {
    method: "POST",
    path: "/permission/{requestID}/reply",
    action: "answer",
    handle: async (call) => {
      const { reply, scope, message } = await call.body(Reply);
      const { view, request } = await find(call, { id: call.params.requestID ?? "", kind: "permission" });
      await call.sessions.replyPermission(view.id, request, { reply, ...defined({ scope, message }) });
      return json(true);
    },
  },
  {
    method: "POST",
    path: "/session/{sessionID}/permissions/{permissionID}",
    action: "answer",
    handle: async (call) => {
      const { response: reply } = await call.body(OldReply);
      const { view, request } = await find(call, { id: call.params.permissionID ?? "", kind: "permission" });
      await call.sessions.replyPermission(view.id, request, { reply });
      return json(true);
    },
  },
  { method: "GET", path: "/question", action: "read", handle: (call) => listed(call, "questions") },
  {
    method: "POST",
    path: "/question/{requestID}/reply",
    action: "answer",
    handle: async (call) => {
      const { answers } = await call.body(Answers);
      const { view, request } = await find(call, { id: call.params.requestID ?? "", kind: "question" });
      await call.sessions.replyQuestion(view.id, request, answers);
      return json(true);
    },
  },
  {
    method: "POST",
    path: "/question/{requestID}/reject",
    action: "answer",
    handle: async (call) => {
      const { view, request } = await find(call, { id: call.params.requestID ?? "", kind: "question" });
      await call.sessions.rejectQuestion(view.id, request, {});
      return json(true);
    },
  },
];

async function listed(call: OpenCodeCall, kind: "permissions" | "questions"): Promise<OpenCodeAnswer> {
  await call.views.ready();
  const here = call.views.open().filter(({ now }) => now.state.directory === call.directory);
  return json(here.flatMap(({ now }) => [...now.store[kind].values()]));
}

export async function find(
  call: OpenCodeCall,
  { id, kind }: { id: string; kind: "permission" | "question" },
): Promise<{ view: SessionView; request: string }> {
  const prefix = kind === "permission" ? "per" : "que";
  if (!id.startsWith(prefix)) throw new ApiError("invalid_request", `A ${kind} request begins with ${prefix}.`);
  await call.views.ready();
  for (const view of call.views.open()) {
    const request = view.now.requests.get(id);
    if (request !== undefined) return { view, request };
  }
  throw new ApiError(`${kind}_not_found`, `There is no ${kind} request ${id}.`);
}
