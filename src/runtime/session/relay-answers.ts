/** Answers to relayed requests, given at the root, carried to the session that asked. */
import type { RelayAnswer } from "../../core/input.ts";
import { hasCode } from "../../protocol/errors.ts";
import { sessionId } from "../../protocol/ids.ts";
import { answers } from "./commands.ts";
import type { OpenSessions } from "./open-session.ts";

export function answerRelay(table: OpenSessions, relayed: RelayAnswer): void {
  deliver(table, relayed).catch((error: unknown) => {
    // Answered there meanwhile, or the session is gone: nobody waits any more.
    if (hasCode(error, "already_answered", "session_not_found", "session_ended")) return;
    table.runtime.logger.warn("relay.failed", { session: relayed.session_id, error });
  });
}

async function deliver(table: OpenSessions, { session_id, request_id, answer }: RelayAnswer): Promise<void> {
  const { replyPermission, replyQuestion, rejectQuestion } = answers(table);
  const id = sessionId(session_id);
  if (answer.kind === "permission") {
    const { kind: _, ...given } = answer;
    return replyPermission(id, request_id, given);
  }
  const why = answer.message === undefined ? {} : { message: answer.message };
  if (answer.answers === null) return rejectQuestion(id, request_id, why);
  return replyQuestion(id, request_id, answer.answers);
}
