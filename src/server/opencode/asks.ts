/** What is asked of the agent beside turns: taking back and bringing back, sharing, removing messages. */
import { z } from "zod";
import { ApiError } from "../../protocol/errors.ts";
import type { SideRequest } from "../../runtime/session/contract.ts";
import { json, notSupported, type OpenCodeAnswer, type OpenCodeCall, type OpenCodeRoute } from "./call.ts";
import type { Live } from "./live.ts";
import { infoOf, liveOf } from "./sessions.ts";

const OWN = "For the OpenCode agent.";

const Revert = z.looseObject({
  messageID: z.string().startsWith("msg"),
  partID: z.string().startsWith("prt").optional(),
});

export const askRoutes: readonly OpenCodeRoute[] = [
  { method: "POST", path: "/session/{sessionID}/revert", partial: OWN, handle: revert },
  {
    method: "POST",
    path: "/session/{sessionID}/unrevert",
    partial: OWN,
    handle: (call) => change(call, { word: "unrevert" }),
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
  return change(call, {
    word: "revert",
    message_id: messageID,
    ...(partID === undefined ? {} : { native_item_id: partID }),
  });
}

/** Answered with the session as it stands afterwards, or with the agent's own refusal. */
async function change(call: OpenCodeCall, request: SideRequest): Promise<OpenCodeAnswer> {
  const live = await liveOf(call);
  const { refusal } = await put(call, { live, request });
  return refusal ?? json(await infoOf(call, live));
}

async function remove(call: OpenCodeCall): Promise<OpenCodeAnswer> {
  const live = await liveOf(call);
  const { messageID: message_id = "", partID } = call.params;
  const request = { word: "remove", message_id, ...(partID === undefined ? {} : { native_item_id: partID }) } as const;
  const { refusal } = await put(call, { live, request });
  return refusal ?? json(true);
}

const TOLD_MS = 30_000;

/** When the agent has answered, what it changed is in the log; when all of it was told, clients know. */
export async function put(
  call: OpenCodeCall,
  { live, request }: { live: Live; request: SideRequest },
): Promise<{ readonly refusal: OpenCodeAnswer | null; readonly body: unknown }> {
  if (call.params.sessionID !== live.openCodeId) {
    throw notSupported("This is the session of a subagent: ask it of the session that the subagent works for.");
  }
  const { status, body } = await call.sessions.sideRequest(live.id, request);
  if (status >= 400) return { refusal: { json: body, status }, body };
  const { lastSequence } = await call.sessions.get(live.id, { limit: 0 });
  const signal = AbortSignal.any([call.stopped, AbortSignal.timeout(TOLD_MS)]);
  if (!(await call.turns.told(live, { after: lastSequence, signal }))) {
    throw new ApiError("timeout", `The agent has answered, but what it changed was not told within ${TOLD_MS} ms.`);
  }
  return { refusal: null, body };
}
