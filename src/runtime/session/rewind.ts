/**
 * Takes a conversation back for agents that do not do it themselves: marked first, so that it can be undone, and made
 * final by the next prompt. The agent is started again then, and goes on without what was removed.
 */
import { ApiError } from "../../protocol/errors.ts";
import type { MessagePlace, Revert } from "../../protocol/events.ts";
import { noExit } from "../agent/connection/contract.ts";
import { readConversation } from "./copy-history.ts";
import { type OpenSession, stopAgent } from "./open-session.ts";
import { cannot, refuseEnded } from "./refusals.ts";
import type { Runtime } from "./runtime.ts";

export async function markRevert(open: OpenSession, revert: Revert | null): Promise<void> {
  refuseEnded(open);
  const { adapter } = open;
  if (adapter.capabilities.rewind !== true) throw cannot(adapter, "take back a part of its conversation");
  await open.writer.command({ type: "revert", revert }, (session) => {
    if (session.snapshot().turn === null) return;
    throw new ApiError("session_busy", `Session ${open.id} is busy: wait until it is idle, or abort its turn.`);
  });
}

/** Before a prompt: what was taken back is gone for good now. */
export async function finishRevert({ log }: Runtime, open: OpenSession): Promise<void> {
  const { revert, sequence } = open.session.snapshot();
  if (revert === null || open.adapter.capabilities.rewind !== true) return;
  const items = await readConversation(log, { id: open.id, until: sequence });
  const first = items.findIndex(({ message_id }) => message_id === revert.message_id);
  const names = new Set(first < 0 ? [] : items.slice(first).flatMap(({ message_id }) => message_id ?? []));
  const removed = [...names].map((message_id): MessagePlace => ({ message_id }));
  // The one that runs still knows what was taken back.
  if (open.link.isOpen()) await stopAgent(open, noExit);
  await open.writer.command({ type: "revert", revert: null, removed });
}
