/** Side requests: what is asked of the agent outside its turns, such as revert, share and remove a message. */
import * as z from "zod";
import { defined } from "../../core/defined.ts";
import { ApiError } from "../../protocol/errors.ts";
import type { SideRequest } from "../../runtime/session/contract.ts";
import { timeoutSignal } from "../../runtime/timeout-signal.ts";
import { created } from "./events.ts";
import { json, notSupported, type OpenCodeAnswer, type OpenCodeCall, type OpenCodeRoute } from "./route.ts";
import type { SessionView } from "./session-view.ts";
import { infoOf, viewOf } from "./sessions.ts";

const OWN = "For the OpenCode agent.";
const TAKEN_BACK = "For agents whose conversation can be taken back; parts of messages for the OpenCode agent.";

const Revert = z.looseObject({
  messageID: z.string().startsWith("msg"),
  partID: z.string().startsWith("prt").optional(),
});

export const sideRequestRoutes: readonly OpenCodeRoute[] = [
  { method: "POST", path: "/session/{sessionID}/revert", partial: TAKEN_BACK, handle: revert },
  {
    method: "POST",
    path: "/session/{sessionID}/unrevert",
    partial: TAKEN_BACK,
    handle: unrevert,
  },
  {
    method: "POST",
    path: "/session/{sessionID}/share",
    partial: OWN,
    handle: (call) => change(call, { word: "share" }),
  },
  {
    method: "DELETE",
    path: "/session/{sessionID}/share",
    partial: OWN,
    handle: (call) => change(call, { word: "unshare" }),
  },
  { method: "DELETE", path: "/session/{sessionID}/message/{messageID}", partial: OWN, handle: remove },
  { method: "DELETE", path: "/session/{sessionID}/message/{messageID}/part/{partID}", partial: OWN, handle: remove },
];

async function revert(call: OpenCodeCall): Promise<OpenCodeAnswer> {
  const { messageID, partID } = await call.body(Revert);
  const view = await viewOf(call);
  return (await takeBack(call, view, { messageID, partID })) ?? json(await infoOf(call, view));
}

async function unrevert(call: OpenCodeCall): Promise<OpenCodeAnswer> {
  const view = await viewOf(call);
  return (await bringBack(call, view)) ?? json(await infoOf(call, view));
}

/** By the agent itself, or for it. Gives the agent's own refusal, if it refuses. */
export const takeBack = (
  call: OpenCodeCall,
  view: SessionView,
  { messageID, partID }: { readonly messageID: string; readonly partID?: string | undefined },
): Promise<OpenCodeAnswer | null> =>
  visibly(call, view, async () => {
    if (await takesBackItself(call, view)) {
      const request = { word: "revert", message_id: messageID, ...defined({ native_item_id: partID }) } as const;
      return (await sendSideRequest(call, { view, request })).refusal;
    }
    if (partID !== undefined) throw notSupported("Only the OpenCode agent takes back a part of a message.");
    await call.undo.revert(view, messageID);
    await rendered(call, view);
    return null;
  });

export const bringBack = (call: OpenCodeCall, view: SessionView): Promise<OpenCodeAnswer | null> =>
  visibly(call, view, async () => {
    if (await takesBackItself(call, view))
      return (await sendSideRequest(call, { view, request: { word: "unrevert" } })).refusal;
    await call.undo.unrevert(view);
    await rendered(call, view);
    return null;
  });

async function takesBackItself({ sessions, catalogue }: OpenCodeCall, { id }: SessionView): Promise<boolean> {
  const { agent } = await sessions.get(id, { limit: 0 });
  return (await catalogue.takesBack(agent)) === "agent";
}

/** Answered with the session state afterwards, or with the agent's own refusal. */
async function change(call: OpenCodeCall, request: SideRequest): Promise<OpenCodeAnswer> {
  const view = await viewOf(call);
  const { refusal } = await sendSideRequest(call, { view, request });
  return refusal ?? json(await infoOf(call, view));
}

async function remove(call: OpenCodeCall): Promise<OpenCodeAnswer> {
  const view = await viewOf(call);
  const { messageID: message_id = "", partID } = call.params;
  const request = { word: "remove", message_id, ...defined({ native_item_id: partID }) } as const;
  const { refusal } = await sendSideRequest(call, { view, request });
  return refusal ?? json(true);
}

/**
 * OpenCode's TUI shows no refusal that only its request is answered with; what it shows is a session's error. So a
 * refusal is announced as one, too.
 */
export async function visibly<T>(call: OpenCodeCall, view: SessionView, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof ApiError && error.status < 500) {
      const properties = {
        sessionID: view.openCodeId,
        error: { name: "UnknownError", data: { message: error.message } },
      };
      call.views.announce(created("session.error", properties), view.now.state);
    }
    throw error;
  }
}

const RENDERED_MS = 30_000;

/** When the agent has answered, what it changed is in the log; when all of that is rendered, clients have it. */
export async function sendSideRequest(
  call: OpenCodeCall,
  { view, request }: { view: SessionView; request: SideRequest },
): Promise<{ readonly refusal: OpenCodeAnswer | null; readonly body: unknown }> {
  if (call.params.sessionID !== view.openCodeId) {
    throw notSupported("This is the session of a subagent: ask it of the session that the subagent works for.");
  }
  const { status, body } = await call.sessions.sideRequest(view.id, request);
  if (status >= 400) return { refusal: { json: body, status }, body };
  await rendered(call, view);
  return { refusal: null, body };
}

async function rendered(call: OpenCodeCall, view: SessionView): Promise<void> {
  const { lastSequence } = await call.sessions.get(view.id, { limit: 0 });
  const signal = timeoutSignal({ signal: call.stopped, ms: RENDERED_MS });
  if (!(await call.turns.rendered(view, { after: lastSequence, signal }))) {
    throw new ApiError(
      "timeout",
      `The agent has answered, but what it changed was not rendered within ${RENDERED_MS} ms.`,
    );
  }
}
