/** The stream of one turn: from the log, the events of the turn that runs a prompt, and no others. */
import type { UniversalEvent } from "../../protocol/events.ts";
import type { SessionId } from "../../protocol/ids.ts";
import type { PromptReceipt } from "../../runtime/session/contract.ts";
import type { Call } from "../http/route.ts";
import { streamEvents } from "../http/sse.ts";
import { writeRaw } from "./raw-events.ts";

export interface TurnStreamOptions {
  readonly call: Call<{ readonly include_raw: boolean }, { readonly delivery?: "queue" | "steer" | undefined }>;
  readonly session: SessionId;
  readonly receipt: PromptReceipt;
}

export async function streamTurn({ call, session, receipt }: TurnStreamOptions): Promise<void> {
  const turn = selectTurn({ promptId: receipt.promptId, steered: call.body.delivery === "steer" });
  const headers = { "Franca-Prompt-Id": receipt.promptId };
  await streamEvents({ ...call, headers }, async (stream) => {
    for await (const group of call.sessions.follow(session, { signal: stream.signal, after: receipt.sequence })) {
      const first = Math.max(group.first, receipt.sequence + 1);
      const { from, to, over } = turn.choose(group.events(receipt.sequence));
      if (to > from && call.query.include_raw) {
        const idOf = ({ sequence }: UniversalEvent): string => String(sequence);
        await writeRaw({ call, session, stream, after: first + from - 1, last: first + to - 1, idOf });
      } else if (to > from) {
        await stream.write(group.sse("sequence", { from: first + from, to: first + to - 1 }));
      }
      if (over) return;
    }
  });
}

interface Chosen {
  /** The chosen events of the group are `[from, to)`: a turn is never interleaved with another. */
  readonly from: number;
  readonly to: number;
  readonly over: boolean;
}

/**
 * Finds the turn that runs a prompt. A steered prompt has no turn of its own: it belongs to the one that is running.
 */
export function selectTurn({ promptId, steered }: { promptId: string; steered: boolean }): {
  readonly choose: (events: readonly UniversalEvent[]) => Chosen;
} {
  let turnId: string | null = null;
  let place: "unknown" | "queued" | "taken" = "unknown";

  /** True when the prompt will never run: it left the queue and did not start. */
  const waiting = (event: UniversalEvent): boolean => {
    if (event.type === "turn.started" && event.data.prompt_id === promptId) {
      turnId = event.data.turn_id;
      return false;
    }
    if (place === "taken" || event.type === "session.ended") return true;
    if (event.type === "session.updated" && event.data.queue !== undefined) {
      const listed = event.data.queue.some((queued) => queued.prompt_id === promptId);
      place = listed ? "queued" : place === "queued" ? "taken" : place;
    } else if (steered && place === "unknown" && event.turn_id !== null) {
      turnId = event.turn_id;
    }
    return false;
  };

  return {
    choose(events) {
      let from = 0;
      for (const [index, event] of events.entries()) {
        if (turnId === null) {
          if (waiting(event)) return { from: index, to: index, over: true };
          from = turnId === null ? index + 1 : index;
        }
        if (event.type === "turn.ended" && event.data.turn_id === turnId) return { from, to: index + 1, over: true };
      }
      return { from, to: events.length, over: false };
    },
  };
}
